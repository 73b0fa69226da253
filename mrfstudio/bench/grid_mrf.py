"""How fast are inference and training of the cloned grid MRF, beside the matrix products they cannot avoid?"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mrfstudio.bench.measure import Report, calibrate, grown_megabytes, seconds, seconds_in_turns
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.learners.query import Query

SIDE, CLONES, ITERATIONS, IMAGES, TRAINED = 30, 64, 15, 5, 8
TEXTBOOK_ITERATIONS = 2


def run() -> Report:
    """64 clones, 30×30 pixels, 8-connected, 15 iterations, 32 bits; training includes the backward pass."""
    report = Report(f"cloned grid MRF, {SIDE}×{SIDE}, {CLONES} clones, {ITERATIONS} iterations, 32 bits")
    threads = torch.get_num_threads()
    denormals = torch.set_flush_denormal(True)
    model, evidence = _problem(IMAGES)
    try:
        torch.set_num_threads(1)
        memory = grown_megabytes(_one_image)
        calibrate(report)
        both_works = _products(model.states, IMAGES), _step(model, evidence)
        products, step = seconds_in_turns(*both_works)
        train, slow = _train(model), _textbook(model)
        torch.set_num_threads(2)
        both = _train(model)
        products_both, step_both = seconds_in_turns(*both_works)
    finally:
        torch.set_num_threads(threads)
        if denormals:
            torch.set_flush_denormal(False)
    report.add("eight matrix products, one thread, per image", 1e3 * products / IMAGES, "ms")
    report.add("one iteration with residual, one thread, per image", 1e3 * step / IMAGES, "ms")
    report.add("iteration / its matrix products, one thread", step / products, "×", most=2.0)
    report.add("iteration / its matrix products, two threads", step_both / products_both, "×", most=2.0)
    report.add("training, one thread", TRAINED / train, "images/s")
    report.add("training, two threads", TRAINED / both, "images/s", least=32.0)
    report.add("autograd over the textbook formula, one thread, extrapolated", slow, "s/image")
    report.add("training / textbook, one thread", slow / (train / TRAINED), "×", least=30.0)
    if memory is not None:
        report.add("memory that training one image takes, measured", memory, "MB", most=60.0)
    return report.finish()


def _problem(images: int) -> tuple[GridMRF, Evidence]:
    """Potentials and evidence like those of training; the time does not depend on what they say."""
    model = GridMRF((CLONES, 1, 1), emission=[0.8, 0.03, 1e-10])
    model.randomise(0, [0.08, 0.8, 0.12])
    noisy = torch.rand(images, SIDE, SIDE, generator=torch.Generator().manual_seed(0)) < 0.9
    return model, model.evidence_from_image(noisy.numpy())


def _products(states: int, images: int) -> Callable[[], None]:
    """The eight matrix products of one iteration, nothing else."""
    pixels = images * SIDE * SIDE
    matrices = [torch.rand(states, states) for _ in range(8)]
    cavity, out = torch.rand(states, pixels), torch.empty(states, pixels)

    def work() -> None:
        for matrix in matrices:
            torch.mm(matrix, cavity, out=out)

    return work


def _step(model: GridMRF, evidence: Evidence) -> Callable[[], None]:
    """One iteration after the other as the window runs them, on all images together.

    Each goes on from the one before: a step from the same messages again would find their product already made.
    """
    algorithm = BeliefPropagation()
    state = algorithm.init(model, evidence)

    def work() -> None:
        nonlocal state
        state = algorithm.step(model, evidence, state)

    return work


def _train(model: GridMRF) -> float:
    """One batch of whole images as query training computes it: evidence, iterations, loss and gradient."""
    learner = Query(batch_size=TRAINED, growth=0.0, jitter=0, readouts=1, full_images=0.0, noise="given")
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 3, (TRAINED, SIDE, SIDE), generator=generator, dtype=torch.uint8)
    seen = torch.randint(0, 2, (TRAINED, SIDE, SIDE), generator=generator, dtype=torch.uint8)
    context = BatchContext(0, 0, 0, TRAINED, slice(0, TRAINED))
    model.weights.requires_grad_()
    try:
        return seconds(
            lambda: learner.batch(model, {"images": labels, "noisy_images": seen}, {}, context),
            repeats=7,
            warm=2,
            most=10.0,
        )
    finally:
        model.weights.requires_grad_(False)


def _textbook(model: GridMRF) -> float:
    """Seconds an image for a training step written as the formula reads and left to autograd.

    m_ij(t) = log Σ_s exp(c_ij(s) + W(s, t)), with a (state, state) table for every pixel. A few iterations are timed
    and scaled to all: each costs the same.
    """
    single, evidence = _problem(1)
    potentials = single.potentials.detach().clone().requires_grad_()
    log_evidence = single.state_evidence(evidence).reshape(single.states, SIDE, SIDE)

    def work() -> None:
        potentials.grad = None
        total = log_evidence + sum(_textbook_messages(potentials, log_evidence))
        torch.log_softmax(total, 0)[0].mean().backward()

    return seconds(work, repeats=3, warm=1, most=10.0) * ITERATIONS / TEXTBOOK_ITERATIONS


def _textbook_messages(potentials: Tensor, log_evidence: Tensor) -> list[Tensor]:
    shape = GridShape(1, SIDE, SIDE)
    messages = [torch.zeros_like(log_evidence) for _ in shape.directions]
    for _ in range(TEXTBOOK_ITERATIONS):
        total, received = log_evidence + sum(messages), []
        for direction, step in enumerate(shape.directions):
            cavity = total - messages[shape.opposite(direction)]
            matrix = potentials[direction % shape.matrices]
            table = matrix if direction < shape.matrices else matrix.t()
            message = torch.log_softmax(torch.logsumexp(cavity[:, None] + table[:, :, None, None], 0), 0)
            received.append(torch.roll(message, step, (1, 2)))
        messages = received
    return messages


def _one_image() -> Callable[[], object]:
    """Training on one image, on one thread, ready to be done."""
    torch.set_num_threads(1)
    model, _ = _problem(1)
    model.weights.requires_grad_()
    learner = Query(batch_size=1, growth=0.0, jitter=0, readouts=1, full_images=0.0, noise="given")
    image = torch.zeros(1, SIDE, SIDE, dtype=torch.uint8)
    batch, context = {"images": image, "noisy_images": image}, BatchContext(0, 0, 0, 1, slice(0, 1))
    return lambda: learner.batch(model, batch, {}, context)
