"""The cloned grid MRF and its kernel, against the same distribution as a factor graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.grid.belief_propagation import GridBeliefPropagation
from mrfstudio.engine.families.grid.model import Grid, GridMRF
from mrfstudio.engine.families.grid.shape import GridError
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.algorithm import kernels
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation


def small_grid(connectivity: int = 8, tying: str = "free", clones: tuple[int, ...] = (3, 1, 2)) -> GridMRF:
    empty = GridMRF(clones, connectivity=connectivity, tying=tying)
    generator = torch.Generator().manual_seed(1)
    weights = torch.randn(empty.weights.shape, generator=generator, dtype=torch.float64)
    return GridMRF(clones, connectivity=connectivity, tying=tying, weights=weights, emission=[0.8, 0.03, 1e-10])


def some_evidence(model: GridMRF, *shape: int) -> Evidence:
    noisy = np.random.default_rng(0).integers(0, 2, shape)
    log = model.evidence_from_image(noisy).log_potentials.clone()
    log.view(-1, model.labels)[0] = torch.tensor([-torch.inf, 0.0, -torch.inf])  # one pixel known to be OUT
    return Evidence(log)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize(
    ("temperature", "damping"), [(1.0, 0.0), (1.0, 0.4), (0.5, 0.0), (2.0, 0.3), (0.05, 0.0), (0.0, 0.0), (0.0, 0.5)]
)
def test_every_iteration_equals_the_factor_graph(connectivity: int, temperature: float, damping: float) -> None:
    model = small_grid(connectivity)
    fast = BeliefPropagation(temperature=temperature, damping=damping)
    slow = fast.replace(kernel="generic")
    assert isinstance(fast.kernel_for(model), GridBeliefPropagation)
    assert kernels(slow, model) == []
    evidence = some_evidence(model, 2, 3, 4)
    left, right = fast.init(model, evidence), slow.init(model, evidence)
    for _ in range(6):
        left, right = fast.step(model, evidence, left), slow.step(model, evidence, right)
        torch.testing.assert_close(fast.beliefs(model, evidence, left), slow.beliefs(model, evidence, right))
        assert fast.residual(left) == pytest.approx(slow.residual(right), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("size", [(1, 1), (1, 4), (4, 1), (2, 2), (3, 4)])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_bethe_and_edge_beliefs_equal_the_factor_graph(size: tuple[int, int], connectivity: int) -> None:
    model = small_grid(connectivity)
    fast, slow = BeliefPropagation(), BeliefPropagation(kernel="generic")
    evidence = some_evidence(model, *size)
    left, right = fast.init(model, evidence), slow.init(model, evidence)
    for _ in range(4):
        left, right = fast.step(model, evidence, left), slow.step(model, evidence, right)
    expected = slow.log_partition(model, evidence, right)
    assert fast.log_partition(model, evidence, left).value == pytest.approx(expected.value, rel=1e-10)
    tables, others = fast.factor_beliefs(model, evidence, left), slow.factor_beliefs(model, evidence, right)
    assert len(tables) == len(others)
    for table, other in zip(tables, others, strict=True):
        torch.testing.assert_close(table, other)


def test_a_chain_is_exact() -> None:
    from mrfstudio.engine.registry import ALGORITHMS

    model = small_grid(4)
    evidence = some_evidence(model, 1, 5)
    bp, exact = BeliefPropagation(), ALGORITHMS["exact"]()
    state = bp.init(model, evidence)
    for _ in range(5):
        state = bp.step(model, evidence, state)
    answer = exact.step(model, evidence, exact.init(model, evidence))  # type: ignore[attr-defined]
    torch.testing.assert_close(bp.beliefs(model, evidence, state), exact.beliefs(model, evidence, answer))  # type: ignore[attr-defined]
    assert bp.residual(bp.step(model, evidence, state)) < 1e-12


def test_gradients_flow_through_steps_at_any_temperature() -> None:
    model = small_grid()
    evidence = some_evidence(model, 2, 3)
    for temperature in (1.0, 0.5):
        bp = BeliefPropagation(temperature=temperature)

        def beliefs(weights: torch.Tensor, bp: BeliefPropagation = bp) -> torch.Tensor:
            moved = GridMRF((3, 1, 2), weights=weights, emission=model.emission.numpy())
            state = bp.init(moved, evidence)
            for _ in range(2):
                state = bp.step(moved, evidence, state)
            return bp.beliefs(moved, evidence, state)

        assert torch.autograd.gradcheck(beliefs, (model.weights.clone().requires_grad_(),), fast_mode=True)


def test_tied_potentials_answer_a_turned_image_with_the_turned_answer() -> None:
    model = small_grid(tying="square", clones=(16, 1, 1))
    noisy = np.random.default_rng(4).integers(0, 2, (5, 5))
    bp = BeliefPropagation()

    def labels(image: np.ndarray) -> np.ndarray:
        evidence = model.evidence_from_image(image)
        state = bp.init(model, evidence)
        for _ in range(4):
            state = bp.step(model, evidence, state)
        return model.label_beliefs(bp.beliefs(model, evidence, state)).numpy()

    straight = labels(noisy)
    for turn in range(1, 4):
        np.testing.assert_allclose(labels(np.rot90(noisy, turn)), np.rot90(straight, turn), atol=1e-10)
    np.testing.assert_allclose(labels(noisy[:, ::-1]), straight[:, ::-1], atol=1e-10)
    assert model.weights.numel() < 4 * 18 * 18 / 7


def test_untied_potentials_do_not() -> None:
    model = small_grid(clones=(16, 1, 1))
    noisy = np.random.default_rng(4).integers(0, 2, (5, 5))
    bp = BeliefPropagation()
    answers = []
    for image in (noisy, noisy[:, ::-1].copy()):
        evidence = model.evidence_from_image(image)
        state = bp.step(model, evidence, bp.init(model, evidence))
        answers.append(bp.beliefs(model, evidence, state).numpy())
    assert np.abs(answers[0] - answers[1][:, ::-1]).max() > 0.01


def test_setting_tied_potentials_gives_them_back() -> None:
    model = small_grid(tying="square", clones=(8, 1, 1))
    other = GridMRF((8, 1, 1), tying="square", weights=torch.zeros_like(model.weights))
    other.set_potentials(model.potentials)
    torch.testing.assert_close(other.weights, model.weights)


@pytest.mark.parametrize("tying", ["free", "square"])
def test_a_larger_model_grows_from_a_smaller_one(tying: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without noise and with the penalty of the parts in force everywhere, labels are exactly as probable as before.
    monkeypatch.setattr("mrfstudio.engine.families.grid.growth.SPLIT_NOISE", 0.0)
    small = small_grid(4, tying, (8, 1, 1))
    large = GridMRF((16, 1, 1), connectivity=4, tying=tying, dtype=torch.float64)
    large.load_tensors(small.tensors())
    evidence = some_evidence(small, 6, 6)
    bp, answers = BeliefPropagation(), []
    for model in (small, large):
        state = bp.init(model, evidence)
        for _ in range(60):
            state = bp.step(model, evidence, state)
        assert bp.residual(state) < 1e-6
        answers.append(model.label_beliefs(bp.beliefs(model, evidence, state)))
    inner = slice(2, 4)  # border pixels have fewer edges to carry the penalty
    torch.testing.assert_close(answers[1][inner, inner], answers[0][inner, inner], atol=0.1, rtol=0.0)
    assert (answers[1][inner, inner] - answers[0][inner, inner]).abs().max() < 0.1


def test_the_parts_of_a_split_clone_differ() -> None:
    small = small_grid(8, "square", (8, 1, 1))
    large = GridMRF((16, 1, 1), tying="square", dtype=torch.float64)
    large.load_tensors(small.tensors())
    assert (large.potentials[0, 0] - large.potentials[0, 1])[:16].abs().min() > 0
    torch.testing.assert_close(large.potentials[:, 16:, 16:], small.potentials[:, 8:, 8:])


def test_emission_is_estimated_in_closed_form() -> None:
    labels = np.array([[0, 0, 0, 0], [1, 1, 2, 2]])
    noisy = np.array([[0, 0, 0, 1], [0, 1, 1, 1]])
    model = GridMRF((2, 1, 1))
    np.testing.assert_allclose(model.estimate_emission(labels, noisy), [0.75, 0.5, 1e-10])
    evidence = model.evidence_from_image(noisy).log_potentials
    np.testing.assert_allclose(evidence[0, 0].exp(), [0.75, 0.5, 1e-10], rtol=1e-5)
    np.testing.assert_allclose(evidence[0, 3].exp(), [0.25, 0.5, 1.0], rtol=1e-5)


def test_impossible_pixel_is_named() -> None:
    model = small_grid()
    log = torch.zeros(3, 4, 3, dtype=torch.float64)
    log[2, 1] = -torch.inf
    with pytest.raises(ContradictoryEvidence, match="row 2, column 1"):
        BeliefPropagation().init(model, Evidence(log))


def test_a_new_model_starts_at_the_prior() -> None:
    frequencies = [0.1, 0.75, 0.15]
    model = Grid(clones=16, start_noise=0.0).build(0, frequencies, [0.8, 0.03, 1e-10])
    bp, unknown = BeliefPropagation(), Evidence(torch.zeros(5, 5, 3))
    assert isinstance(model, GridMRF)
    state = bp.init(model, unknown)
    for _ in range(3):
        state = bp.step(model, unknown, state)
    middle = model.label_beliefs(bp.beliefs(model, unknown, state))[2, 2]
    torch.testing.assert_close(middle, torch.tensor(frequencies), atol=1e-4, rtol=1e-4)


def test_wrong_shapes_are_refused_in_one_sentence() -> None:
    with pytest.raises(GridError, match="expected 4 or 8"):
        GridMRF((2, 1, 1), connectivity=6)
    with pytest.raises(GridError, match="weights have shape"):
        GridMRF((2, 1, 1), weights=torch.zeros(2, 2))
    model = small_grid()
    with pytest.raises(GridError, match="'weights'"):
        model.load_tensors({"weights": torch.zeros(1), "emission": model.emission})
    with pytest.raises(GridError, match="2 labels"):
        model.shape_of(Evidence(torch.zeros(2, 2, 2)))


def test_a_model_without_tying_starts_from_a_tied_one() -> None:
    tied = GridMRF((8, 1, 1), tying="square")
    tied.randomise(3, [0.1, 0.7, 0.2])
    free = GridMRF((8, 1, 1))
    free.load_tensors(tied.tensors())
    assert torch.equal(free.weights, tied.potentials)
    with pytest.raises(GridError, match="weights"):
        GridMRF((16, 1, 1)).load_tensors(tied.tensors())
