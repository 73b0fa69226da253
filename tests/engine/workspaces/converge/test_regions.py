"""Regions of a lane as the window gets them."""

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.regions.generalized_bp import GeneralizedBP
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.session.document import blank_document
from mrfstudio.engine.workspaces.converge.regions import region_pictures
from mrfstudio.engine.workspaces.workspace import LaneView


def view_after(algorithm: Algorithm, steps: int) -> LaneView:
    graph = ising_grid(3, 3, seed=0, dtype=torch.float32)
    given = graph.no_evidence()
    state = run(algorithm, graph, given, Limits(iterations=steps, tolerance=1e-7)).state
    return LaneView(blank_document((), (3, 3), "graph"), graph, algorithm, given, state)


def test_levels_counting_numbers_and_beliefs_are_those_of_the_region_graph() -> None:
    found = region_pictures(view_after(GeneralizedBP(method="double-loop"), 300))
    assert found["region_members"].shape == (9, 4)
    assert sorted(found["region_counting"].tolist()) == [-1] * 4 + [1] * 5
    assert found["region_levels"].tolist().count(1) == 4
    assert len(found["region_edges"]) == len(found["region_gaps"]) == 4 * 2 + 4
    assert float(found["region_gaps"].max()) < 1e-8
    np.testing.assert_allclose(np.nansum(found["region_beliefs"], 1), 1, atol=1e-5)
    sizes = (found["region_members"] >= 0).sum(1)
    assert (np.isfinite(found["region_beliefs"]).sum(1) == 2**sizes).all()
    assert all(not array.flags.writeable for array in found.values())


def test_the_gaps_add_up_to_what_renn_penalises() -> None:
    renn = RegionEnergyNetwork(embedding=8)
    view = view_after(renn, 10)
    tables = renn.tables(view.model)
    beliefs = view.state.log_beliefs.exp()  # type: ignore[attr-defined]
    gap = tables.to_children(beliefs) - beliefs[tables.of_children]
    assert region_pictures(view)["region_gaps"].sum() == pytest.approx(float(gap.square().sum()), rel=1e-4)


def test_algorithms_without_regions_send_none() -> None:
    assert region_pictures(view_after(BeliefPropagation(), 3)) == {}
