"""What Converge asks besides frames: guarantee, interval of α, oscillations, the map, files for infer."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.answers import NotYet, SigmaMap
from mrfstudio.engine.commands import (
    NewGraph,
    SetAlgorithm,
    SetEvidence,
    SetLimits,
    SetParameter,
    SetStrength,
    Step,
    Undo,
)
from mrfstudio.engine.desk import Desk
from mrfstudio.engine.diagnostics.verdict import contraction
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.graph import read_graph, write_graph
from mrfstudio.engine.frames import Frame
from mrfstudio.engine.infer import infer_file
from mrfstudio.engine.models.factor_graph import FactorGraph
from tests.engine.sessions import run


@pytest.fixture
def desk() -> Desk:
    return Desk({})


def worked(desk: Desk, *commands: object) -> Frame:
    session, frame = desk.session("graph"), None
    session.apply(SetLimits(200, 1e-5))
    for command in commands:
        session.apply(command)  # type: ignore[arg-type]
        frame = (run(session) or [frame])[-1]
    assert frame is not None
    assert frame.message == ""
    return frame


def test_the_guarantee_of_a_lane_is_that_of_its_graph_evidence_and_alpha(desk: Desk) -> None:
    worked(desk, NewGraph("grid", {"rows": 4, "columns": 4}), SetEvidence((5,), 1), SetParameter(0, "alpha", 0.8))
    found = desk.guarantee("graph", 0).work()
    session = desk.session("graph")
    graph = session.moment.lanes[0].model
    expected = contraction(graph, graph.evidence({5: 1}), 0.8)
    assert found.sigma_max == pytest.approx(expected.sigma_max.upper, rel=2e-4)
    assert found.spectral_radius == pytest.approx(expected.spectral_radius.upper, rel=2e-4)
    assert (found.norm_1, found.norm_inf) == pytest.approx((expected.norm_1, expected.norm_inf), rel=1e-5)
    assert found.guaranteed == expected.guaranteed
    assert (found.alpha, found.revision) == (0.8, session.edits)


def test_weak_couplings_are_guaranteed_and_strong_ones_are_not(desk: Desk) -> None:
    worked(desk, NewGraph("complete"), SetStrength("coupling", 0.02))
    assert desk.guarantee("graph", 0).work().guaranteed
    interval = desk.guaranteed_alphas("graph", 0).work()
    assert interval.low < 0.5 < 1 < interval.high
    worked(desk, SetStrength("coupling", 1.0))
    assert not desk.guarantee("graph", 0).work().guaranteed
    assert desk.guaranteed_alphas("graph", 0).work().high == 0


@pytest.mark.parametrize(
    ("algorithm", "parameters", "reason"),
    [("mean-field", {}, "not about mean-field"), ("bp", {"temperature": 0.0}, "maxima")],
)
def test_without_a_matrix_one_sentence_says_why(desk: Desk, algorithm: str, parameters: dict, reason: str) -> None:
    worked(desk, SetAlgorithm(0, algorithm, parameters))
    assert reason in desk.guarantee("graph", 0).work().reason


def test_variables_of_three_states_have_no_matrix(desk: Desk) -> None:
    graph = FactorGraph.from_factors([3, 3], [((0, 1), np.eye(3))])
    desk.open_graph("graph", graph, "potts")
    assert "two states" in desk.guarantee("graph", 0).work().reason
    with pytest.raises(StudioError, match="two states"):
        desk.sigma_map("graph", 0)


def test_a_ring_that_swings_is_found_and_the_advice_makes_it_converge(desk: Desk) -> None:
    frame = worked(desk, NewGraph("ring"), SetStrength("coupling", 2.0))
    assert frame.lanes[0].status == "iteration limit"
    swings = desk.swings("graph", 0).work()
    assert swings.count == 10
    assert swings.commonest == 10  # round the ring of five twice: once with each sign
    assert (swings.period == 10).all()
    tip = swings.tips[0]
    assert "damping" in tip.parameters
    frame = worked(desk, *(SetParameter(0, name, value) for name, value in tip.parameters.items()))
    assert frame.lanes[0].status == "converged"
    assert worked(desk, Undo()).lanes[0].parameters["damping"] == 0


def test_messages_between_regions_that_do_not_settle_are_offered_the_double_loop(desk: Desk) -> None:
    worked(desk, NewGraph("grid", {"rows": 5, "columns": 5, "seed": 2}))
    frame = worked(desk, SetAlgorithm(0, "gbp", {"method": "messages"}))
    assert frame.lanes[0].status == "diverging"
    swings = desk.swings("graph", 0).work()
    assert swings.count == 0
    assert [dict(tip.parameters) for tip in swings.tips] == [{"method": "double-loop"}]
    frame = worked(desk, SetParameter(0, "method", "double-loop"))
    assert frame.lanes[0].status == "converged"
    assert desk.swings("graph", 0).work().tips == ()


def test_what_converges_does_not_swing(desk: Desk) -> None:
    worked(desk, NewGraph("tree"), Step(2))
    assert desk.swings("graph", 0).work().count == 0


def test_the_map_comes_coarse_first_and_agrees_with_the_guarantee(desk: Desk) -> None:
    worked(desk, NewGraph("ring"), SetStrength("coupling", 1.0), SetStrength("temperature", 2.0))
    task = desk.sigma_map("graph", 0)
    maps: list[SigmaMap] = []
    try:
        while True:
            each = next(task)
            if isinstance(each, NotYet):
                time.sleep(each.seconds)
            else:
                assert isinstance(each, SigmaMap)
                maps.append(each)
    except StopIteration as end:
        last = end.value
    sizes = [len(each.alphas) for each in maps]
    # The file of a level may have been replaced by a finer one before it is read.
    assert len(sizes) == 4
    assert sizes == sorted(sizes)
    assert set(sizes) <= {5, 9, 17, 33}
    assert sizes[-1] == 33
    assert isinstance(last, SigmaMap)
    row = int(np.flatnonzero(np.isclose(last.couplings, 1.0))[0])
    alpha = float(last.alphas[10])
    worked(desk, SetParameter(0, "alpha", alpha))
    assert last.sigma_max[row, 10] == pytest.approx(desk.guarantee("graph", 0).work().sigma_max, rel=2e-3)


def test_another_map_takes_the_place_of_one_that_is_computed(desk: Desk) -> None:
    worked(desk, NewGraph("grid", {"rows": 60, "columns": 60}))
    first = desk.sigma_map("graph", 0)
    next(first)
    second = desk.sigma_map("graph", 0)
    assert [each for each in first if isinstance(each, SigmaMap)] == []
    second.close()


def test_files_for_infer_give_what_the_window_shows(desk: Desk, tmp_path: Path) -> None:
    commands = (NewGraph("ring"), SetEvidence((1,), 1), SetEvidence((3,), 0, 0.3))
    frame = worked(desk, *commands)
    graph, evidence = desk.infer_inputs("graph", str(tmp_path / "shown"))
    result = infer_file(Path(graph), "alpha-bp", evidence_path=Path(evidence), parameters={"alpha": 1.0})
    shown = frame.lanes[0]
    view = desk.session("graph").timeline.stage.view(
        desk.session("graph").moment, desk.session("graph").moment.lanes[0]
    )
    assert shown.status == "converged"
    assert view is not None
    beliefs = view.model.unpack(view.beliefs)
    assert np.allclose(beliefs, result["marginals"], atol=1e-4)


def test_an_untouched_file_is_its_own_input_and_a_scaled_one_is_not(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "pair.uai"
    write_graph(path, FactorGraph.ising([(0, 1)], [0.5], [0.1, 0.0]))
    desk.open_graph("graph", str(path))
    assert desk.infer_inputs("graph", str(tmp_path / "copy")) == (str(path), "")
    worked(desk, SetStrength("coupling", 2.0))
    graph, _ = desk.infer_inputs("graph", str(tmp_path / "copy"))
    assert Path(graph) == tmp_path / "copy.uai"
    assert float(read_graph(graph).groups[0].tables[0, 0, 0]) == pytest.approx(1.0)


def test_the_exported_graph_has_the_shown_strengths(desk: Desk, tmp_path: Path) -> None:
    worked(desk, NewGraph("ring"), SetStrength("coupling", 0.75))
    for name in ("a.uai", "a.fg"):
        desk.export_graph("graph", str(tmp_path / name))
        assert float(read_graph(tmp_path / name).groups[0].tables[0, 1, 0]) == pytest.approx(0.75)
