"""The engine as the window's thread sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.clones import owned_side
from mrfstudio.engine.commands import ClearLayer, Paint
from mrfstudio.engine.desk import Desk, first_example
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.images import read_labels, write_image
from mrfstudio.engine.models.grid import GridMRF
from mrfstudio.engine.models.ising import ising_grid
from mrfstudio.engine.pictures import contour_picture, figure_picture, figure_sources, shrunk


@pytest.fixture
def desk() -> Desk:
    model = GridMRF((3, 1, 1), emission=[0.8, 0.03, 0.001])
    model.randomise(0, [0.15, 0.6, 0.25])
    return Desk({"small": model}, figures=2)


def finish(desk: Desk, workspace: str = "segment") -> None:
    session = desk.session(workspace)
    while session.wait is not None:
        session.advance(0.01)


def test_the_stored_first_example_is_the_generated_one() -> None:
    stored, drawn = first_example(), figure_picture("glyphs", kind="5", seed=3)
    assert np.array_equal(stored.observed, drawn.observed)
    assert np.array_equal(stored.truth, drawn.truth)  # type: ignore[arg-type]
    assert stored.name == drawn.name


def test_the_first_picture_needs_neither_scipy_nor_pillow() -> None:
    code = (
        "import sys; from mrfstudio.engine.desk import Desk; Desk().begin('segment'); print([m for m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if "No grid model" in done.stderr:
        pytest.skip("no model is shipped")
    assert done.returncode == 0, done.stderr
    assert "'scipy'" not in done.stdout
    assert "'PIL.Image'" not in done.stdout


def test_a_new_session_shows_the_example_and_calls_it_nobodys_work(desk: Desk) -> None:
    desk.begin("segment")
    finish(desk)
    session = desk.session("segment")
    assert session.document.name == "glyphs 5"
    assert session.moment.iteration > 0
    assert not session.modified
    assert session.undo.undo_title == ""


def test_what_was_loaded_names_models_algorithms_and_figures(desk: Desk) -> None:
    loaded = desk.load()
    assert loaded.models[0].name == "small"
    assert "bp" in loaded.fitting["segment"]
    assert "exact" not in loaded.fitting["segment"]
    assert [source.name for source in loaded.figures[:2]] == ["glyphs", "shapes"]


def test_the_window_begins_with_the_model_that_the_command_prefers() -> None:
    from mrfstudio.engine.segment import default_model

    shipped = Desk().load().models
    if not shipped:
        pytest.skip("no model is shipped")
    assert shipped[0].name == default_model()


def test_labels_are_saved_as_they_are_decoded(desk: Desk, tmp_path: Path) -> None:
    desk.begin("segment")
    finish(desk)
    path = desk.save_labels("segment", str(tmp_path / "labels.png"))
    assert read_labels(path).shape == (30, 30)


def test_a_saved_session_is_no_longer_modified_and_a_snapshot_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.begin("segment")
    desk.session("segment").apply(Paint("observed", 0, ((3.5, 3.5),), 0.5))
    desk.snapshot("segment", str(tmp_path / "deeper" / "shot.mrfs"))
    assert desk.session("segment").modified
    desk.save_session("segment", str(tmp_path / "mine.mrfs"))
    assert not desk.session("segment").modified
    painted = desk.session("segment").document.layers["observed"].copy()
    desk.session("segment").apply(ClearLayer("observed"))
    assert desk.open_session("segment", str(tmp_path / "mine.mrfs")) == "segment"
    assert np.array_equal(desk.session("segment").document.layers["observed"], painted)


def test_a_graph_is_laid_out_as_asked(desk: Desk) -> None:
    assert desk.session("graph").document.shape == (10, 10)  # something to look at before anything was opened
    desk.open_graph("graph", ising_grid(2, 3, coupling=0.5), "ising", (2, 3))
    finish(desk, "graph")
    assert desk.session("graph").document.shape == (2, 3)


def test_a_gallery_is_measured_in_small_steps_and_once(desk: Desk) -> None:
    steps = 0
    task = desk.clone_gallery("segment", "small")
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
    again = desk.clone_gallery("segment", "small")
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
