"""Graphs as part of a session: sources, strengths, drawing by hand, evidence on nodes; inverses, replay and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.graphs.layouts.placing import LAYOUTS, place
from mrfstudio.engine.graphs.sketch import Strengths
from mrfstudio.engine.graphs.sources import SOURCES, GridGraph, Ring, make_source
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import (
    AddLane,
    AddNode,
    Command,
    Connect,
    DeleteParts,
    Forbid,
    MoveNode,
    NewGraph,
    Redo,
    Scrub,
    SetAlgorithm,
    SetEvidence,
    SetLayout,
    SetParameter,
    SetPart,
    SetStrength,
    SetView,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import NO_HINT, Frame
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import replayed
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from tests.engine.helpers.sessions import assert_same_point, run

EVERYTHING = SetView(("belief", "marginal", "residual"))


def converge_session(algorithm: str = "alpha-bp", source: Any = None, iterations: int = 12) -> Session:
    space, source = GraphWorkspace(), source or GridGraph(rows=3, columns=4)
    document = space.begun(source.sketch(), source.title)
    limits = Limits(iterations=iterations, tolerance=0.0)
    session = Session(space, "graph", algorithm, document=document, limits=limits, playing=False)
    session.apply(EVERYTHING)
    return session


def worked(session: Session, *commands: Command) -> Frame:
    """Apply commands, each followed by what it leads to; the last frame."""
    frame = None
    for command in commands:
        session.apply(command)
        for each in run(session):
            assert each.message == "", each.message
            frame = each
    assert frame is not None
    return frame


def same_document(session: Session, before: Any) -> bool:
    return bool(session.document.same(before))


EDITS: list[Command] = [
    NewGraph("ring", {"nodes": 9}),
    SetStrength("coupling", 1.3),
    SetStrength("temperature", 2.0),
    SetEvidence((1, 2), 1),
    SetEvidence((3,), 0, 0.4),
    AddNode(2.0, 3.0),
    Connect(0, 7),
    DeleteParts((2, 5)),
    DeleteParts((), (0, 3)),
    MoveNode(4, 9.0, -1.0),
    SetLayout("circle"),
    SetPart("node", 2, 0.7),
    SetPart("edge", 1, -2.0),
    Forbid(4, 1),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: type(edit).__name__)
def test_undo_takes_an_edit_back_and_redo_does_it_again(edit: Command) -> None:
    session = converge_session()
    worked(session, SetEvidence((5,), 1), Step(2))
    before = session.document
    worked(session, edit)
    after = session.document
    assert not after.same(before)
    worked(session, Undo())
    assert session.document.same(before) or _only_the_draw(session, before)
    worked(session, Redo())
    assert same_document(session, after)


def _only_the_draw(session: Session, before: Any) -> bool:
    """A graph that was changed by hand and changed back is the same graph, drawn by hand."""
    now = session.document.graph
    return now is not None and now.same_graph(before.graph)


def test_a_course_of_all_edits_is_replayed_bit_for_bit_and_from_a_file(tmp_path: Path) -> None:
    session = converge_session()
    for edit in EDITS:
        worked(session, edit, Step(2))
    worked(session, AddLane("graph", "bp"), Step(3), Undo(), Step(1))
    timeline = session.timeline
    again = replayed(timeline.runner, timeline.origin, timeline.log, session.point.iteration)
    assert_same_point(again, session.point)
    path = save_session(session, tmp_path / "a.mrfs")
    opened = load_session(path)
    assert_same_point(opened.point, session.point)
    assert opened.document.graph is not None
    worked(opened, Scrub(1))
    worked(session, Scrub(1))
    assert_same_point(opened.point, session.point)


def test_a_stronger_coupling_scales_the_same_draw_and_goes_on_from_the_messages() -> None:
    session = converge_session()
    worked(session, Step(5))
    weak = session.point.lanes[0]
    worked(session, SetStrength("coupling", 1.0), SetStrength("temperature", 0.5))
    lane = session.point.lanes[0]
    graph = session.document.graph
    assert graph is not None
    expected = FactorGraph.ising(graph.edges, 2 * graph.couplings, 0.2 * graph.fields, dtype=torch.float32)
    assert torch.allclose(lane.model.groups[0].tables, expected.groups[0].tables)
    assert torch.allclose(lane.model.unary, expected.unary)
    assert lane.state is weak.state
    assert lane.iteration == 5
    assert worked(session, Step(1)).iteration == 6


def test_a_dragged_slider_is_one_step_of_undo() -> None:
    session = converge_session()
    for value in (0.6, 0.7, 0.9):
        worked(session, SetStrength("coupling", value, gesture=8))
    worked(session, Undo())
    assert session.document.graph is not None
    assert session.document.graph.strengths == Strengths()


def test_moving_a_node_changes_no_message_and_no_model() -> None:
    session = converge_session()
    worked(session, Step(3))
    before = session.point.lanes[0]
    frame = worked(session, MoveNode(0, 5.0, 6.0))
    assert session.point.lanes[0] is before
    assert frame.graph is not None
    assert frame.graph.positions[0].tolist() == [5.0, 6.0]


def test_evidence_of_nodes_that_stay_survives_adding_and_deleting_nodes() -> None:
    session = converge_session(source=Ring(nodes=6))
    worked(session, SetEvidence((4,), 1), SetEvidence((5,), 0), AddNode(0, 0), DeleteParts((1,)))
    hints = session.document.layers["hints"].ravel()
    assert hints[:6].tolist() == [NO_HINT, NO_HINT, NO_HINT, 1, 0, NO_HINT]
    marginal = worked(session, Step(1)).lanes[0].pictures["marginal"]
    assert marginal[3].tolist() == [0.0, 1.0]
    assert marginal[4].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_graph_for_the_same_seed_and_iterates(name: str) -> None:
    one, two = make_source(name, {}).sketch(), make_source(name, {}).sketch()
    assert one.same(two)
    session = converge_session()
    frame = worked(session, NewGraph(name), Step(2))
    assert frame.graph is not None
    assert frame.graph.source == name
    assert frame.lanes[0].pictures["marginal"].shape == (one.nodes, 2)
    assert np.isfinite(frame.lanes[0].pictures["marginal"]).all()


@pytest.mark.parametrize("algorithm", ["bp", "alpha-bp", "trw"])
def test_residuals_by_direction_have_the_lane_s_residual_as_their_largest(algorithm: str) -> None:
    session = converge_session(algorithm)
    if algorithm == "trw":  # which otherwise goes further than the step whose change the residual is
        worked(session, SetParameter(0, "memory", 0))
    frame = worked(session, SetParameter(0, "damping", 0.0), Step(3))
    lane = frame.lanes[0]
    assert frame.graph is not None
    assert lane.pictures["residual"].shape == (len(frame.graph.edges), 2)
    # A message of α-BP keeps 1 - α of the old one, as damping would; the residual is that of the whole step.
    kept = lane.parameters.get("alpha", 1.0)
    assert lane.pictures["residual"].max() / kept == pytest.approx(lane.residual, abs=1e-6)


def test_the_residual_of_a_direction_is_that_of_the_message_to_that_node() -> None:
    """On a path 0–1 with a field on node 0 alone, the first step tells node 1 something and node 0 nothing."""
    session = converge_session(source=Ring(nodes=2))
    worked(session, SetPart("node", 0, 5.0), SetPart("node", 1, 0.0), SetStrength("field", 1.0))
    frame = worked(session, Step(1))
    to_first, to_second = frame.lanes[0].pictures["residual"][0]
    assert frame.graph is not None
    assert frame.graph.edges[0].tolist() == [0, 1]
    assert to_first == 0
    assert to_second > 0.1


def test_the_messages_of_an_edge_are_traced_over_iterations() -> None:
    session = converge_session("bp")
    session.apply(SetView(EVERYTHING.layers, factor=2))
    trace = worked(session, Step(4)).lanes[0].trace
    assert trace is not None
    assert trace.iterations.tolist() == [1, 2, 3, 4]
    assert trace.to[0].shape == trace.to[1].shape == trace.back[0].shape == (4, 2)
    assert (trace.to[0][1:] != trace.to[0][:-1]).any()
    assert np.allclose(trace.to[0].sum(1), 1)
    generic = converge_session("alpha-bp")
    worked(generic, SetAlgorithm(0, "alpha-bp", {"alpha": 1.0}))
    generic.apply(SetView(EVERYTHING.layers, factor=2))
    other = worked(generic, Step(4)).lanes[0].trace
    assert other is not None
    assert np.allclose(other.to[1], trace.to[1], atol=1e-5)  # α = 1 is BP, whatever holds its messages


def test_an_algorithm_without_messages_has_no_trace() -> None:
    session = converge_session("mean-field")
    session.apply(SetView(EVERYTHING.layers, factor=0))
    frame = worked(session, Step(1))
    assert frame.lanes[0].trace is None
    assert "residual" not in frame.lanes[0].pictures


def refused(session: Session, command: Command) -> str:
    before = session.point
    session.apply(command)
    messages = [frame.message for frame in run(session)]
    assert session.point is before
    return "".join(messages)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (Connect(0, 0), "itself"),
        (Connect(0, 1), "already"),
        (Connect(0, 99), "no node 99"),
        (DeleteParts(tuple(range(12))), "at least one node"),
        (DeleteParts((), (99,)), "no edge 99"),
        (MoveNode(-1, 0, 0), "no node -1"),
        (AddNode(float("nan"), 0), "stand at"),
        (SetStrength("coupling", -1), "coupling is -1"),
        (SetStrength("warmth", 1), "no parameter 'warmth'"),
        (NewGraph("spiral"), "no graph source"),
        (NewGraph("ring", {"nodes": 0}), "nodes is 0"),
        (NewGraph("erdos-renyi", {"nodes": 3000, "probability": 1.0}), "edges"),
        (SetLayout("nowhere"), "no layout"),
        (SetEvidence((99,), 0), "node 99"),
        (SetEvidence((0,), 2), "state 2"),
        (SetPart("edge", 99, 1.0), "no edge 99"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_done_is_refused_in_a_sentence_and_changes_nothing(command: Command, sentence: str) -> None:
    assert sentence in refused(converge_session(), command)


def test_a_graph_too_large_for_an_algorithm_is_refused_with_one_that_can() -> None:
    session = converge_session("exact")
    sentence = refused(session, NewGraph("grid", {"rows": 60, "columns": 60}))
    assert "memory" in sentence
    assert "use bp" in sentence


def test_a_file_s_graph_is_scaled_and_moved_but_not_drawn_on() -> None:
    space = GraphWorkspace({"ising": ising_grid(3, 3, coupling=0.5)})
    limits = Limits(iterations=5, tolerance=0.0)
    session = Session(space, "ising", document=space.of_file("ising"), limits=limits, playing=False)
    base = session.point.lanes[0].model
    worked(session, SetStrength("coupling", 2.0), MoveNode(0, 4.0, 4.0), Step(2))
    assert torch.allclose(session.point.lanes[0].model.groups[0].tables, 2 * base.groups[0].tables)
    assert "came from a file" in refused(session, AddNode(0, 0))
    worked(session, NewGraph("ring"), Undo())
    graph = session.document.graph
    assert graph is not None
    assert graph.is_file
    assert session.point.lanes[0].model.variables == 9


def test_factors_of_three_variables_are_stars() -> None:
    tables = [((0, 1, 2), np.zeros((2, 2, 2))), ((2, 3), np.ones((2, 2)))]
    space = GraphWorkspace({"third": FactorGraph.from_factors([2, 2, 2, 2], tables)})
    session = Session(space, "third", document=space.of_file("third"), playing=False)
    session.apply(EVERYTHING)
    frame = worked(session, Step(1))
    assert frame.graph is not None
    assert frame.graph.stars.tolist() == [[0, 0], [0, 1], [0, 2]]
    assert frame.graph.edges.tolist() == [[2, 3]]
    assert frame.lanes[0].pictures["star_residual"].shape == (3,)
    assert frame.graph.degrees.tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_place_every_node_apart_from_the_others(layout: str) -> None:
    sketch = make_source("tree", {"nodes": 12}).sketch()
    positions = place(layout, sketch.nodes, sketch.edges)
    assert positions.shape == (12, 2)
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2) + 9 * np.eye(12)
    assert apart.min() > 0.05
    assert positions.min() >= 0.49


def test_a_layout_too_slow_for_a_large_graph_is_refused_with_one_that_is_not() -> None:
    with pytest.raises(StudioError, match="lattice, circle and spiral"):
        place("kamada-kawai", 5000, np.zeros((0, 2), np.int64))
