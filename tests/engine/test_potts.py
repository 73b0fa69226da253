import pytest
import torch

from mrfstudio.engine.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.models.potts import PottsGrid


def small(height: int = 4, width: int = 5, labels: int = 3, seed: int = 0) -> tuple[PottsGrid, Evidence]:
    generator = torch.Generator().manual_seed(seed)
    across = 2 * torch.rand(height, width - 1, generator=generator, dtype=torch.float64)
    down = 2 * torch.rand(height - 1, width, generator=generator, dtype=torch.float64)
    log = torch.randn(height, width, labels, generator=generator, dtype=torch.float64)
    log[0, 0] = torch.tensor([0.0, -torch.inf, -torch.inf])
    return PottsGrid(across, down, labels), Evidence(log)


@pytest.mark.parametrize("damping", [0.0, 0.4])
@pytest.mark.parametrize("size", [(4, 5), (1, 6), (5, 1), (1, 1)])
def test_the_potts_kernel_equals_the_factor_graph_at_every_iteration(size: tuple[int, int], damping: float) -> None:
    model, evidence = small(*size)
    fast, slow = BeliefPropagation(damping=damping), BeliefPropagation(damping=damping, kernel="generic")
    a, b = fast.init(model, evidence), slow.init(model, evidence)
    for _ in range(8):
        a, b = fast.step(model, evidence, a), slow.step(model, evidence, b)
        torch.testing.assert_close(fast.beliefs(model, evidence, a), slow.beliefs(model, evidence, b))
        assert fast.residual(a) == pytest.approx(slow.residual(b), abs=1e-12)
        value = fast.log_partition(model, evidence, a).value
        assert value == pytest.approx(slow.log_partition(model, evidence, b).value, abs=1e-9)


def test_a_chain_is_exact() -> None:
    from mrfstudio.engine.inference.exact import Exact

    model, evidence = small(1, 7)
    bp = BeliefPropagation()
    outcome = run(bp, model, evidence, Limits(tolerance=1e-13))
    exact = run(Exact(), model, evidence)
    torch.testing.assert_close(
        bp.beliefs(model, evidence, outcome.state), Exact().beliefs(model, evidence, exact.state), atol=1e-10, rtol=0
    )


def test_a_pixel_without_a_possible_label_is_named() -> None:
    model, evidence = small()
    log = evidence.log_potentials.clone()
    log[2, 3] = -torch.inf
    with pytest.raises(ContradictoryEvidence, match="row 2, column 3"):
        BeliefPropagation().init(model, Evidence(log))
