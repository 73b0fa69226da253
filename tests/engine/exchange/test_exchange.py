"""Graphs to networkx, pgmpy and PGMax and back, with the real packages where they are installed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mrfstudio
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.protocol.errors import StudioError


def three_way() -> FactorGraph:
    """Factors of order 1 to 3, different numbers of states, a forbidden entry, names."""
    rng = np.random.default_rng(4)
    cards = [2, 3, 2, 2]
    factors = [(s, rng.normal(size=[cards[v] for v in s])) for s in [(0,), (0, 1), (1, 2, 3), (3, 0)]]
    factors[2][1][0, 1, 0] = -np.inf
    names = Names(("a", "b", "c", "d"), (("no", "yes"), ("x", "y", "z"), ("no", "yes"), ("no", "yes")))
    return FactorGraph.from_factors(cards, factors, names=names)


def same_answers(mine: FactorGraph, theirs: FactorGraph) -> None:
    order = [theirs.number_of(name) for name in ("a", "b", "c", "d")]
    answers = mrfstudio.infer(mine, "exact"), mrfstudio.infer(theirs, "exact")
    for variable, other in enumerate(order):
        np.testing.assert_allclose(answers[0].marginals[variable], answers[1].marginals[other], atol=1e-9)


def test_a_bipartite_networkx_graph_is_the_same_graph() -> None:
    graph = three_way()
    given = mrfstudio.to_networkx(graph)
    assert sorted(given.neighbors(("factor", 1))) == ["b", "c", "d"]
    again = mrfstudio.from_networkx(given)
    assert again.names == graph.names
    same_answers(graph, again)
    exact = [mrfstudio.infer(each, "exact").log_partition for each in (graph, again)]
    assert exact[0] == pytest.approx(exact[1])


def test_a_weighted_networkx_graph_is_an_ising_model() -> None:
    import networkx as nx

    given = nx.cycle_graph(4)
    nx.set_edge_attributes(given, {(0, 1): -0.5}, "weight")
    nx.set_node_attributes(given, {2: 0.3}, "field")
    graph = mrfstudio.from_networkx(given)
    expected = FactorGraph.ising(list(given.edges), [-0.5, 1, 1, 1], [0, 0, 0.3, 0])
    for mine, theirs in zip(
        mrfstudio.infer(graph, "exact").marginals, mrfstudio.infer(expected, "exact").marginals, strict=True
    ):
        np.testing.assert_allclose(mine, theirs)
    named = mrfstudio.from_networkx(nx.relabel_nodes(given, {0: "north"}))
    assert named.number_of("north") == 0
    given.add_node("odd", kind="factor")
    with pytest.raises(StudioError, match="no scope or no log_table"):
        mrfstudio.from_networkx(given)


@pytest.mark.filterwarnings("default")  # those of the packages themselves
def test_pgmpy_gives_the_same_marginals_and_its_files_are_read(tmp_path: Path) -> None:
    pytest.importorskip("pgmpy")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import BIFWriter, XMLBIFWriter

    graph = three_way()
    network = mrfstudio.to_pgmpy(graph)
    assert network.check_model()
    told = VariableElimination(network).query(["b"], show_progress=False)
    told.normalize()  # of a Markov network it gives weights
    answer = mrfstudio.infer(graph, "exact")["b"]
    assert {state: told.get_value(b=state) for state in ("x", "y", "z")} == pytest.approx(answer)
    same_answers(graph, mrfstudio.from_pgmpy(network))

    bayes = DiscreteBayesianNetwork([("rain", "wet"), ("sprinkler", "wet")])
    bayes.add_cpds(
        TabularCPD("rain", 2, [[0.8], [0.2]], state_names={"rain": ["no", "yes"]}),
        TabularCPD("sprinkler", 3, [[0.5], [0.3], [0.2]], state_names={"sprinkler": ["off", "low", "high"]}),
        TabularCPD(
            "wet", 2, [[0.9, 0.5, 0.3, 0.2, 0.1, 0.0], [0.1, 0.5, 0.7, 0.8, 0.9, 1.0]], ["rain", "sprinkler"], [2, 3],
            state_names={"wet": ["dry", "wet"], "rain": ["no", "yes"], "sprinkler": ["off", "low", "high"]},
        ),
    )  # fmt: skip
    truth = VariableElimination(bayes).query(["sprinkler"], evidence={"wet": "wet"}, show_progress=False)
    expected = {state: truth.get_value(sprinkler=state) for state in ("off", "low", "high")}
    BIFWriter(bayes).write_bif(str(tmp_path / "net.bif"))
    XMLBIFWriter(bayes).write_xmlbif(str(tmp_path / "net.xmlbif"))
    for given in (
        mrfstudio.from_pgmpy(bayes),
        mrfstudio.read_graph(tmp_path / "net.bif"),
        mrfstudio.read_graph(tmp_path / "net.xmlbif"),
    ):
        found = mrfstudio.infer(given, "exact", evidence={"wet": "wet"})["sprinkler"]
        assert found == pytest.approx(expected, abs=1e-4)  # its BIF has a few digits only


def has_pgmax() -> None:
    """Skip where PGMax is not installed; tell it of the backend that it asks current JAX for in vain."""
    jax = pytest.importorskip("jax")
    if not hasattr(jax.lib, "xla_bridge"):
        jax.lib.xla_bridge = SimpleNamespace(get_backend=lambda: SimpleNamespace(platform="cpu"))
    pytest.importorskip("pgmax")


@pytest.mark.filterwarnings("default")
def test_pgmax_gives_the_same_beliefs() -> None:
    has_pgmax()
    from pgmax import infer

    rng = np.random.default_rng(1)
    cards = [2, 5, 3, 2, 6, 2]
    scopes = [(0, 1, 2), (1,), (3, 2), (4, 3, 5), (2, 3), (5,)]  # a tree: two factors share one pair
    tables = [rng.normal(size=[cards[v] for v in scope]) for scope in scopes]
    tables[0][1, 3, 0] = tables[3][2, 0, 1] = -np.inf
    graph = FactorGraph.from_factors(cards, list(zip(scopes, tables, strict=True)))
    exact = mrfstudio.infer(graph, "exact")
    made, variables = mrfstudio.to_pgmax(graph)
    bp = infer.build_inferer(made.bp_state, backend="bp")
    arrays = bp.run(bp.init(), num_iters=50, damping=0.0, temperature=1.0)
    marginals = np.asarray(infer.get_marginals(bp.get_beliefs(arrays))[variables])
    for mine, theirs, states in zip(exact.marginals, marginals, cards, strict=True):
        np.testing.assert_allclose(theirs[:states], mine, atol=1e-4)
    again = mrfstudio.infer(mrfstudio.from_pgmax(made), "exact")
    for mine, theirs in zip(exact.marginals, again.marginals, strict=True):
        np.testing.assert_allclose(theirs, mine, atol=1e-6)
    assert again.log_partition == pytest.approx(exact.log_partition, abs=1e-5)


@pytest.mark.filterwarnings("default")
def test_a_graph_made_with_pgmax_is_read_and_one_with_gates_is_refused() -> None:
    has_pgmax()
    from pgmax import factor, fgraph, fgroup, vgroup

    grid = vgroup.NDVarArray(num_states=3, shape=(2, 2))
    made = fgraph.FactorGraph(variable_groups=[grid])
    pairs = [[grid[0, 0], grid[0, 1]], [grid[0, 0], grid[1, 0]], [grid[1, 0], grid[1, 1]]]
    table = np.array([[1.0, 0.2, -1.0], [0.0, 0.5, 0.3], [-0.4, 0.1, 0.9]])
    made.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=table))
    expected = FactorGraph.from_factors([3] * 4, [((0, 1), table), ((0, 2), table), ((2, 3), table)])
    answers = [mrfstudio.infer(each, "exact").marginals for each in (mrfstudio.from_pgmax(made), expected)]
    for mine, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)

    bits = vgroup.NDVarArray(num_states=2, shape=(3,))
    gates = fgraph.FactorGraph(variable_groups=[bits])
    gates.add_factors(factor.logical.ORFactor(variables=[bits[0], bits[1], bits[2]]))
    with pytest.raises(StudioError, match="only enumerated factors"):
        mrfstudio.from_pgmax(gates)


def test_a_missing_package_is_asked_for_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("pgmpy", "pgmpy.models", "pgmax", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    graph = three_way()
    with pytest.raises(StudioError, match="pip install pgmpy"):
        mrfstudio.to_pgmpy(graph)
    with pytest.raises(StudioError, match="pip install pgmax"):
        mrfstudio.to_pgmax(graph)
    with pytest.raises(StudioError, match="pip install pandas"):
        mrfstudio.infer(graph).to_frame()
