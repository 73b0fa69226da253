"""RENN and the Bethe network: what they minimise, what a step is, and how near the truth they come."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.graphs.uai import write_uai
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.regions.bethe_net import BetheNetwork
from mrfstudio.engine.inference.regions.energy_network import EnergyNetwork
from mrfstudio.engine.inference.regions.generalized_bp import GeneralizedBP
from mrfstudio.engine.inference.regions.objective import Objective
from mrfstudio.engine.inference.regions.on_regions import region_potentials
from mrfstudio.engine.inference.regions.region_network import RegionNetwork, connected_parts
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.tasks.infer import infer_file
from tests.engine.helpers.graphs import enumerate_all, random_factors, random_tree

SMALL = {"embedding": 16}
DIRECT = {"attention": 0, "residual_layers": 0, "learning_rate": 0.1, "start": "potentials"}
"""No layers, and a start that leaves the work to the optimiser: the double loop would solve trees by itself."""


def union(graphs: list[FactorGraph]) -> FactorGraph:
    """Ising graphs side by side as one graph of several parts."""
    edges, couplings, fields, start = [], [], [], 0
    for graph in graphs:
        edges += [(a + start, b + start) for a, b in graph.groups[0].scopes.T.tolist()]
        couplings.append(graph.groups[0].tables[1, 1].numpy())
        fields += [vector[1] for vector in graph.unpack(graph.unary)]
        start += graph.variables
    return FactorGraph.ising(edges, np.concatenate(couplings), fields)


def mean_error(algorithm: EnergyNetwork, graph: FactorGraph, steps: int) -> float:
    given = graph.no_evidence()
    state = run(algorithm, graph, given, Limits(iterations=steps, tolerance=0)).state
    truth = run(Exact(), graph, given).state
    return float((algorithm.beliefs(graph, given, state) - truth.marginals).abs().mean())


@pytest.mark.parametrize(
    "options", [DIRECT, {**SMALL, "learning_rate": 0.005, "start": "uniform"}], ids=["direct", "network"]
)
def test_renn_comes_near_the_truth_on_a_grid(options: dict[str, float]) -> None:
    graph = ising_grid(4, 4, field=0.5, seed=1)
    assert mean_error(RegionEnergyNetwork(**options), graph, 200) < 0.02


@pytest.mark.parametrize("seed", range(3))
def test_the_bethe_network_finds_the_fixed_point_of_belief_propagation(seed: int) -> None:
    cards, factors = random_factors(seed + 20, variables=5, factors=5, strength=0.5)
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.no_evidence()
    net = BetheNetwork(**DIRECT, growth=3000.0, steps=300)
    state = run(net, graph, given, Limits(iterations=300, tolerance=0)).state
    bp = BeliefPropagation(damping=0.3)
    fixed = run(bp, graph, given, Limits(tolerance=1e-10)).state
    torch.testing.assert_close(net.beliefs(graph, given, state), bp.beliefs(graph, given, fixed), atol=0.01, rtol=0)
    expected = bp.log_partition(graph, given, fixed).value
    found = net.log_partition(graph, given, state)
    assert found.value == pytest.approx(expected, abs=0.01)
    assert found.kind == "estimate"


def test_a_tree_with_factors_of_order_3_and_many_states_is_nearly_exact() -> None:
    cards, factors = random_tree(3)
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.no_evidence()
    renn = RegionEnergyNetwork(**DIRECT, growth=3000.0, steps=300)
    state = run(renn, graph, given, Limits(iterations=300, tolerance=0)).state
    assert renn.log_partition(graph, given, state).value == pytest.approx(truth.log_z, abs=0.02)
    for found, right in zip(graph.unpack(renn.beliefs(graph, given, state)), truth.marginals, strict=True):
        np.testing.assert_allclose(found, right, atol=0.03)


def penalised_energy(
    tables: RegionTables, potentials: torch.Tensor, roots: torch.Tensor, penalty: float
) -> torch.Tensor:
    """F_R + λ Σ of squared disagreements (Eq. 4.10-4.12), region by region, from tables of the roots."""
    regions = tables.regions
    beliefs: dict[int, torch.Tensor] = {}
    loss = torch.zeros((), dtype=potentials.dtype)
    for region in np.argsort(regions.levels, kind="stable").tolist():
        own = slice(int(tables.offsets[region]), int(tables.offsets[region] + tables.sizes[region]))
        said = [
            beliefs[parent][tables.entries_within(regions.regions[region], parent) - tables.offsets[parent]].sum(1)
            for parent in regions.parents[region]
        ]
        belief = beliefs[region] = torch.stack(said).mean(0) if said else roots[own]
        loss = loss + int(regions.counting[region]) * (belief * (belief.log() - potentials[own])).sum()
        loss = loss + penalty * sum(((belief - other) ** 2).sum() for other in said)
    return loss


@pytest.mark.parametrize("kind", ["grid", "mixed", "bethe"])
def test_the_gradient_is_that_of_the_penalised_energy(kind: str) -> None:
    """What is written out by hand is what autograd finds for the equations, on three levels and on mixed states."""
    cards, factors = random_factors(7, variables=6, factors=8, strength=0.5)
    graph = ising_grid(3, 4, seed=2) if kind == "grid" else FactorGraph.from_factors(cards, factors)
    algorithm = BetheNetwork() if kind == "bethe" else RegionEnergyNetwork()
    tables = algorithm.tables(graph)
    potentials = region_potentials(graph, tables, graph.no_evidence())
    generator = torch.Generator().manual_seed(4)
    scores = torch.randn(tables.size, generator=generator, dtype=torch.float64).requires_grad_()
    (expected,) = torch.autograd.grad(penalised_energy(tables, potentials, tables.normalise(scores).exp(), 3.0), scores)
    found = Objective(tables).slope(potentials, scores.detach(), 3.0)
    torch.testing.assert_close(found.gradient, expected, atol=1e-10, rtol=0)
    rows = torch.stack([scores.detach(), torch.zeros_like(potentials)])
    torch.testing.assert_close(Objective(tables).slope(potentials, rows, 3.0).gradient[0], found.gradient)


@pytest.mark.parametrize("name", ["renn", "bethe-net"])
@pytest.mark.parametrize("seed", [1, 3])
def test_the_network_handles_mixed_states_factors_of_order_3_and_zeros(name: str, seed: int) -> None:
    """As it comes, on graphs with loops: near the truth, consistent, and forbidden states stay forbidden."""
    cards, factors = random_factors(seed, variables=6, factors=7, zeros=0.15, strength=0.7)
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    assert max(group.order for group in graph.groups) == 3
    algorithm, given = ALGORITHMS[name](**SMALL), graph.no_evidence()
    state = run(algorithm, graph, given, Limits(iterations=200, tolerance=0)).state
    assert float(state.consistency) < 0.02
    for found, right in zip(graph.unpack(algorithm.beliefs(graph, given, state)), truth.marginals, strict=True):
        np.testing.assert_allclose(found, right, atol=0.06)
        assert (found[right == 0] < 1e-6).all()


def test_consistent_beliefs_are_the_means_of_themselves() -> None:
    graph = ising_grid(3, 3, seed=2)
    given = graph.no_evidence()
    gbp = GeneralizedBP(method="double-loop")
    state = run(gbp, graph, given, Limits(iterations=2000, tolerance=1e-11)).state
    tables = gbp.tables(graph)
    potentials = region_potentials(graph, tables, given)
    slope = Objective(tables).slope(potentials, state.log_beliefs, 0.0)
    torch.testing.assert_close(slope.log_beliefs, state.log_beliefs, atol=1e-8, rtol=0)
    assert float(slope.gap.abs().max()) < 1e-9


def test_the_fast_product_is_the_sum_of_gathers() -> None:
    graph = ising_grid(3, 4, seed=0)
    maps = Objective(RegionEnergyNetwork().tables(graph))
    generator = torch.Generator().manual_seed(0)
    for found in (maps.averaged, maps.disagreement):
        for batch in ((), (2, 3)):
            right = torch.rand(*batch, found.width, generator=generator, dtype=torch.float64)
            left = torch.rand(*batch, found.height, generator=generator, dtype=torch.float64)
            tracked_right, tracked_left = right.clone().requires_grad_(), left.clone().requires_grad_()
            torch.testing.assert_close(found(right), found(tracked_right).detach())
            torch.testing.assert_close(found.transposed(left), found.transposed(tracked_left).detach())


def test_non_root_beliefs_are_means_of_what_parents_say() -> None:
    """Eq. 4.11, on the node in the middle of a 3×3 grid: the mean over four edges, each the mean over two faces."""
    graph = ising_grid(3, 3)
    tables = RegionEnergyNetwork().tables(graph)
    generator = torch.Generator().manual_seed(0)
    roots = tables.normalise(torch.randn(tables.size, generator=generator, dtype=torch.float64)).exp()
    averaged = Objective(tables).averaged(roots)
    middle = tables.regions.regions.index((4,))
    said = []
    for edge in tables.regions.parents[middle]:
        pair = tables.regions.regions[edge]
        tables_of_faces = [
            roots.numpy()[tables.entries_within(pair, face)].sum(1).reshape(2, 2)
            for face in tables.regions.parents[edge]
        ]
        assert len(tables_of_faces) == 2
        said.append(np.mean(tables_of_faces, 0).sum(1 - pair.index(4)))
    start = int(tables.offsets[middle])
    np.testing.assert_allclose(averaged[start : start + 2].numpy(), np.mean(said, 0), atol=1e-12)


@pytest.mark.parametrize("algorithm", [RegionEnergyNetwork(**SMALL), BetheNetwork(**SMALL)], ids=lambda a: a.name)
def test_a_step_has_no_side_effects_and_no_hidden_state(algorithm: EnergyNetwork) -> None:
    graph = ising_grid(3, 3, seed=3)
    given = graph.evidence({0: 1})
    start = algorithm.step(graph, given, algorithm.init(graph, given))
    assert start.partial is None  # a step that ended leaves nothing half done; all else is numbers
    names = [field.name for field in dataclasses.fields(start) if field.name != "partial"]
    before = {name: torch.as_tensor(getattr(start, name)).clone() for name in names}
    first, again = algorithm.step(graph, given, start), algorithm.step(graph, given, start)
    assert first.partial is again.partial is start.partial is None
    for name in names:
        assert torch.equal(torch.as_tensor(getattr(first, name)), torch.as_tensor(getattr(again, name))), name
        assert torch.equal(torch.as_tensor(getattr(start, name)), before[name]), name
    assert float(first.residual) >= float(first.consistency)


def test_several_graphs_as_one_are_each_solved() -> None:
    graphs = [ising_grid(3, 3, field=1.0, seed=s) for s in range(3)]
    whole = union(graphs)
    assert connected_parts(whole).tolist() == [0] * 9 + [1] * 9 + [2] * 9
    renn = RegionEnergyNetwork(embedding=32, learning_rate=0.003)
    assert mean_error(renn, whole, 200) < 0.03


def test_attention_stays_within_a_part() -> None:
    """Embeddings of one part do not move the scores of another."""
    network = RegionNetwork(RegionEnergyNetwork().tables(union([ising_grid(2, 2), ising_grid(2, 3)])), 8, 1, 1)
    generator = torch.Generator().manual_seed(1)
    start = network.start(0, torch.device("cpu"))
    parameters = start + 0.1 * torch.randn(start.shape, generator=generator)
    moved = parameters.clone()
    moved[: 4 * 8] += 1.0  # the four nodes of the first part
    change = (network.scores(moved) - network.scores(parameters)).abs()
    touched = {region for region, start in enumerate(network.tables.offsets) if float(change[start]) > 0}
    assert touched == {r for r, members in enumerate(network.tables.regions.regions) if max(members) < 4}


def test_leading_axes_of_the_evidence_are_networks_of_their_own() -> None:
    graph = ising_grid(2, 3, seed=5)
    generator = torch.Generator().manual_seed(3)
    rows = torch.randn(2, graph.packing.size, dtype=torch.float64, generator=generator)
    renn = RegionEnergyNetwork(**DIRECT)

    def after(given: Evidence) -> torch.Tensor:
        return renn.beliefs(graph, given, run(renn, graph, given, Limits(iterations=20, tolerance=0)).state)

    together = after(Evidence(rows))
    for row, beliefs in zip(rows, together, strict=True):
        torch.testing.assert_close(after(Evidence(row)), beliefs)


def test_lambda_is_held_and_then_grows_while_the_rate_falls() -> None:
    renn = RegionEnergyNetwork(penalty=3.0, growth=50.0, steps=200, learning_rate=1e-3)
    assert renn.penalty_at(0) == renn.penalty_at(100) == 3.0
    assert renn.penalty_at(200) == renn.penalty_at(900) == pytest.approx(150.0)
    assert renn.rate_at(50) == 1e-3 > renn.rate_at(150) > renn.rate_at(200) > 0
    as_published = renn.replace(growth=1.0)
    assert as_published.penalty_at(180) == 3.0
    assert as_published.rate_at(180) == 1e-3


def test_every_start_leads_to_the_same_beliefs() -> None:
    graph = ising_grid(3, 3, field=0.5, seed=6)
    given = graph.evidence({4: 0})
    ends = []
    for start in ("potentials", "uniform", "double-loop"):
        renn = RegionEnergyNetwork(**{**DIRECT, "start": start})
        state = run(renn, graph, given, Limits(iterations=250, tolerance=0)).state
        ends.append(renn.beliefs(graph, given, state))
        assert graph.unpack(ends[-1])[4][1] < 1e-12
    torch.testing.assert_close(ends[0], ends[1], atol=0.02, rtol=0)
    torch.testing.assert_close(ends[0], ends[2], atol=0.02, rtol=0)


def test_strong_factors_are_softened_until_half_of_the_plan() -> None:
    strong, mild = (ising_grid(4, 4, coupling=c, field=0.2, seed=3) for c in (9.0, 1.0))
    renn = RegionEnergyNetwork()
    given = mild.no_evidence()
    assert renn.strength_of(mild, given) == 1.0
    strength = renn.strength_of(strong, given)
    assert strength > 3
    assert renn.softening_at(0, strength) == pytest.approx(1 / strength)
    assert renn.softening_at(50, strength) == pytest.approx(strength**-0.5)
    assert renn.softening_at(100, strength) == renn.softening_at(900, strength) == 1.0
    assert renn.replace(annealing=False).strength_of(strong, given) == 1.0


def test_annealing_finds_what_a_saturated_start_misses() -> None:
    errors = {True: 0.0, False: 0.0}
    for seed in range(3):
        graph = ising_grid(5, 5, coupling=9.0, field=0.5, seed=seed)
        for annealing in errors:
            errors[annealing] += mean_error(RegionEnergyNetwork(**DIRECT, annealing=annealing), graph, 200)
    assert errors[True] < errors[False]


def test_scores_of_their_own_bring_triangles_nearer_to_the_minimum() -> None:
    """A shared readout gives a triangle only the sum of what its nodes ask for."""
    away = {True: 0.0, False: 0.0}
    for seed in range(2):
        rng = np.random.default_rng(seed)
        edges = [(i, j) for i in range(9) for j in range(i + 1, 9)]
        graph = FactorGraph.ising(edges, rng.normal(size=36), rng.normal(size=9))
        given = graph.no_evidence()
        settled = run(GeneralizedBP(), graph, given, Limits(iterations=500, tolerance=1e-6))
        assert settled.converged
        minimum = GeneralizedBP().beliefs(graph, given, settled.state)
        for own in away:
            renn = RegionEnergyNetwork(own_scores=own)
            state = run(renn, graph, given, Limits(iterations=200, tolerance=0)).state
            away[own] += float((renn.beliefs(graph, given, state) - minimum).abs().mean())
    assert away[True] < 0.6 * away[False]


def test_evidence_that_comes_later_is_taken_up_at_once() -> None:
    """The start is kept as a distance from the potentials, so an edit moves the beliefs without a new start."""
    graph = ising_grid(3, 3, field=0.5, seed=6)
    renn = RegionEnergyNetwork(**SMALL)
    state = run(renn, graph, graph.no_evidence(), Limits(iterations=20, tolerance=0)).state
    given = graph.evidence({4: 0})
    after = renn.beliefs(graph, given, renn.step(graph, given, state))
    assert graph.unpack(after)[4][1] < 1e-12


def test_after_an_edit_the_plan_begins_anew() -> None:
    """Otherwise the learning rate would stay where it ended, and beliefs would hardly follow."""
    graph = ising_grid(3, 3, field=0.5, seed=6)
    renn = RegionEnergyNetwork(**DIRECT)
    state = run(renn, graph, graph.no_evidence(), Limits(iterations=200, tolerance=0)).state
    given = graph.evidence({4: 0, 0: 1})
    resumed = renn.resume(graph, given, state)
    after = run(renn, graph, given, Limits(iterations=200, tolerance=0), start=resumed).state
    truth = run(Exact(), graph, given).state
    assert after.iteration == 400
    assert float((renn.beliefs(graph, given, after) - truth.marginals).abs().max()) < 0.02


@pytest.mark.parametrize("name", ["renn", "gbp"])
def test_beliefs_in_what_was_just_forbidden_have_no_free_energy(name: str) -> None:
    """The sum would hold a thousand times the belief, and the curve nothing else."""
    graph = ising_grid(3, 3, field=0.5, seed=6)
    algorithm = ALGORITHMS[name]()
    state = run(algorithm, graph, graph.no_evidence(), Limits(iterations=30, tolerance=0)).state
    given = graph.evidence({4: 0})
    assert algorithm.log_partition(graph, given, state).value is None
    after = run(algorithm, graph, given, Limits(iterations=30, tolerance=0), start=state).state
    assert algorithm.log_partition(graph, given, after).value is not None


def test_infer_takes_as_many_steps_as_are_planned(tmp_path: Path) -> None:
    path = tmp_path / "grid.uai"
    write_uai(path, ising_grid(3, 3, field=1.0, seed=1))
    assert infer_file(path, "renn", parameters={"steps": 30, **SMALL})["iterations"] == 30
    assert infer_file(path, "renn", parameters=SMALL, limits={"iterations": 7})["iterations"] == 7


def test_forbidden_entries_do_not_count_as_strength() -> None:
    tables = np.log(
        np.array([[0.5, 0.0], [0.3, 0.2]]), where=np.array([[1, 0], [1, 1]], bool), out=np.full((2, 2), -np.inf)
    )
    graph = FactorGraph.from_factors([2, 2], [((0, 1), tables)])
    assert RegionEnergyNetwork().strength_of(graph, graph.no_evidence()) == 1.0
