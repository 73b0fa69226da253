"""IN against OUT on an empty canvas: who wins is measured, and holding IN back is worth what it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT
from mrfstudio.engine.families.grid.balance import hold, surplus, weigh
from mrfstudio.engine.families.grid.belief_propagation import GridMessages
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.shape import GridError
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation


def coupled(even: float = 1.0) -> GridMRF:
    """A grid in which OUT and IN like themselves, IN `even` times as much, and contours are rare."""
    model = GridMRF((1, 1, 1), emission=(0.8, 0.02, 0.02))
    matrix = torch.zeros(model.matrices, 3, 3)
    matrix[:, CONTOUR, :] = matrix[:, :, CONTOUR] = -1.0
    matrix[:, OUT, OUT], matrix[:, IN, IN] = 1.0, even
    model.set_potentials(matrix)
    return model


def test_labels_that_are_alike_are_even_and_a_stronger_one_wins() -> None:
    assert surplus(coupled()) == pytest.approx(0.0, abs=1e-9)
    assert surplus(coupled(1.1)) > 0.3  # four pairs a pixel, 0.1 each


def ruled(model: GridMRF, hints: NDArray[np.uint8], iterations: int) -> tuple[Evidence, GridMessages]:
    """An empty canvas (H, W) and its state so many iterations after hints for every pixel were taken away."""
    bp, evidence = BeliefPropagation(), model.evidence_from_image(np.ones(hints.shape))
    state = bp.init(model, evidence)
    for _ in range(10):
        state = bp.step(model, model.with_hints(evidence, hints), state)
    for _ in range(iterations):
        state = bp.step(model, evidence, state)
    assert isinstance(state, GridMessages)
    return evidence, state


def test_surplus_is_the_difference_of_log_z_for_each_pixel() -> None:
    model, bp, found = coupled(1.1), BeliefPropagation(), {}
    for side in (10, 20, 30):
        for label in (OUT, IN):
            evidence, state = ruled(model, np.full((side, side), label, np.uint8), 40)
            value = bp.log_partition(model, evidence, state).value
            assert value is not None
            found[side, label] = value
    first, middle, last = (found[side, IN] - found[side, OUT] for side in (10, 20, 30))
    area = (last - 2 * middle + first) / 200  # of a side² + b side + c, with sides 10 apart
    assert area == pytest.approx(surplus(model), rel=0.01)


def test_a_weight_for_out_holds_in_back_by_as_much_and_changes_no_emission() -> None:
    model = coupled(1.1)
    before, emission = surplus(model), model.emission.clone()
    weigh(model, (0.0, 0.2, 0.0))
    assert before - surplus(model) == pytest.approx(0.2, abs=0.01)
    assert torch.equal(model.emission, emission)
    weigh(model, (0.3, 0.3, 0.3))  # all alike: nothing changes
    assert before - surplus(model) == pytest.approx(0.2, abs=0.01)
    with pytest.raises(GridError, match="one for each of 3 labels"):
        weigh(model, (0.1, 0.2))


def test_a_wall_without_a_contour_stands_where_both_are_even() -> None:
    hints = np.full((24, 24), OUT, np.uint8)
    hints[:, 12:] = IN
    sizes = []
    for even in (1.0, 1.4):
        model = coupled(even)
        evidence, state = ruled(model, hints, 60)
        labels = BeliefPropagation().label_beliefs(model, evidence, state).argmax(-1)
        sizes.append(int((labels == IN).sum()))
    assert sizes[0] == 12 * 24
    assert sizes[1] > 18 * 24


def test_walls_that_are_held_are_slower_and_passes_go_on_as_before() -> None:
    hints = np.full((24, 24), OUT, np.uint8)
    hints[:, 12:] = IN
    sizes = []
    for nats in (0.0, 2.0):
        model = coupled(1.05)
        before = model.potentials.clone()
        hold(model, nats)
        torch.testing.assert_close(model.loose_potentials, before)
        assert model.eased == nats
        evidence, state = ruled(model, hints, 60)
        labels = BeliefPropagation().label_beliefs(model, evidence, state).argmax(-1)
        sizes.append(int((labels == IN).sum()))
    assert sizes[0] - 12 * 24 >= 1.5 * (sizes[1] - 12 * 24)
