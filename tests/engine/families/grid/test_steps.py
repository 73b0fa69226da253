"""The session's way through the grid, against the kernel that training uses and against plain logarithms."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.grid import blocks, steps
from mrfstudio.engine.families.grid.kernel import next_messages, run_messages, uniform_messages, widest_span
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.families.grid.steps import (
    Products,
    advanced,
    label_beliefs,
    prepared,
    products,
    run,
    state_beliefs,
)
from mrfstudio.engine.runtime.interruption import Interrupted, interruptible

CLONES = (3, 1, 2)
STATES = sum(CLONES)
SHAPES = [GridShape(2, 3, 4), GridShape(1, 1, 5), GridShape(1, 5, 1), GridShape(1, 1, 1), GridShape(3, 4, 3, 4)]


def problem(shape: GridShape, dtype: torch.dtype, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """Potentials (matrices, S, S) and evidence (labels, N)."""
    generator = torch.Generator().manual_seed(5)
    potentials = scale * torch.randn(shape.matrices, STATES, STATES, generator=generator, dtype=torch.float64)
    evidence = torch.randn(len(CLONES), shape.pixels, generator=generator, dtype=torch.float64)
    return potentials.to(dtype), evidence.to(dtype)


def of_states(evidence: Tensor) -> Tensor:
    return evidence.repeat_interleave(torch.tensor(CLONES), 0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("hard", [False, True])
def test_it_takes_the_same_steps_as_the_kernel_with_gradients(shape: GridShape, hard: bool) -> None:
    potentials, evidence = problem(shape, torch.float64)
    if hard:
        evidence[1:, 0] = -torch.inf
        evidence[0, -1] = -torch.inf
    ready = prepared(potentials, CLONES)
    messages = expected = uniform_messages(shape, STATES, evidence)
    for _ in range(4):
        before = messages
        messages, change, product = advanced(messages, products(messages, ready), ready, evidence, shape)
        expected = next_messages(expected, potentials, of_states(evidence), shape)
        torch.testing.assert_close(messages, expected)
        torch.testing.assert_close(change, (messages - before).abs().amax())
        torch.testing.assert_close(product, products(messages, ready))


def updated(threads: int, asked: int | None = None) -> tuple[Tensor, Tensor, int]:
    """Messages and their change after an update on so many threads, interrupted at every `asked`-th question."""
    shape = GridShape(3, 4, 5)
    potentials, evidence = problem(shape, torch.float32)
    ready, before, questions = prepared(potentials, CLONES), torch.get_num_threads(), 0

    def ask() -> bool:
        nonlocal questions
        questions += 1
        return asked is not None and questions % asked == 0

    torch.set_num_threads(threads)
    messages = 0.5 + torch.rand(8, STATES, shape.pixels, generator=torch.Generator().manual_seed(1))
    product, partial, pieces = products(messages, ready), None, 1
    try:
        while True:
            try:
                with interruptible(ask):
                    return *advanced(messages, product, ready, evidence, shape, partial=partial)[:2], pieces
            except Interrupted as interrupted:
                partial, pieces = interrupted.state, pieces + 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("asked", [None, 1, 3])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_an_update_shared_out_or_in_pieces_is_the_same(
    threads: int, asked: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "SHARED", 0)
    monkeypatch.setattr(blocks, "BLOCK", 2 * 5 * STATES)  # two rows of a picture that has four
    expected, change, _ = updated(1)
    found, shared_change, pieces = updated(threads, asked)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(shared_change, change)
    assert pieces == {None: 1, 1: 48, 3: 16}[asked] or threads > 1


@pytest.mark.parametrize("started", [False, True])
def test_many_updates_are_those_of_the_kernel_with_gradients(started: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 2 * 5 * STATES)
    shape = GridShape(3, 4, 5)
    potentials, evidence = problem(shape, torch.float64)
    start = run_messages(potentials, of_states(evidence), shape, 2) if started else None
    begin = evidence.new_empty(0, STATES, shape.pixels) if start is None else start
    before = begin.clone()
    found = run(begin, prepared(potentials, CLONES), evidence, shape, 5)
    torch.testing.assert_close(found, run_messages(potentials, of_states(evidence), shape, 5, start))
    torch.testing.assert_close(begin, before)


def test_old_messages_count_as_much_as_is_kept_of_them() -> None:
    shape = GridShape(1, 4, 5)
    potentials, evidence = problem(shape, torch.float64)
    ready, old = prepared(potentials, CLONES), run_messages(potentials, of_states(evidence), shape, 2)
    new, change, _ = advanced(old, products(old, ready), ready, evidence, shape)
    kept = torch.linspace(0, 1, shape.pixels, dtype=torch.float64)
    mean, changes, product = advanced(old, products(old, ready), ready, evidence, shape, kept)
    torch.testing.assert_close(mean, kept * old + (1 - kept) * new)
    torch.testing.assert_close(changes, (new - old).abs().amax((0, 1)))  # what swings is asked before the mean
    torch.testing.assert_close(change, changes.amax())
    torch.testing.assert_close(product, products(mean, ready))


def test_a_product_keeps_what_no_float_could_hold_at_once() -> None:
    """Eight messages that agree on a label leave the others e^-300: hard evidence for these must still be answered."""
    shape = GridShape(1, 1, 2)
    logs = torch.zeros(8, STATES, 2, dtype=torch.float64)
    logs[:, 3:] = -37.0
    logs[:, 5] -= 1.0
    logs -= logs.exp().mean(1, keepdim=True).log()
    potentials = torch.zeros(4, STATES, STATES)
    potentials[:, 3:] = -38.0
    ready = prepared(potentials, CLONES)
    assert ready.span < widest_span(torch.float32)
    product = products(logs.exp().float(), ready)
    summed = logs.sum(0)
    weight = torch.stack([part.logsumexp(0) for part in summed.split(CLONES)])
    torch.testing.assert_close(product.log_weight.double(), weight, rtol=1e-5, atol=1e-3)
    within = torch.cat([torch.softmax(part, 0) for part in summed.split(CLONES)])
    torch.testing.assert_close(product.within.double(), within, rtol=1e-4, atol=1e-6)
    evidence = torch.zeros(3, 2)
    evidence[0] = -torch.inf
    beliefs = state_beliefs(product, evidence, CLONES)
    expected = torch.softmax(summed + of_states(evidence), 0)
    torch.testing.assert_close(beliefs.double(), expected, rtol=1e-3, atol=1e-5)
    messages, _, _ = advanced(logs.exp().float(), product, ready, evidence, shape)
    assert bool(torch.isfinite(messages).all())


def test_labels_are_the_sums_of_their_clones() -> None:
    generator = torch.Generator().manual_seed(2)
    messages = torch.rand(8, STATES, 12, generator=generator, dtype=torch.float64) + 0.1
    evidence = torch.randn(3, 12, generator=generator, dtype=torch.float64)
    product = products(messages, prepared(torch.zeros(4, STATES, STATES, dtype=torch.float64), CLONES))
    states = state_beliefs(product, evidence, CLONES)
    torch.testing.assert_close(states, torch.softmax(messages.log().sum(0) + of_states(evidence), 0))
    labels = torch.stack([part.sum(0) for part in states.split(CLONES)])
    torch.testing.assert_close(label_beliefs(product.log_weight, evidence), labels)


def test_a_label_all_but_ruled_out_still_speaks() -> None:
    """e^-120 times less probable, it is below the smallest float; a neighbour that heeds it alone must hear it."""
    apart = torch.tensor([[0.0, -200.0], [-200.0, 0.0]]).expand(4, 2, 2)
    weight = torch.tensor([[0.0, 0.0], [-120.0, -120.0]])
    received, _, _ = advanced(
        torch.ones(8, 2, 2),
        Products(torch.ones(2, 2), weight),
        prepared(apart, (1, 1)),
        torch.zeros(2, 2),
        GridShape(1, 1, 2),
    )
    assert float(received[0, 1, 1]) == 0  # too small for a message in 32 bits, of which the mean is 1
    leaning = torch.ones(8, 2, 2)
    leaning[:, 1] = 1e-30
    received, _, _ = advanced(
        leaning, Products(torch.ones(2, 2), weight), prepared(apart, (1, 1)), torch.zeros(2, 2), GridShape(1, 1, 2)
    )
    assert float(received[0, 1, 1]) > 0
