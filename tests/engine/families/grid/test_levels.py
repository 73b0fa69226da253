"""First messages from a coarser canvas, and runs that do not begin with uniform messages."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from mrfstudio.engine.families.grid.kernel import run_beliefs, run_messages, unrolled_beliefs
from mrfstudio.engine.families.grid.levels import (
    FIRST,
    LevelMessages,
    all_passes,
    cleaned,
    halved_evidence,
    level_count,
    narrow,
    plan,
    plan_for,
    whole_pass,
    with_doubled,
    without_double_lines,
)
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.families.grid.steadying import LATE, STEADIED
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.runtime.interruption import Interrupted, interruptible

SHAPE = GridShape(2, 6, 5)


def problem(dtype: torch.dtype = torch.float64) -> tuple[GridMRF, torch.Tensor]:
    model = GridMRF((3, 1, 1), dtype=dtype)
    model.randomise(0, [0.3, 0.4, 0.3])
    drawn = torch.randn(3, SHAPE.pixels, generator=torch.Generator().manual_seed(1), dtype=dtype)
    return model, drawn


def test_a_run_goes_on_where_another_ended() -> None:
    model, labels = problem()
    states = labels[model.label_of_state]
    whole = run_beliefs(model.potentials, states, SHAPE, 9)
    half = run_messages(model.potentials, states, SHAPE, 4)
    torch.testing.assert_close(run_beliefs(model.potentials, states, SHAPE, 5, half), whole)
    torch.testing.assert_close(unrolled_beliefs(model.potentials, states, SHAPE, 5, start=half), whole)


def test_gradients_through_the_last_iterations_are_those_of_a_constant_start() -> None:
    model, labels = problem()
    states = labels[model.label_of_state]
    potentials = model.potentials.clone().requires_grad_()
    start = run_messages(model.potentials, states, SHAPE, 3)

    def last(values: torch.Tensor) -> torch.Tensor:
        return unrolled_beliefs(values, states, SHAPE, 2, (1, 2), start)

    assert torch.autograd.gradcheck(last, (potentials,))
    # A start that is what no iterations give changes nothing: then truncated and full gradients are the same.
    uniform = torch.ones_like(start)
    loss = unrolled_beliefs(potentials, states, SHAPE, 4)[0].square().sum()
    same = unrolled_beliefs(potentials, states, SHAPE, 4, start=uniform)[0].square().sum()
    full, cut = (torch.autograd.grad(value, potentials)[0] for value in (loss, same))
    torch.testing.assert_close(full, cut)


def test_at_a_fixed_point_many_gradient_iterations_give_the_full_gradient() -> None:
    model, labels = problem()
    weak, states = 0.2 * model.potentials, labels[model.label_of_state]
    potentials = weak.clone().requires_grad_()
    settled = run_messages(weak, states, SHAPE, 40)
    full = unrolled_beliefs(potentials, states, SHAPE, 55)[0].square().sum()
    truncated = unrolled_beliefs(potentials, states, SHAPE, 15, start=settled)[0].square().sum()
    expected, found = (torch.autograd.grad(value, potentials)[0] for value in (full, truncated))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-7)
    short = unrolled_beliefs(potentials, states, SHAPE, 1, start=settled)[0].square().sum()
    assert (torch.autograd.grad(short, potentials)[0] - expected).abs().max() > 1e-4


def test_a_contour_stays_closed_and_a_hint_stays_when_the_canvas_is_halved() -> None:
    model = GridMRF((3, 1, 1), emission=[0.8, 0.03, 0.01])
    picture = torch.ones(1, 6, 7)
    picture[0, 2, :] = 0  # seen
    hints = torch.full((1, 6, 7), 3)
    hints[0, 5, 6] = 2
    evidence = model.with_hints(model.evidence_from_image(picture), hints)
    labels, shape = model.label_evidence(evidence), model.shape_of(evidence)
    coarse = halved_evidence(labels, shape).reshape(3, 3, 4)
    seen = labels.reshape(3, 6, 7)[:, 2, 0]
    torch.testing.assert_close(coarse[:, 1], seen[:, None].expand(3, 4))
    assert coarse[:, 2, 3].tolist() == [-math.inf, -math.inf, 0.0]
    assert not torch.isinf(coarse[:, :, 0]).any()


def test_doubled_messages_keep_the_border_and_the_mean() -> None:
    fine = GridShape(1, 5, 6)
    coarse = torch.rand(8, 5, 9, generator=torch.Generator().manual_seed(0)) + 0.1
    coarse = coarse / coarse.mean(1, keepdim=True)
    chosen = torch.ones(30, dtype=torch.bool)
    chosen[29] = False
    large = with_doubled(torch.full((8, 5, 30), 2.0), coarse, chosen, fine).reshape(8, 5, 5, 6)
    assert (large[0, :, 4, 5] == 2).all()  # not chosen
    torch.testing.assert_close(large[..., :4, :].mean(1), torch.ones(8, 4, 6))
    torch.testing.assert_close(large[0, :, 3, 4], coarse.reshape(8, 5, 3, 3)[0, :, 1, 2])
    assert (large[0, :, :, 0] == 1).all()  # nothing comes from the left of the image


@pytest.mark.parametrize(("side", "levels"), [(30, 0), (47, 0), (48, 1), (94, 1), (96, 2), (128, 2), (256, 3)])
def test_small_canvases_have_no_copies(side: int, levels: int) -> None:
    assert level_count(GridShape(1, side, side)) == levels
    assert bool(plan(levels)) == bool(levels)


def tall(dtype: torch.dtype = torch.float64, eased: float = 0.0) -> tuple[GridMRF, Evidence]:
    """A model that learned nothing, and a picture tall enough for two copies."""
    model = GridMRF((2, 1, 1), emission=[0.8, 0.03, 0.01], dtype=dtype, eased=eased)
    model.randomise(2, [0.3, 0.4, 0.3])
    picture = torch.ones(96, 4, dtype=dtype)
    picture[10:50, 1:3] = 0
    return model, model.evidence_from_image(picture)


def test_without_copies_a_pass_is_its_first_iterations() -> None:
    model, labels = problem()
    begin = LevelMessages(labels.new_empty(0), labels)
    plain = run_messages(model.potentials, labels[model.label_of_state], SHAPE, FIRST)
    torch.testing.assert_close(whole_pass(model, begin, SHAPE, 0).messages, plain)
    assert whole_pass(model, begin, SHAPE, 1).messages.shape == (8, model.states, SHAPE.pixels)
    assert all_passes(model, labels, SHAPE) is None


def test_stepping_through_a_pass_is_the_whole_pass() -> None:
    model, evidence = tall()
    bp, shape = BeliefPropagation(start="coarse"), model.shape_of(evidence)
    state = bp.init(model, evidence)
    for _ in plan(2):
        assert bp.doubt(model, evidence, state, 1.0)  # no answer yet, however small the residual
        state = bp.step(model, evidence, state)
        shown = bp.label_beliefs(model, evidence, state)
        torch.testing.assert_close(shown.sum(-1), torch.ones(96, 4, dtype=shown.dtype))
    torch.testing.assert_close(state.messages, all_passes(model, model.label_evidence(evidence), shape))
    assert bp.doubt(model, evidence, state, 1.0) is None
    after = bp.step(model, evidence, state)
    flat = BeliefPropagation().step(model, evidence, state)
    torch.testing.assert_close(after.messages, flat.messages)


def test_a_model_that_eases_walls_does_so_in_passes_alone() -> None:
    model, evidence = tall(eased=1.5)
    bp, labels, shape = BeliefPropagation(start="coarse"), model.label_evidence(evidence), model.shape_of(evidence)
    state, steps = bp.init(model, evidence), plan_for(model, shape)
    first = bp.step(model, evidence, state)
    loose = run_messages(model.loose_potentials, labels[model.label_of_state], shape, 1)
    torch.testing.assert_close(first.messages, loose)
    while bp.doubt(model, evidence, state, 1.0):
        state = bp.step(model, evidence, state)
    assert len(plan(2)) < state.iteration <= len(steps)  # iterations at rest may be left out
    torch.testing.assert_close(state.messages, all_passes(model, labels, shape), rtol=0, atol=2e-3 * model.states)
    after = bp.step(model, evidence, state)
    assert not after.steadied
    swinging = replace(after, in_pass=LATE, messages=after.messages.flip(1))
    assert bp.step(model, evidence, swinging).steadied
    flat = BeliefPropagation().step(model, evidence, state).messages
    torch.testing.assert_close(after.messages, torch.lerp(flat, state.messages, STEADIED))
    still = run_messages(model.loose_potentials, labels[model.label_of_state], shape, 1, state.messages)
    assert (flat - still).abs().max() > 1e-2


def test_some_iterations_in_one_step_go_on_where_they_were_interrupted() -> None:
    model, evidence = tall(eased=1.5)
    bp, asked = BeliefPropagation(start="coarse"), 0

    def every_third() -> bool:
        nonlocal asked
        asked += 1
        return asked % 3 == 0

    def stepped(state: State) -> State:
        with interruptible(every_third):
            while True:
                try:
                    return bp.step(model, evidence, state)
                except Interrupted as interrupted:
                    state = interrupted.state

    whole = pieces = bp.init(model, evidence)
    for step in plan_for(model, model.shape_of(evidence)):
        before = asked
        whole, pieces = bp.step(model, evidence, whole), stepped(pieces)
        assert torch.equal(whole.messages, pieces.messages)
        assert torch.equal(whole.residual, pieces.residual)
        if step.way == "canvas":
            assert asked - before >= 8 * step.iterations or not bp.doubt(model, evidence, whole, 1.0)


def test_what_eases_walls_begins_small_canvases_too() -> None:
    model, labels = problem()
    eased = GridMRF((3, 1, 1), dtype=torch.float64, eased=1.0, weights=model.weights)
    assert all_passes(model, labels, SHAPE) is None
    states = labels[model.label_of_state]
    iterations = sum(step.iterations for step in plan_for(eased, SHAPE))
    expected = run_messages(eased.loose_potentials, states, SHAPE, iterations)
    torch.testing.assert_close(all_passes(eased, labels, SHAPE), expected)
    apart = (eased.loose_potentials - eased.potentials).abs() > 0
    assert apart.sum() == 2 * eased.matrices  # IN beside OUT and OUT beside IN
    assert apart[:, 3, 4].all()


def lines(*columns: int) -> torch.Tensor:
    """Upright lines from border to border, (1, 12, 16)."""
    found = torch.zeros(1, 12, 16, dtype=torch.bool)
    found[:, :, list(columns)] = True
    return found


def test_what_lies_between_near_lines_is_narrow() -> None:
    assert not narrow(lines(6)).any()
    assert not narrow(lines(4, 8)).any()  # three pixels between them: two lines on the copy
    between = narrow(lines(4, 7))
    assert torch.equal(between, lines(5, 6))
    assert not narrow(lines(1)).any()  # nothing ends at the canvas' border


def test_lines_that_would_merge_are_not_on_the_copy() -> None:
    model = GridMRF((1, 1, 1), emission=[0.8, 0.03, 0.01], dtype=torch.float64)
    for columns, stays in (((6,), True), ((4, 8), True), ((4, 7), False)):
        evidence = model.evidence_from_image((~lines(*columns)).numpy())
        shape, labels = model.shape_of(evidence), model.label_evidence(evidence)
        messages = run_messages(model.potentials, labels, shape, 1)
        found = without_double_lines(model, LevelMessages(messages, labels), shape)
        assert bool((found[0] > found[1]).any()) == stays


def test_an_edit_begins_the_pass_anew_and_keeps_the_messages() -> None:
    model, evidence = tall()
    bp = BeliefPropagation(start="coarse")
    state = bp.init(model, evidence)
    for _ in range(FIRST + 2):
        state = bp.step(model, evidence, state)
    assert state.copies
    edited = bp.resume(model, evidence, state)
    assert (edited.in_pass, edited.copies) == (0, ())
    assert edited.messages is state.messages
    torch.testing.assert_close(
        bp.step(model, evidence, edited).messages, BeliefPropagation().step(model, evidence, state).messages
    )


def test_a_flat_start_is_the_factor_graph_and_a_coarse_one_is_not() -> None:
    model, evidence = tall()
    beliefs = {}
    for name, bp in {
        "flat": BeliefPropagation(),
        "generic": BeliefPropagation(kernel="generic"),
        "coarse": BeliefPropagation(start="coarse"),
    }.items():
        state = bp.init(model, evidence)
        for _ in range(FIRST + 2):
            state = bp.step(model, evidence, state)
        beliefs[name] = bp.beliefs(model, evidence, state)
    torch.testing.assert_close(beliefs["flat"], beliefs["generic"])
    assert (beliefs["coarse"] - beliefs["flat"]).abs().max() > 1e-4


def test_cleaning_keeps_hints_and_follows_beliefs() -> None:
    model = GridMRF((1, 1, 1), emission=[0.8, 0.03, 0.01], dtype=torch.float64)
    with torch.no_grad():
        model.weights[:, 0, 0] = 2.0  # a contour wants contour beside it
        model.weights[:, 0, 1:] = model.weights[:, 1:, 0] = -1.0
    picture = torch.ones(1, 5, 7)
    picture[0, 2, :] = 0
    picture[0, 2, 3] = 1  # a gap
    hints = torch.full((1, 5, 7), 3)
    hints[0, 0, 0] = 2
    evidence = model.with_hints(model.evidence_from_image(picture), hints)
    shape, labels = model.shape_of(evidence), model.label_evidence(evidence)
    messages = run_messages(model.potentials, labels, shape, 4)
    found = cleaned(model, LevelMessages(messages, labels)).reshape(3, 5, 7)
    torch.testing.assert_close(found[:, 2, 3], labels.reshape(3, 5, 7)[:, 2, 0])  # the gap is closed
    assert found[:, 0, 0].tolist() == [-math.inf, -math.inf, 0.0]


def test_small_images_begin_flat_whatever_is_asked() -> None:
    model, _ = problem(torch.float32)
    evidence = model.evidence_from_image(torch.ones(8, 9))
    flat, coarse = BeliefPropagation(), BeliefPropagation(start="coarse")
    first = flat.step(model, evidence, flat.init(model, evidence))
    same = coarse.step(model, evidence, coarse.init(model, evidence))
    assert torch.equal(flat.beliefs(model, evidence, first), coarse.beliefs(model, evidence, same))


def test_steps_prepare_until_the_passes_are_over() -> None:
    model, bp = GridMRF((3, 1, 1), start="coarse"), BeliefPropagation()
    evidence = model.evidence_from_image(torch.ones(48, 48).numpy())
    steps, state, found = len(plan(level_count(model.shape_of(evidence)))), bp.init(model, evidence), []
    for _ in range(steps + 3):
        state = bp.step(model, evidence, state)
        found.append(state.preparing)
    assert found == [True] * steps + [False] * 3
    resumed = bp.step(model, evidence, bp.resume(model, evidence, state))
    assert resumed.preparing
