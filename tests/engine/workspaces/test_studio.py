"""The engine as the window's thread sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.families.grid.clones import owned_side
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.files.images import read_labels, write_image
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.commands import ClearLayer, Paint, Scrub
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests.converge import OpenGraph
from mrfstudio.engine.protocol.requests.segment import MeasureClones, SaveLabels
from mrfstudio.engine.protocol.requests.studio import Begin, CopySession, OpenSession, SaveSession
from mrfstudio.engine.workspaces import sessions
from mrfstudio.engine.workspaces.segment import service
from mrfstudio.engine.workspaces.segment.pictures import contour_picture, figure_picture, figure_sources, shrunk
from mrfstudio.engine.workspaces.segment.service import first_example
from mrfstudio.engine.workspaces.sessions import bytes_of_past
from mrfstudio.engine.workspaces.studio import Studio


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Studio:
    monkeypatch.setattr(service, "GALLERY_IMAGES", 2)
    model = GridMRF((3, 1, 1), emission=[0.8, 0.03, 0.001])
    model.randomise(0, [0.15, 0.6, 0.25])
    return Studio({"small": model})


def finish(studio: Studio, workspace: str = "segment") -> None:
    session = studio.session(workspace)
    while session.wait is not None:
        session.advance(0.01)


def segmenting(loaded: Loaded) -> list[str]:
    return [note.name for note in loaded.models if note.kind in loaded.kinds["segment"]]


def test_the_stored_first_example_is_the_generated_one() -> None:
    stored, drawn = first_example(), figure_picture("glyphs", kind="5", seed=3)
    assert np.array_equal(stored.observed, drawn.observed)
    assert np.array_equal(stored.truth, drawn.truth)  # type: ignore[arg-type]
    assert stored.name == drawn.name


def test_the_first_picture_needs_neither_scipy_nor_pillow() -> None:
    code = """import sys
from mrfstudio.engine.protocol.requests.studio import Begin
from mrfstudio.engine.workspaces.sessions import bytes_of_past
from mrfstudio.engine.workspaces.studio import Studio
Studio().answer('segment', Begin('segment'))
print([m for m in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "'scipy'" not in done.stdout
    assert "'PIL.Image'" not in done.stdout


def test_a_new_session_shows_the_example_and_calls_it_nobodys_work(studio: Studio) -> None:
    studio.answer("segment", Begin("segment"))
    finish(studio)
    session = studio.session("segment")
    assert session.document.name == "glyphs 5"
    assert session.point.iteration > 0
    assert not session.modified
    assert session.undo.undo_title == ""


def test_sessions_that_are_not_shown_give_their_memory_back(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    studio.answer("segment", Begin("segment"))
    finish(studio)
    session = studio.session("segment")
    session.apply(Paint("hints", 1, ((2.5, 2.5),), 0.5))
    finish(studio)
    held, points = bytes_of_past(session), len(session.timeline.history.iterations)
    monkeypatch.setattr(sessions, "HIDDEN", held // 4)
    studio.keep()
    assert bytes_of_past(session) == held  # it is shown
    studio.answer("graph", Begin("graph"))
    finish(studio, "graph")
    studio.keep()
    assert bytes_of_past(session) <= held // 4
    assert len(session.timeline.history.iterations) < points
    there = session.point.iteration
    session.apply(Scrub(1))
    finish(studio)
    assert session.point.iteration == 1 < there


def test_what_was_loaded_names_models_algorithms_and_figures(studio: Studio) -> None:
    loaded = studio.load()
    assert segmenting(loaded)[0] == "small"
    assert "bp" in loaded.fitting["segment"]
    assert "exact" not in loaded.fitting["segment"]
    assert [source.name for source in loaded.figures[:2]] == ["glyphs", "shapes"]


def test_the_window_begins_with_the_model_that_the_command_prefers() -> None:
    from mrfstudio.engine.tasks.segment import default_model

    shipped = segmenting(Studio().load())
    assert shipped[0] == default_model()


def test_labels_are_saved_as_they_are_decoded(studio: Studio, tmp_path: Path) -> None:
    studio.answer("segment", Begin("segment"))
    finish(studio)
    path = studio.answer("segment", SaveLabels(str(tmp_path / "labels.png")))
    assert read_labels(path).shape == (30, 30)


def test_a_saved_session_is_no_longer_modified_and_a_snapshot_changes_nothing(studio: Studio, tmp_path: Path) -> None:
    studio.answer("segment", Begin("segment"))
    studio.session("segment").apply(Paint("observed", 0, ((3.5, 3.5),), 0.5))
    studio.answer("segment", CopySession("segment", str(tmp_path / "deeper" / "shot.mrfs")))
    assert studio.session("segment").modified
    studio.answer("segment", SaveSession("segment", str(tmp_path / "mine.mrfs")))
    assert not studio.session("segment").modified
    painted = studio.session("segment").document.layers["observed"].copy()
    studio.session("segment").apply(ClearLayer("observed"))
    assert studio.answer("segment", OpenSession(str(tmp_path / "mine.mrfs"))) == "segment"
    assert np.array_equal(studio.session("segment").document.layers["observed"], painted)


def test_a_graph_is_laid_out_as_asked(studio: Studio) -> None:
    assert studio.session("graph").document.shape == (10, 10)  # something to look at before anything was opened
    studio.answer("graph", OpenGraph(ising_grid(2, 3, coupling=0.5), "ising", (2, 3)))
    finish(studio, "graph")
    assert studio.session("graph").document.shape == (2, 3)


def test_a_gallery_is_measured_in_small_steps_and_once(studio: Studio) -> None:
    steps = 0
    task = studio.answer("segment", MeasureClones("small"))
    try:
        while True:
            next(task)
            steps += 1
    except StopIteration as end:
        gallery = end.value
    assert steps == 2 * 15
    assert gallery.use.shape == (3,)
    assert gallery.use.sum() == pytest.approx(1.0)
    chosen = gallery.use > 0
    assert np.allclose(gallery.patches[chosen].sum(-1), 1.0, atol=1e-4)
    assert gallery.potentials.shape == (4, 5, 5)
    again = studio.answer("segment", MeasureClones("small"))
    with pytest.raises(StopIteration):
        next(again)


def test_a_clone_owns_the_side_where_inside_lies() -> None:
    patches = np.zeros((2, 3, 3, 3))
    patches[0, 0, :, 2] = 1.0  # IN above
    patches[0, 2, :, 1] = 1.0  # OUT below
    angles = owned_side(patches)
    assert angles[0] == pytest.approx(np.pi / 2)
    assert np.isnan(angles[1])


def test_thin_lines_survive_when_a_picture_is_made_smaller() -> None:
    grey = np.ones((400, 300), np.float32)
    grey[:, 150] = 0.0
    picture = contour_picture(grey, longest=64)
    assert picture.observed.shape == (64, 48)
    assert (picture.observed == 0).any(axis=1).all()
    assert picture.full_size == (400, 300)


def test_the_outline_of_a_filled_figure_is_its_contour_and_its_labels_are_known(tmp_path: Path) -> None:
    grey = np.ones((20, 20), np.float32)
    grey[5:15, 5:15] = 0.0
    path = tmp_path / "square.png"
    write_image(path, grey)
    picture = contour_picture(str(path), filled=True)
    assert picture.name == "square.png"
    assert picture.truth is not None
    assert (picture.truth == 2).sum() == 100
    assert ((picture.observed == 0) == (picture.truth == 0)).all()


def test_shrinking_keeps_the_mean() -> None:
    image = np.random.default_rng(0).random((30, 40)).astype(np.float32)
    assert shrunk(image, (10, 8)).mean() == pytest.approx(image.mean(), rel=1e-5)


def test_an_unknown_figure_is_refused_with_the_known_ones() -> None:
    with pytest.raises(StudioError, match="heart"):
        figure_picture("shapes", kind="unicorn")
    assert all(source.missing == "" for source in figure_sources()[:2])


def test_a_session_that_takes_anothers_place_shows_that_its_commands_are_done(studio: Studio) -> None:
    studio.answer("graph", OpenGraph(ising_grid(2, 2), "first"))
    studio.session("graph").apply(Paint("hints", 1, ((0.5, 0.5),), 0.3), 41)
    studio.answer("graph", OpenGraph(ising_grid(2, 3), "second"))
    frame = studio.session("graph").advance(0.0)
    assert frame is not None
    assert frame.name == "second"
    assert frame.applied == 41  # a slider waits for the frame of its last edit
