"""Photographs repaired by windows: what is known stays, what is missing follows, and the doubt is honest."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.patches.few import few_unknown
from mrfstudio.engine.families.patches.levels import Pyramid
from mrfstudio.engine.families.patches.machine import PatchMachine
from mrfstudio.engine.families.patches.machine_windows import MachineWindows
from mrfstudio.engine.families.patches.model import PatchMixture
from mrfstudio.engine.families.patches.repair import PatchRepair
from mrfstudio.engine.families.patches.smooth import depth_of, roughness, thin_plate
from mrfstudio.engine.families.patches.windows import MixtureWindows, Places
from mrfstudio.engine.families.repairs import NOTHING, Damaged, repair_of, repaired
from tests.engine.helpers.windows import SIDE, striped_mixture, stripes


@pytest.fixture(scope="module")
def model() -> PatchMixture:
    return striped_mixture()


def hole(shape: tuple[int, int], side: int, at: tuple[int, int] = (10, 12)) -> np.ndarray:
    mask = np.zeros(shape, bool)
    mask[at[0] : at[0] + side, at[1] : at[1] + side] = True
    return mask


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_stripes_go_on_through_a_hole(model: PatchMixture, down: bool, channels: int) -> None:
    truth = stripes((32, 40), 0.4, down)[..., :channels]
    unknown = hole((32, 40), 4)
    found = repaired(model, Damaged(np.where(unknown[..., None], 0, truth), unknown))
    assert found.colours.shape == truth.shape
    assert np.abs(found.colours - truth)[unknown].max() < 0.02
    assert (found.colours[~unknown] == truth[~unknown]).all()
    assert (found.deviation[unknown] > 0).all()
    assert not found.deviation[~unknown].any()
    assert (found.component[unknown] == int(down)).all()
    assert (found.component[~unknown] == NOTHING).all()


def test_a_component_that_is_held_fills_its_place(model: PatchMixture) -> None:
    truth, unknown = stripes((32, 40)), hole((32, 40), 4)
    free = repaired(model, Damaged(truth, unknown))
    found = repaired(model, Damaged(truth, unknown, held=np.full((32, 40), 1, np.int16)))
    assert (found.component[unknown] == 1).all()
    assert np.abs(found.colours - free.colours)[unknown].mean() > 0.1


def test_deep_holes_begin_on_smaller_copies(model: PatchMixture) -> None:
    depth = [len(Pyramid.around(Damaged(stripes((80, 90)), hole((80, 90), side)), SIDE).levels) for side in (4, 12, 24)]
    assert depth == [1, 2, 3]
    unknown = hole((80, 90), 24)
    work = repair_of(model, Damaged(stripes((80, 90)), unknown))
    state = work.start()
    levels = []
    for _ in range(work.planned):
        state = work.step(state)
        levels.append(state.level)
        assert np.isfinite(work.answer(state).colours).all()
    assert levels == sorted(levels, reverse=True)
    assert (levels[0], levels[-1]) == (2, 0)
    assert work.step(state).residual == 0


def test_only_windows_that_the_hole_touches_are_asked() -> None:
    unknown = torch.zeros(400, 500, dtype=torch.bool)
    unknown[200:203, 300:310] = True
    places = Places.touching(unknown, 8, 1)
    assert len(places.windows) == 10 * 17
    assert len(places.pixels) == (3 + 2 * 7) * (10 + 2 * 7)
    assert int(places.unknown.sum()) == 30
    inside = places.pixels[places.windows[0]]
    assert inside[0] == 193 * 500 + 293
    assert inside[-1] == 200 * 500 + 300


@pytest.mark.parametrize("shape", [(3, 5), (8, 8), (6, 90)])
def test_small_pictures_and_whole_holes_have_an_answer(model: PatchMixture, shape: tuple[int, int]) -> None:
    for unknown in (np.ones(shape, bool), hole(shape, 2, (1, 1)), np.zeros(shape, bool)):
        found = repaired(model, Damaged(stripes(shape), unknown))
        assert np.isfinite(found.colours).all()
        assert found.colours.shape == (*shape, 3)


def test_less_strength_lets_go_of_a_wrong_pixel(model: PatchMixture) -> None:
    """A speck beside the hole misleads; known with little strength it does not."""
    truth, unknown = stripes((32, 40)), hole((32, 40), 3)
    wrong = truth.copy()
    wrong[10:13, 15] = 0.0
    strength = np.ones((32, 40), np.float32)
    strength[10:13, 15] = 0.002
    misled, helped = (repaired(model, Damaged(wrong, unknown, firm)).colours for firm in (None, strength))
    assert np.abs(helped - truth)[unknown].mean() < np.abs(misled - truth)[unknown].mean()


def test_intervals_hold_what_the_model_itself_draws(model: PatchMixture) -> None:
    """One window, its own draws: 90 % of the missing values lie in the 90 % interval."""
    windows, generator = MixtureWindows(model, 3), torch.Generator().manual_seed(0)
    count, places = 400, SIDE**2
    component = torch.zeros(count, dtype=torch.int64)
    latent = torch.randn(count, 7, generator=generator)
    truth = torch.einsum("pcr,nr->npc", windows.factors[0], latent)
    truth = truth + windows.noise[0].sqrt() * torch.randn(truth.shape, generator=generator)
    variances = torch.where(torch.arange(places) < 14, 1e-8, 1e4).expand(count, places)
    values = torch.where(variances[..., None] > 1, 0.0, truth)
    found = windows.condition(values, variances, component)
    inside = (truth - found.mean).abs() <= 1.645 * found.variance.sqrt()[..., None]
    assert float(inside[:, 14:].float().mean()) == pytest.approx(0.9, abs=0.03)


def test_a_draw_is_one_picture_and_goes_with_its_seed(model: PatchMixture) -> None:
    truth, unknown = stripes((32, 40)), hole((32, 40), 4)
    work = repair_of(model, Damaged(truth, unknown))
    assert isinstance(work, PatchRepair)
    state = work.start()
    with torch.inference_mode():
        for _ in range(work.planned):
            state = work.step(state)
        first, again, other = (work.sample(state, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first[~unknown] == truth[~unknown]).all()
    assert np.abs(first - other)[unknown].max() > 1e-4
    spread = np.abs(first - work.answer(state).colours)[unknown].mean()
    assert 0 < spread < 5 * work.answer(state).deviation[unknown].mean()


def test_the_smoothest_picture_goes_on_with_a_slope() -> None:
    """A plane is what a thin plate cannot tell from the truth; roughness and depth are counted."""
    rows, columns = torch.meshgrid(torch.arange(20.0), torch.arange(24.0), indexing="ij")
    plane = (0.2 + 0.01 * rows + 0.02 * columns)[..., None].expand(-1, -1, 3).contiguous()
    unknown = torch.from_numpy(hole((20, 24), 7, (6, 8)))
    start = torch.zeros_like(plane)
    found = thin_plate(torch.where(unknown[..., None], 0.0, plane), unknown, start)
    assert torch.allclose(found, plane, atol=1e-4)
    assert thin_plate(plane, torch.ones(20, 24, dtype=torch.bool), start) is start
    assert float(roughness(plane, unknown)[10, 10]) < 0.01  # a slope is felt where a neighbour is missing
    assert float(roughness(plane + 0.1 * torch.randn(20, 24, 3), unknown)[10, 10]) == pytest.approx(0.112, abs=0.02)
    depth = depth_of(unknown)
    assert depth[6:13, 8:15].tolist()[3] == [1, 2, 3, 4, 3, 2, 1]
    assert int(depth.sum()) == 4 + 3 * 8 + 2 * 16 + 24


def test_doubt_grows_with_the_depth_of_a_hole(model: PatchMixture) -> None:
    generator = np.random.default_rng(0)
    rough = np.clip(stripes((60, 60)) + generator.normal(0, 0.05, (60, 60, 3)), 0, 1).astype(np.float32)
    unknown = hole((60, 60), 16, (20, 20))
    found = repaired(model, Damaged(rough, unknown))
    assert found.deviation[27:29, 27:29].mean() > 2 * found.deviation[20, 20:36].mean()


@pytest.mark.parametrize("channels", [1, 3])
def test_few_unknown_pixels_are_conditioned_on_exactly(channels: int) -> None:
    """Among the unknown pixels or among the directions: the same mean and variance, whatever messages say."""
    windows = MixtureWindows(striped_mixture(), channels)
    generator = torch.Generator().manual_seed(3)
    count, places = 60, SIDE**2
    component = torch.randint(0, 2, (count,), generator=generator)
    values = 0.5 + 0.2 * torch.randn(count, places, channels, generator=generator)
    unknown = torch.rand(count, places, generator=generator).argsort(1) < torch.arange(count)[:, None] % 12
    for message in (1.0, 0.05**2):
        variances = torch.where(unknown, message, 9e-6)
        wanted = windows.condition(values, variances, component)
        found = windows.condition(values, variances, component, unknown)
        assert torch.allclose(found.mean[unknown], wanted.mean[unknown], atol=2e-4)
        assert torch.allclose(found.variance[unknown], wanted.variance[unknown], rtol=2e-3, atol=1e-8)
        sizes = few_unknown(variances, unknown)
        assert sorted(set(sizes.tolist())) == [0, 1, 2, 4, 8]
        variances[:, 0] += 0.01  # known pixels differ: the general way
        assert not few_unknown(variances, unknown)[~unknown[:, 0]].any()


def test_scattered_dust_asks_fewer_windows(model: PatchMixture) -> None:
    truth = stripes((500, 500))
    unknown = np.random.default_rng(0).random((500, 500)) < 0.03
    work = repair_of(model, Damaged(truth, unknown))
    assert isinstance(work, PatchRepair)
    found = repaired(model, Damaged(truth, unknown))
    assert work.stride > repair_of(model, Damaged(truth, hole((500, 500), 3))).stride  # type: ignore[attr-defined]
    assert np.abs(found.colours - truth)[unknown].max() < 0.02


def test_windows_whose_colours_stand_still_keep_their_components(model: PatchMixture) -> None:
    unknown = hole((32, 40), 4)
    work = repair_of(model, Damaged(stripes((32, 40)), unknown))
    assert isinstance(work, PatchRepair)
    with torch.inference_mode():
        state = work.step(work.start())
        still = replace(state, moved=torch.zeros_like(state.values[:, 0]), component=1 - state.component)
        assert (work.step(still).component == still.component).all()
        assert (work.step(state).component == state.component).all()
        assert (work.step(replace(still, moved=state.values[:, 0] + 1)).component == state.component).all()


def test_a_hidden_unit_that_is_held_changes_what_is_filled_in() -> None:
    """A machine whose unit 0 is a brighter left half, never on by itself."""
    machine = PatchMachine(SIDE, 2)
    left = torch.zeros(SIDE, SIDE, 3)
    left[:, : SIDE // 2] = 1
    with torch.no_grad():
        machine.weights.zero_()
        machine.weights[0] = left.flatten()
        machine.hidden_bias.copy_(torch.tensor([-30.0, -30.0]))
    picture = np.random.default_rng(0).uniform(0.4, 0.6, (24, 24, 3)).astype(np.float32)
    unknown = hole((24, 24), 4)
    free = repaired(machine, Damaged(picture, unknown))
    held = [repaired(machine, Damaged(picture, unknown, held=np.full((24, 24), unit, np.int16))) for unit in (0, 1)]
    assert (held[0].component[unknown] == 0).all()
    assert np.abs(held[0].colours - free.colours)[unknown].max() > 0.01
    assert np.allclose(held[1].colours, free.colours, atol=1e-6)  # a unit without weights says nothing


def test_what_is_thin_does_not_ask_the_smaller_copy(model: PatchMixture) -> None:
    """A scratch is filled in the same whether or not there is a deep hole far away."""
    truth, scratch = stripes((80, 120)), np.zeros((80, 120), bool)
    scratch[60:64, 10:110] = True
    both = scratch | hole((80, 120), 14)
    alone, beside = (repaired(model, Damaged(truth, unknown)) for unknown in (scratch, both))
    assert len(Pyramid.around(Damaged(truth, both), SIDE).levels) > 1
    assert np.allclose(alone.colours[scratch], beside.colours[scratch], atol=0.01)
    assert np.allclose(alone.deviation[scratch], beside.deviation[scratch], rtol=0.05)


def test_draws_of_a_machine_are_smooth_where_its_units_are() -> None:
    """One unit, half on, that lightens whole windows in stripes: the draw has them and no grain of single pixels."""
    machine = PatchMachine(SIDE, 1)
    with torch.no_grad():
        machine.weights.copy_(torch.from_numpy(stripes((SIDE, SIDE)) - 0.5).flatten()[None])
    noise = torch.randn(200, SIDE * SIDE, 3, generator=torch.Generator().manual_seed(0))
    drawn = MachineWindows(machine, 3).draw(noise, torch.zeros(200, dtype=torch.int64)).flatten(1)
    pattern = machine.weights[0].detach() / machine.weights.norm()
    assert drawn.square().mean() > 0
    assert torch.allclose((drawn @ pattern)[:, None] * pattern, drawn, atol=1e-5)
