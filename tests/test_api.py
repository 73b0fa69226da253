from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mrfstudio
from mrfstudio.engine.protocol.catalogue import ParameterError


def test_a_notebook_needs_three_lines() -> None:
    graph = mrfstudio.FactorGraph.ising([(0, 1), (1, 2)], [0.5, -1.0], [0.1, 0.0, 0.0])
    answer = mrfstudio.infer(graph, "bp", evidence={2: 1}, damping=0.2)
    exact = mrfstudio.infer(graph, "exact", evidence={2: 1})
    assert answer.converged
    assert answer.log_partition == pytest.approx(exact.log_partition, abs=1e-7)
    for ours, truth in zip(answer.marginals, exact.marginals, strict=True):
        np.testing.assert_allclose(ours, truth, atol=1e-7)


def test_a_wrong_parameter_names_the_near_one() -> None:
    graph = mrfstudio.ising_grid(2, 2)
    with pytest.raises(ParameterError, match="did you mean 'damping'"):
        mrfstudio.infer(graph, "bp", dampin=0.2)


def test_unknown_attributes_are_not_invented() -> None:
    with pytest.raises(AttributeError, match="no attribute 'infr'"):
        _ = mrfstudio.infr


def test_scribbles_cut_a_photograph_along_its_edges() -> None:
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:70, :90]
    figure = (rows - 35) ** 2 + (columns - 40) ** 2 < 20**2
    photo = np.where(figure[..., None], [0.8, 0.3, 0.2], [0.2, 0.5, 0.3]) + 0.15 * rng.normal(size=(70, 90, 3))
    scribbles = np.zeros((70, 90), np.uint8)
    scribbles[5, 5:80] = 1
    scribbles[33:37, 30:50] = 2
    cut = mrfstudio.segment(photo.clip(0, 1), scribbles, smoothness=3)
    assert ((cut.labels == 2) == figure).mean() > 0.99
    assert (cut.labels[scribbles > 0] == scribbles[scribbles > 0]).all()
    assert cut.beliefs.shape == (2, 70, 90)


def test_a_photograph_or_strokes_of_another_kind_are_refused() -> None:
    strokes = np.array([[1, 2]])
    with pytest.raises(ValueError, match="shape"):
        mrfstudio.segment(np.zeros((1, 2, 4)), strokes)
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        mrfstudio.segment(np.full((1, 2), 7.0), strokes)
    with pytest.raises(ValueError, match="whole numbers"):
        mrfstudio.segment(np.zeros((1, 2)), strokes / 2)


def test_every_label_needs_a_stroke() -> None:
    scribbles = np.zeros((8, 8), np.uint8)
    scribbles[0, 0] = 1
    with pytest.raises(ValueError, match="no stroke of label 2"):
        mrfstudio.segment(np.zeros((8, 8, 3)), scribbles)


def named() -> mrfstudio.FactorGraph:
    names = mrfstudio.Names(("rain", "wet"), (("no", "yes"), ("no", "yes")))
    tables = [((0,), np.log([0.8, 0.2])), ((0, 1), np.log([[0.9, 0.1], [0.2, 0.8]]))]
    return mrfstudio.FactorGraph.from_factors([2, 2], tables, names=names)


def test_variables_and_states_are_given_and_answered_by_name() -> None:
    answer = mrfstudio.infer(named(), "exact", evidence={"wet": "yes"})
    assert answer["rain"] == pytest.approx({"no": 1 / 3, "yes": 2 / 3})
    np.testing.assert_allclose(answer[0], [1 / 3, 2 / 3])
    with pytest.raises(mrfstudio.StudioError, match="did you mean rain"):
        mrfstudio.infer(named(), evidence={"rane": "yes"})
    with pytest.raises(mrfstudio.StudioError, match='no state "maybe"'):
        mrfstudio.infer(named(), evidence={"rain": "maybe"})


def test_the_history_has_every_residual_and_the_marginals_on_the_way() -> None:
    graph = mrfstudio.FactorGraph.ising([(0, 1), (1, 2), (2, 0)], [0.8, -0.5, 0.6], [0.3, 0.0, 0.0])
    answer = mrfstudio.infer(graph, "bp", tolerance=1e-6)
    history = answer.history
    assert history.residuals == answer.residuals
    assert len(history) == answer.iterations == history.iterations[-1]
    course = history.marginal(0)
    assert course.shape == (answer.iterations, 2)
    np.testing.assert_allclose(course[-1], answer.marginals[0])
    assert not np.allclose(course[0], course[-1], atol=1e-3)


def test_notebooks_show_graphs_and_answers(tmp_path: Path) -> None:
    graph = named()
    answer = mrfstudio.infer(graph, "bp")
    assert "rain" in answer._repr_html_()
    assert len(repr(answer)) < 200  # what a terminal prints
    assert "converged" in repr(answer)
    assert len(repr(answer.plot())) < 80
    assert repr(answer.history).startswith("<AnswerHistory of ")
    assert "<svg" in graph._repr_html_()
    drawn = graph.draw(answer.marginals)
    assert drawn.svg.count("<circle") == 2
    assert drawn.svg.count("<rect") == 1
    drawn.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text().startswith("<svg")
    assert answer.plot().svg.count("<path") > answer.plot("rain").svg.count("iteration")
    assert "<svg" not in mrfstudio.ising_grid(20, 20)._repr_html_()  # a line says what it is


def test_frames_where_pandas_is_installed() -> None:
    pytest.importorskip("pandas")
    frame = mrfstudio.infer(named(), "exact").to_frame()
    assert frame.columns.tolist() == ["variable", "state", "probability"]
    assert frame.probability.sum() == pytest.approx(2.0)
    residuals = mrfstudio.infer(named()).history.to_frame()
    assert residuals.index[0] == 1


def test_view_from_a_notebook_opens_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the window says which file it was given, and stays until it is closed."""
    import subprocess
    import sys

    from mrfstudio.engine.tasks import viewer

    begun: list[list[str]] = []

    def popen(words: list[str], **settings: object) -> object:
        begun.append(words)
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    monkeypatch.setattr(viewer, "subprocess", SimpleNamespace(Popen=popen, DEVNULL=subprocess.DEVNULL))
    shown = mrfstudio.view(named(), "my graph", block=False)
    assert isinstance(shown, mrfstudio.Viewer)
    assert shown.is_open
    path = Path(begun[0][-1])
    assert begun[0][1:3] == ["-m", "mrfstudio"]
    assert mrfstudio.read_graph(path).names == named().names
    shown.close()
    assert not shown.is_open
    assert not path.exists()
    assert not viewer.in_notebook()
