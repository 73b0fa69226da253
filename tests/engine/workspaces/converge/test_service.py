"""What Converge asks besides frames: guarantee, interval of α, oscillations, the map, files for infer."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.cli import main
from mrfstudio.engine.convergence.verdict import contraction
from mrfstudio.engine.files.graphs.graph import read_graph, write_graph
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.answers import SigmaMap
from mrfstudio.engine.protocol.commands import (
    AddNode,
    NewGraph,
    Restart,
    SetAlgorithm,
    SetEvidence,
    SetLimits,
    SetParameter,
    SetStrength,
    SetView,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests import NotYet, Request
from mrfstudio.engine.protocol.requests.converge import (
    AskGuarantee,
    AskGuaranteedAlphas,
    ExportGraph,
    FindSwings,
    InferInputs,
    InferWords,
    MapSigma,
    OpenGraph,
)
from mrfstudio.engine.tasks.infer import infer_file
from mrfstudio.engine.workspaces.studio import Studio
from tests.engine.helpers.sessions import run


@pytest.fixture
def studio() -> Studio:
    return Studio({})


def ask(studio: Studio, request: Request[Any]) -> Any:
    return studio.answer("graph", request)


def worked(studio: Studio, *commands: object) -> Frame:
    session, frame = studio.session("graph"), None
    session.apply(SetLimits(200, 1e-5))
    for command in commands:
        session.apply(command)  # type: ignore[arg-type]
        frame = (run(session) or [frame])[-1]
    assert frame is not None
    assert frame.message == ""
    return frame


def test_the_guarantee_of_a_lane_is_that_of_its_graph_evidence_and_alpha(studio: Studio) -> None:
    worked(studio, NewGraph("grid", {"rows": 4, "columns": 4}), SetEvidence((5,), 1), SetParameter(0, "alpha", 0.8))
    found = ask(studio, AskGuarantee(0)).work()
    session = studio.session("graph")
    graph = session.point.lanes[0].model
    expected = contraction(graph, graph.evidence({5: 1}), 0.8)
    assert found.sigma_max == pytest.approx(expected.sigma_max.upper, rel=2e-4)
    assert found.spectral_radius == pytest.approx(expected.spectral_radius.upper, rel=2e-4)
    assert (found.norm_1, found.norm_inf) == pytest.approx((expected.norm_1, expected.norm_inf), rel=1e-5)
    assert found.guaranteed == expected.guaranteed
    assert (found.alpha, found.revision) == (0.8, session.revision)


def test_weak_couplings_are_guaranteed_and_strong_ones_are_not(studio: Studio) -> None:
    worked(studio, NewGraph("complete"), SetStrength("coupling", 0.02))
    assert ask(studio, AskGuarantee(0)).work().guaranteed
    interval = ask(studio, AskGuaranteedAlphas(0)).work()
    assert interval.low < 0.5 < 1 < interval.high
    worked(studio, SetStrength("coupling", 1.0))
    assert not ask(studio, AskGuarantee(0)).work().guaranteed
    assert ask(studio, AskGuaranteedAlphas(0)).work().high == 0


@pytest.mark.parametrize(
    ("algorithm", "parameters", "reason"),
    [("mean-field", {}, "not about mean-field"), ("bp", {"temperature": 0.0}, "maxima")],
)
def test_without_a_matrix_one_sentence_says_why(studio: Studio, algorithm: str, parameters: dict, reason: str) -> None:
    worked(studio, SetAlgorithm(0, algorithm, parameters))
    assert reason in ask(studio, AskGuarantee(0)).work().reason


def test_variables_of_three_states_have_no_matrix(studio: Studio) -> None:
    graph = FactorGraph.from_factors([3, 3], [((0, 1), np.eye(3))])
    ask(studio, OpenGraph(graph, "potts"))
    assert "two states" in ask(studio, AskGuarantee(0)).work().reason
    with pytest.raises(StudioError, match="two states"):
        ask(studio, MapSigma(0))


def test_a_ring_that_swings_is_found_and_the_advice_makes_it_converge(studio: Studio) -> None:
    frame = worked(studio, NewGraph("ring"), SetStrength("coupling", 2.0))
    assert frame.lanes[0].status == "iteration limit"
    swings = ask(studio, FindSwings(0)).work()
    assert swings.count == 10
    assert swings.commonest == 10  # round the ring of five twice: once with each sign
    assert (swings.period == 10).all()
    tip = swings.tips[0]
    assert "damping" in tip.parameters
    frame = worked(studio, *(SetParameter(0, name, value) for name, value in tip.parameters.items()))
    assert frame.lanes[0].status == "converged"
    assert worked(studio, Undo()).lanes[0].parameters["damping"] == 0


def test_where_messages_swing_what_auto_would_pick_is_offered_with_its_error(studio: Studio) -> None:
    worked(studio, NewGraph("ring"), SetStrength("coupling", 2.0))
    tip = ask(studio, FindSwings(0)).work().tips[-1]
    assert (tip.title, tip.algorithm) == ("Auto: exact", "auto")
    frame = worked(studio, SetAlgorithm(0, tip.algorithm, dict(tip.parameters)))
    assert frame.lanes[0].status == "converged"
    assert frame.lanes[0].log_partition_kind == "exact"
    assert "join tree" in frame.lanes[0].message


def test_messages_between_regions_that_do_not_settle_are_offered_the_double_loop(studio: Studio) -> None:
    worked(studio, NewGraph("grid", {"rows": 5, "columns": 5, "seed": 2}))
    frame = worked(studio, SetAlgorithm(0, "gbp", {"method": "messages"}))
    assert frame.lanes[0].status == "diverging"
    swings = ask(studio, FindSwings(0)).work()
    assert swings.count == 0
    assert [dict(tip.parameters) for tip in swings.tips] == [{"method": "double-loop"}, {}]
    assert swings.tips[1].algorithm == "auto"
    frame = worked(studio, SetParameter(0, "method", "double-loop"))
    assert frame.lanes[0].status == "converged"
    assert ask(studio, FindSwings(0)).work().tips == ()


def test_what_converges_does_not_swing(studio: Studio) -> None:
    worked(studio, NewGraph("tree"), Step(2))
    assert ask(studio, FindSwings(0)).work().count == 0


def test_the_map_comes_coarse_first_and_agrees_with_the_guarantee(studio: Studio) -> None:
    worked(studio, NewGraph("ring"), SetStrength("coupling", 1.0), SetStrength("temperature", 2.0))
    task = ask(studio, MapSigma(0))
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
    worked(studio, SetParameter(0, "alpha", alpha))
    assert last.sigma_max[row, 10] == pytest.approx(ask(studio, AskGuarantee(0)).work().sigma_max, rel=2e-3)


def test_another_map_takes_the_place_of_one_that_is_computed(studio: Studio) -> None:
    worked(studio, NewGraph("grid", {"rows": 60, "columns": 60}))
    first = ask(studio, MapSigma(0))
    next(first)
    second = ask(studio, MapSigma(0))
    assert [each for each in first if isinstance(each, SigmaMap)] == []
    second.close()


def test_files_for_infer_give_what_the_window_shows(studio: Studio, tmp_path: Path) -> None:
    commands = (NewGraph("ring"), SetEvidence((1,), 1), SetEvidence((3,), 0, 0.3))
    frame = worked(studio, *commands)
    graph, evidence = ask(studio, InferInputs(str(tmp_path / "shown")))
    result = infer_file(Path(graph), "alpha-bp", evidence_path=Path(evidence), parameters={"alpha": 1.0})
    shown = frame.lanes[0]
    view = studio.session("graph").timeline.runner.view(
        studio.session("graph").point, studio.session("graph").point.lanes[0]
    )
    assert shown.status == "converged"
    assert view is not None
    beliefs = view.model.unpack(view.beliefs)
    assert np.allclose(beliefs, result["marginals"], atol=1e-4)


def test_words_for_infer_print_what_the_window_shows(studio: Studio, capsys: pytest.CaptureFixture[str]) -> None:
    """No file of this machine is named: the line runs anywhere."""
    commands = (NewGraph("ring", {"nodes": 6}), SetStrength("coupling", 0.8), SetEvidence((1,), 1))
    frame = worked(studio, SetView(("marginal",)), *commands, SetEvidence((3,), 0, 0.3), Restart())
    words = ask(studio, InferWords(("seed", "iterations", "tolerance", *frame.lanes[0].parameters)))
    assert words == ("ring:6", "--coupling", "0.8", "--observe", "1=1,3=0@0.3")
    limits = ["--iterations", "200", "--tolerance", "1e-5"]
    # As the window's line does, every parameter of the lane: it begins with α = 1, the command with another.
    options = [word for name, value in frame.lanes[0].parameters.items() for word in (f"--{name}", str(value))]
    assert options[:2] == ["--alpha", "1.0"]
    line = ["infer", *words, "--algorithm", "alpha-bp", *options, "--precision", "32", *limits, "--json", "-"]
    assert main(line) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["iterations"] == frame.lanes[0].iteration - frame.lanes[0].base
    np.testing.assert_allclose(told["marginals"], frame.lanes[0].pictures["marginal"], atol=1e-6)
    worked(studio, AddNode(0.3, 0.3))
    (link,) = ask(studio, InferWords(())) or ()
    assert link.startswith("mrfs:1")


def test_an_untouched_file_is_its_own_input_and_a_scaled_one_is_not(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "pair.uai"
    write_graph(path, FactorGraph.ising([(0, 1)], [0.5], [0.1, 0.0]))
    ask(studio, OpenGraph(str(path)))
    assert ask(studio, InferInputs(str(tmp_path / "copy"))) == (str(path), "")
    worked(studio, SetStrength("coupling", 2.0))
    graph, _ = ask(studio, InferInputs(str(tmp_path / "copy")))
    assert Path(graph) == tmp_path / "copy.uai"
    assert float(read_graph(graph).groups[0].tables[0, 0, 0]) == pytest.approx(1.0)


def test_the_exported_graph_has_the_shown_strengths(studio: Studio, tmp_path: Path) -> None:
    worked(studio, NewGraph("ring"), SetStrength("coupling", 0.75))
    for name in ("a.uai", "a.fg"):
        ask(studio, ExportGraph(str(tmp_path / name)))
        assert float(read_graph(tmp_path / name).groups[0].tables[0, 1, 0]) == pytest.approx(0.75)
