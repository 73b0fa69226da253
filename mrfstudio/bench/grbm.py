"""How fast and how small is query training of a Gaussian RBM, and how long does the whole answer for a face take?"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from mrfstudio.bench.measure import Report, calibrate, grown_megabytes, seconds
from mrfstudio.engine.families.grbm.model import GRBM, GrbmPlan
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.learners.query import Query

SHAPE, HIDDEN, ITERATIONS = (28, 20), 200, 50
BATCH = 8
SAME = 1.05
"""Two images one by one are worked on by one thread whatever there is: what differs is how steady the machine is."""
TEXTBOOK_ITERATIONS = 2
OBSERVED_VARIANCE = 1e-3  # of observed pixels in the textbook form, which sends messages from them too


Work = Callable[[], object]


def run() -> Report:
    """Half of the pixels are unknown; training includes the backward pass."""
    height, width = SHAPE
    report = Report(f"Gaussian RBM, {height * width} pixels, {HIDDEN} hidden units, {ITERATIONS} iterations, 32 bits")
    threads, denormals = torch.get_num_threads(), torch.set_flush_denormal(True)
    model = _model()
    try:
        torch.set_num_threads(1)
        memory = grown_megabytes(_one_image)
        calibrate(report)
        one, slow = _train(model, 1, time.process_time), _textbook(model)
        answer = _answer(model)
        batch_one = _train(model, BATCH, time.process_time) / BATCH
        pair_one = _train(model, 2, time.perf_counter, 1)
        torch.set_num_threads(2)
        batch_two = _train(model, BATCH, time.perf_counter) / BATCH
        pair_two = _train(model, 2, time.perf_counter, 1)
    finally:
        torch.set_num_threads(threads)
        if denormals:
            torch.set_flush_denormal(False)
    report.add("training, one thread, processor time per image", 1e3 * one, "ms", most=110.0)
    report.add(f"training, {BATCH} images, one thread, per image", 1e3 * batch_one, "ms")
    report.add(f"training, {BATCH} images, two threads, per image", 1e3 * batch_two, "ms")
    report.add("training, two threads / one", batch_two / batch_one, "×", most=1.0)
    report.add("training, two images one by one, two threads / one", pair_two / pair_one, "×", most=SAME)
    report.add("autograd over the textbook formula, one thread, extrapolated", 1e3 * slow, "ms/image")
    report.add("training / textbook, one thread", slow / one, "×", least=5.0)
    if memory is not None:
        report.add("memory that training one image takes, measured", memory, "MB", most=100.0)
    report.add("the whole answer for a face, one thread, processor time", 1e3 * answer, "ms", most=150.0)
    return report.finish()


def _model() -> GRBM:
    """Weights like those of training; the time does not depend on what they say."""
    model = GRBM(SHAPE, HIDDEN)
    model.weights.normal_(0.0, 0.1, generator=torch.Generator().manual_seed(0))
    return model.trained()


def _pictures(count: int) -> Tensor:
    return torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(1))


def _step(model: GRBM, images: int, at_once: int = GrbmPlan.learner_defaults["query"]["images_at_once"]) -> Work:
    """One training step on some images, as the trainer runs it."""
    learner = Query(iterations=ITERATIONS, first_iterations=ITERATIONS, jitter=0, readouts=1, images_at_once=at_once)
    context = BatchContext(0, 0, 0, images, slice(0, images))
    batch = {"images": _pictures(images)}
    return lambda: learner.batch(model, batch, {}, context)


def _train(model: GRBM, images: int, clock: Callable[[], float], *at_once: int) -> float:
    """Seconds of a training step on some images, as many at once as is usual or as is said."""
    return seconds(_step(model, images, *at_once), repeats=9, warm=2, most=6.0, clock=clock)


def _answer(model: GRBM) -> float:
    """What the window does for a new mask: 50 iterations and the beliefs."""
    bp = BeliefPropagation()
    unknown = torch.rand(SHAPE, generator=torch.Generator().manual_seed(2)) < 0.5
    evidence = model.evidence_from_image(_pictures(1)[0], unknown)

    def work() -> None:
        state = bp.init(model, evidence)
        for _ in range(ITERATIONS):
            state = bp.step(model, evidence, state)
        bp.beliefs(model, evidence, state)

    with torch.no_grad():
        return seconds(work, repeats=9, warm=1, most=6.0, clock=time.process_time)


def _textbook(model: GRBM) -> float:
    """Seconds an image with messages of all pixels, cavities and beliefs as [QT21] prints them, left to autograd."""
    values = model.standardise(_pictures(1))[0]
    observed = torch.rand(model.visible, generator=torch.Generator().manual_seed(2)) < 0.5

    def work() -> None:
        w = model.weights.t()  # (visible, hidden)
        first = torch.where(observed, values / OBSERVED_VARIANCE, model.visible_bias)[:, None]
        second = torch.where(observed, -0.5 / OBSERVED_VARIANCE, -0.5)[:, None]
        to_hidden, one, two = (torch.zeros_like(w) for _ in range(3))
        for _ in range(TEXTBOOK_ITERATIONS):
            cavity_one = first + one.sum(1, keepdim=True) - one
            cavity_two = second + two.sum(1, keepdim=True) - two
            cavity_hidden = model.hidden_bias + to_hidden.sum(0) - to_hidden
            mean, variance = -cavity_one / (2 * cavity_two), -1 / (2 * cavity_two)
            fresh = w * mean + 0.5 * w.square() * variance
            on = torch.sigmoid(cavity_hidden + fresh)
            belief_mean = mean + on * variance * w
            belief_variance = variance + on * (1 - on) * (variance * w).square()
            one, two = belief_mean / belief_variance - cavity_one, -0.5 / belief_variance - cavity_two
            to_hidden = fresh
        (first + one.sum(1, keepdim=True)).square().mean().backward()

    return seconds(work, repeats=5, warm=1, most=10.0, clock=time.process_time) * ITERATIONS / TEXTBOOK_ITERATIONS


def _one_image() -> Work:
    """Training on one image, on one thread, ready to be done."""
    torch.set_num_threads(1)
    return _step(_model(), 1)
