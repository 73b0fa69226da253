"""How fast are inference and query training of binary RBMs?"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from mrfstudio.bench.measure import Report, calibrate, seconds
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, Outcome
from mrfstudio.engine.inference.run import run as run_algorithm
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.learners.query import Query

BATCH, VISIBLE, HIDDEN, ITERATIONS = 500, 64, 50, 10
LARGE = (10_000, 2_000)
"""Units of the random machine on which [PI17] says that messages converge "within a few seconds"."""
LARGE_SCALE = 0.03
"""Deviation of its weights: messages need 17 iterations; with a third of it, four."""
FEW_SECONDS = 5.0


def run() -> Report:
    """One iteration on 1000×500 units, and one step of query training with batches of 500, 32 bits."""
    report = Report("binary RBM: one iteration of 1000×500, one training step of 500 × (64×50), 32 bits")
    threads = torch.get_num_threads()
    denormals = torch.set_flush_denormal(True)
    try:
        torch.set_num_threads(1)
        calibrate(report)
        iteration, one, textbook = _iteration(1000, 500), _training(), _textbook()
        large, outcome = _settled(*LARGE)
        torch.set_num_threads(2)
        two = _training()
    finally:
        torch.set_num_threads(threads)
        if denormals:
            torch.set_flush_denormal(False)
    report.add("one iteration with residual, 1000×500, one thread", 1e3 * iteration, "ms")
    size = "×".join(f"{units:,}" for units in LARGE)
    report.add(f"messages of {size} from zero to 0.001, one thread", large, "s", most=FEW_SECONDS)
    report.add("their iterations", float(outcome.state.iteration))
    report.add("converged (1 = yes)", float(outcome.converged), least=1.0)
    report.add("training step, one thread", 1e3 * one, "ms")
    report.add("training step, two threads", 1e3 * two, "ms")
    report.add("autograd over the printed formula, one thread", 1e3 * textbook, "ms")
    report.add("autograd / training step, one thread", textbook / one, "×", least=5.0)
    return report.finish()


def _machine(visible: int, hidden: int) -> RBM:
    model = RBM(visible, hidden, temperature=2.0)
    model.weights.normal_(generator=torch.Generator().manual_seed(0)).mul_(0.1)
    return model


def _iteration(visible: int, hidden: int) -> float:
    """Nothing observed, so that all messages are sent."""
    model, algorithm = _machine(visible, hidden), BeliefPropagation()
    evidence = model.no_evidence()
    state = algorithm.init(model, evidence)
    for _ in range(3):
        state = algorithm.step(model, evidence, state)
    return seconds(lambda: algorithm.step(model, evidence, state))


def _settled(visible: int, hidden: int) -> tuple[float, Outcome]:
    """Seconds until no message of a random machine changes by more than 0.001, as in [PI17]; biases are random too."""
    generator = torch.Generator().manual_seed(0)
    model = RBM(visible, hidden)
    for tensor, scale in ((model.weights, LARGE_SCALE), (model.outer_bias, 1.0), (model.hidden_bias, 1.0)):
        tensor.normal_(generator=generator).mul_(scale)
    evidence = model.no_evidence()
    began = time.perf_counter()
    outcome = run_algorithm(BeliefPropagation(), model, evidence, Limits(iterations=100, tolerance=1e-3))
    return time.perf_counter() - began, outcome


def _rows() -> Tensor:
    return torch.randint(0, 2, (BATCH, VISIBLE), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)


def _training() -> float:
    """Queries drawn, forward, backward; half of the units are asked for."""
    model, rows = _machine(VISIBLE, HIDDEN).train_all(), _rows()
    learner = Query(batch_size=BATCH, iterations=ITERATIONS, growth=0.0, jitter=0, readouts=1)
    context = BatchContext(0, 0, 0, BATCH, slice(0, BATCH))
    state = {"centre": torch.zeros(VISIBLE)}
    return seconds(lambda: learner.batch(model, {"x": rows}, state, context), repeats=7, warm=2, most=10.0)


def _textbook() -> float:
    """All messages between all units, as the formula reads, left to autograd; observed units by log-odds of ±1000."""
    model = _machine(VISIBLE, HIDDEN).train_all()
    rows = _rows().float()
    unknown = torch.rand(BATCH, VISIBLE, generator=torch.Generator().manual_seed(2)) < 0.5
    given = torch.where(unknown, 0.0, 1000 * (2 * rows - 1))
    tensors = list(model.tensors().values())

    def work() -> None:
        t, weights = model.temperature, model.weights.t()
        to_hidden = to_outer = torch.zeros(BATCH, VISIBLE, HIDDEN)
        for _ in range(ITERATIONS):
            hidden = model.hidden_bias + to_hidden.sum(1, keepdim=True) - to_hidden
            outer = (model.outer_bias + given)[:, :, None] + to_outer.sum(2, keepdim=True) - to_outer
            to_outer, to_hidden = _printed(hidden, weights, t), _printed(outer, weights, t)
        odds = model.outer_bias + to_outer.sum(2)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(odds[unknown], rows[unknown])
        torch.autograd.grad(loss, tensors)

    return seconds(work, repeats=3, warm=1, most=20.0)


def _printed(x: Tensor, w: Tensor, t: Tensor) -> Tensor:
    """f_w(x, T) as [QT21] prints it."""
    hard = torch.sign(w) * torch.minimum(torch.maximum(x, -w.abs()), w.abs())
    near, far = torch.exp(-(x + w).abs() / t), torch.exp(-(x - w).abs() / t)
    return hard + t * (torch.log1p(near) - torch.log1p(far))
