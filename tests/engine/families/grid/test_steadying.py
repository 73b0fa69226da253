"""What swings after the passes of a coarse start takes smaller and smaller steps; what settles is left alone."""

from __future__ import annotations

import numpy as np
import torch

from mrfstudio.engine.families.grid.belief_propagation import GridMessages
from mrfstudio.engine.families.grid.kernel import run_messages
from mrfstudio.engine.families.grid.levels import plan_for
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.steadying import GROWS, LATE, STEADIED, SWINGS, Steadying, SwingCounts
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation


def eased() -> tuple[GridMRF, Evidence]:
    """A model that eases walls, with couplings so strong that messages do not settle soon, and some ink."""
    model = GridMRF((3, 1, 2), emission=[0.8, 0.03, 0.01], dtype=torch.float64, eased=0.5)
    model.randomise(3, [0.3, 0.4, 0.3])
    model.set_potentials(4 * model.potentials.detach())
    picture = np.ones((9, 11))
    picture[2:5, 3:9] = 0
    return model, model.evidence_from_image(picture)


def after_passes(model: GridMRF, evidence: Evidence, bp: BeliefPropagation) -> GridMessages:
    """The state in which the passes have just ended."""
    state = bp.init(model, evidence)
    while state.in_pass < len(plan_for(model, model.shape_of(evidence))):
        state = bp.step(model, evidence, state)
    assert isinstance(state, GridMessages)
    return state


def test_the_window_and_the_commands_hold_back_the_same() -> None:
    model, evidence = eased()
    bp, shape = BeliefPropagation(start="coarse"), model.shape_of(evidence)
    state = after_passes(model, evidence, bp)
    steadying, begin = Steadying(model, shape), state.messages
    for _ in range(LATE + 10):
        state = bp.step(model, evidence, state)
    found = run_messages(model.potentials, model.state_evidence(evidence), shape, LATE + 10, begin, steadying)
    torch.testing.assert_close(found, state.messages)
    torch.testing.assert_close(steadying.swings.counts, state.swung[0])
    torch.testing.assert_close(steadying.swings.changes, state.swung[1])


def test_an_edit_lets_everything_move_again() -> None:
    model, evidence = eased()
    bp = BeliefPropagation(start="coarse")
    state = after_passes(model, evidence, bp)
    state = bp.step(model, evidence, state)
    assert len(state.swung) == 2
    edited = bp.resume(model, evidence, state)
    assert (edited.in_pass, edited.swung) == (0, ())


def test_messages_that_swing_come_to_rest_and_others_go_on() -> None:
    model, _ = eased()
    steadying = Steadying(model, model.shape_of(model.evidence_from_image(np.ones((1, 2)))))
    ends = torch.tensor([[0.5, 1.5], [0.9, 1.1], [1.6, 0.4]], dtype=torch.float64)[:, None]  # a message, by state
    here = ends.expand(3, 8, 2).permute(1, 0, 2).contiguous()  # the first pixel swings, the second one is drawn to 1
    moved = torch.zeros(2, dtype=torch.float64)
    for number in range(400):
        wanted = torch.ones_like(here)
        wanted[:, 0, 0], wanted[:, 2, 0] = (1.5, 0.5) if number % 2 else (0.5, 1.5)
        wanted[:, :, 1] = 0.5 * here[:, :, 1] + 0.5
        before = here
        here = wanted.clone()
        steadying(here, before)
        if number > LATE:
            moved += (here - before).abs().amax((0, 1))
    assert moved[0] < 0.2
    assert steadying.swings.counts.tolist() == [400 - (LATE - steadying_begins(model)), 0]
    torch.testing.assert_close(here[:, :, 1], torch.ones(8, 3, dtype=torch.float64))


def steadying_begins(model: GridMRF) -> int:
    """Steps that count as done where the passes of a small canvas have ended."""
    return Steadying(model, model.shape_of(model.evidence_from_image(np.ones((1, 2))))).steps


def test_nothing_is_held_back_early_and_what_stops_swinging_is_let_go() -> None:
    none, large, small = SwingCounts.none(torch.zeros(1)), torch.full((1,), 2 * SWINGS), torch.full((1,), 0.5 * SWINGS)
    assert float(none.after(large, LATE - 1).counts) == 0
    twice = none.after(large, LATE).after(large, LATE + 1)
    assert float(twice.counts) == 2
    assert float(twice.after(small, LATE + 2).counts) == 1
    assert float(none.kept) == torch.tensor(STEADIED)
    assert STEADIED < float(twice.kept) < 1


def test_a_small_change_counts_where_it_grows_and_not_where_it_dies_away() -> None:
    begin = SwingCounts.none(torch.zeros(3))
    changes = torch.tensor([2.0, 2.0, 0.5]) * GROWS  # grows, dies away, grows but is tiny
    growth = torch.tensor([1.1, 0.9, 1.1])
    swings = begin.after(changes, LATE)
    assert swings.counts.tolist() == [0, 0, 0]  # nothing is known of the iteration before
    for step in range(1, 4):
        swings = swings.after(changes * growth**step, LATE + step)
    assert swings.counts.tolist() == [3, 0, 0]


def test_counts_of_another_picture_are_forgotten() -> None:
    found = (torch.ones(3), torch.ones(3))
    assert SwingCounts.known(found, torch.zeros(8, 2, 3)).counts.tolist() == [1, 1, 1]
    for odd in ((), found[:1], (torch.ones(4), torch.ones(3)), (torch.ones(3).double(), torch.ones(3))):
        assert SwingCounts.known(odd, torch.zeros(8, 2, 3)).counts.tolist() == [0, 0, 0]


def test_a_flat_start_holds_nothing_back() -> None:
    model, evidence = eased()
    state = BeliefPropagation(start="flat").init(model, evidence)
    generic = BeliefPropagation(kernel="generic").init(model, evidence)
    for _ in range(6):
        state = BeliefPropagation(start="flat").step(model, evidence, state)
        generic = BeliefPropagation(kernel="generic").step(model, evidence, generic)
    assert state.swung == ()
    flat, graph = BeliefPropagation(start="flat"), BeliefPropagation(kernel="generic")
    torch.testing.assert_close(flat.beliefs(model, evidence, state), graph.beliefs(model, evidence, generic))
