import pytest
import torch

from mrfstudio.engine.families.scored_grid import messages
from mrfstudio.engine.families.scored_grid.contrast_grid import ContrastGrid, contrast_weights
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.errors import StudioError

SIZES = [(4, 5), (1, 6), (5, 1), (1, 1), (2, 2)]


def small(size: tuple[int, int], labels: int, edges: int) -> tuple[ContrastGrid, Evidence]:
    generator = torch.Generator().manual_seed(labels)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    weights = [3 * draw(*messages.weight_shape(k, *size)) for k in range(edges)]
    log = 4 * draw(*size, labels)
    log[0, 0, 1:] = -torch.inf
    return ContrastGrid(weights, labels), Evidence(log)


@pytest.mark.parametrize("stripe", [1, 10**6])
@pytest.mark.parametrize("edges", [2, 4])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("size", SIZES)
def test_every_iteration_equals_the_factor_graph(
    size: tuple[int, int], labels: int, edges: int, stripe: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "STRIPE", stripe)
    model, evidence = small(size, labels, edges)
    fast, slow = BeliefPropagation(), BeliefPropagation(kernel="generic")
    a, b = fast.init(model, evidence), slow.init(model, evidence)
    assert type(a) is not type(b)
    for _ in range(6):
        a, b = fast.step(model, evidence, a), slow.step(model, evidence, b)
        torch.testing.assert_close(fast.beliefs(model, evidence, a), slow.beliefs(model, evidence, b))
        assert fast.residual(a) == pytest.approx(slow.residual(b), abs=1e-12)


@pytest.mark.parametrize("labels", [2, 12])
def test_the_strongest_field_stays_finite_in_32_bits(labels: int) -> None:
    weights = [torch.full(messages.weight_shape(k, 20, 20), messages.STRONGEST) for k in range(4)]
    log = torch.full((20, 20, labels), -torch.inf)
    log[..., 1] = 0.0
    log[10, 10] = torch.cat([torch.zeros(1), torch.full((labels - 1,), -torch.inf)])
    model, evidence, bp = ContrastGrid(weights, labels), Evidence(log), BeliefPropagation()
    state = bp.init(model, evidence)
    for _ in range(30):
        state = bp.step(model, evidence, state)
    beliefs = bp.beliefs(model, evidence, state)
    assert bool(torch.isfinite(beliefs).all())
    assert float(beliefs[0, 0, 1]) == 1.0
    assert float(beliefs[10, 10, 0]) == pytest.approx(1.0)


def test_a_pixel_without_a_possible_label_is_named() -> None:
    model, evidence = small((4, 5), 3, 4)
    evidence.log_potentials[2, 3] = -torch.inf
    with pytest.raises(ContradictoryEvidence, match="row 2, column 3"):
        BeliefPropagation().init(model, evidence)


def test_weights_are_weaker_across_an_edge_and_on_diagonals() -> None:
    picture = torch.zeros(3, 6, 6)
    picture[:, :, 3:] = 1.0
    right, down, _, _ = contrast_weights(picture, 4.0)
    assert float(right[2, 2]) < float(right[2, 1]) == pytest.approx(4.0)
    assert float(down[2, 2]) == pytest.approx(4.0)
    flat = contrast_weights(torch.zeros(3, 4, 4), 4.0)
    assert [float(w.min()) for w in flat] == pytest.approx([4.0, 4.0, 4 / 2**0.5, 4 / 2**0.5])


def test_weights_of_a_wrong_shape_or_size_are_refused() -> None:
    with pytest.raises(StudioError, match="shape"):
        ContrastGrid([torch.zeros(4, 4), torch.zeros(4, 4)], 2)
    with pytest.raises(StudioError, match="outside"):
        ContrastGrid([torch.full((4, 3), 4.1), torch.zeros(3, 4)], 2)
