"""The real window, driven by hand: paint, undo, step, scrub, switch and close while running, save and open."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import QEvent, QMimeData, QObject, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QImage, QStatusTipEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QDockWidget,
    QFileDialog,
    QMessageBox,
    QScrollBar,
    QWhatsThis,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mrfstudio.engine.commands import Paint, Play, SetSpeed, Step
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.models.ising import ising_grid
from mrfstudio.ui.actions import specs
from mrfstudio.ui.centre import DeedButton
from mrfstudio.ui.dialogs.picture import PictureDialog
from mrfstudio.ui.help import CommandPalette, ShortcutSheet, rank
from mrfstudio.ui.theme import Theme
from mrfstudio.ui.workspaces.converge import ConvergeWorkspace, GraphToShow
from tests.engine.pictures import small_grbm
from tests.ui.studio import Studio, studio_in


def test_the_first_start_segments_a_noisy_digit_and_says_what_to_try(studio: Studio) -> None:
    assert studio.frame.name == "glyphs 5"
    assert studio.segment.advice.text().startswith("Try it")
    assert not studio.frame.modified
    assert studio.window.badge.text.startswith("iteration limit after 15")
    assert studio.segment.curves is not None
    iterations = studio.segment.curves.curves.series.lanes[0].iterations
    assert list(iterations) == list(range(1, 16))


def test_the_pace_of_a_run_that_is_over_can_still_be_read(studio: Studio) -> None:
    studio.window._show_rates()
    assert re.fullmatch(r"last run: [1-9]\d* iterations/s", studio.window.rates.text())


def test_the_state_of_the_run_stays_readable_while_the_pointer_is_on_an_action(studio: Studio) -> None:
    QApplication.sendEvent(studio.window, QStatusTipEvent("what an action does"))
    assert studio.window.statusBar().currentMessage() == ""
    assert studio.window.badge.isVisible()


def test_a_session_is_first_saved_under_the_name_of_its_picture(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed = []
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *words: (proposed.append(Path(words[2]).name), ("", ""))[1]
    )
    studio.do("save_as")
    assert proposed == ["glyphs 5.mrfs"]


def test_a_stroke_paints_and_one_undo_takes_it_back(studio: Studio) -> None:
    before = studio.frame.layers["observed"].copy()
    studio.stroke((2, 3), (2, 10), (6, 10))
    studio.settle()
    painted = studio.frame.layers["observed"]
    assert (painted[2, 3:11] == 0).all()
    assert (painted[2:7, 10] == 0).all()
    assert studio.window.actions_["undo"].text() == "Undo brush stroke"
    assert studio.window.isWindowModified()
    studio.do("undo")
    studio.settle()
    assert np.array_equal(studio.frame.layers["observed"], before)
    studio.key(Qt.Key.Key_Z, ctrl=True, shift=True)
    studio.settle()
    assert np.array_equal(studio.frame.layers["observed"], painted)


def test_the_right_button_erases_and_a_digit_key_paints_hints(studio: Studio) -> None:
    row, column = map(int, np.argwhere(studio.frame.layers["observed"] == 0)[0])
    studio.stroke((row, column), button=Qt.MouseButton.RightButton)
    studio.key(Qt.Key.Key_3)
    studio.segment.canvas.set_strength(0.5)
    studio.stroke((15, 15), (15, 17))
    studio.settle()
    assert studio.frame.layers["observed"][row, column] == 1
    assert (studio.frame.layers["hints"][15, 15:18] == 2).all()
    assert np.allclose(studio.frame.layers["hints_strength"][15, 15:18], 0.5)


def test_one_click_adds_noise_that_one_undo_takes_away(studio: Studio) -> None:
    before = studio.frame.layers["observed"].copy()
    for name in ("Add edges", "Delete pixels"):
        button = next(each for each in studio.window.findChildren(DeedButton) if each.accessibleName() == name)
        studio.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        studio.settle()
        assert (studio.frame.layers["observed"] != before).any()
        studio.do("undo")
        studio.settle()
        np.testing.assert_array_equal(studio.frame.layers["observed"], before)


def test_stepping_forward_and_back_and_scrubbing_go_where_they_say(studio: Studio) -> None:
    studio.key(Qt.Key.Key_Period)
    studio.until(lambda: studio.frame.iteration == 16)
    later = studio.frame.lanes[0].pictures["belief"]
    studio.key(Qt.Key.Key_Comma)
    studio.until(lambda: studio.frame.iteration == 15)
    studio.segment.transport.slider.setValue(4)
    studio.until(lambda: studio.frame.iteration == 4)
    assert studio.segment.transport.counter.text().startswith("iteration 4")
    studio.segment.transport.slider.setValue(16)
    studio.until(lambda: studio.frame.iteration == 16)
    assert np.array_equal(studio.frame.lanes[0].pictures["belief"], later)


def test_a_click_on_the_strip_goes_to_that_iteration(studio: Studio) -> None:
    strip = studio.segment.strip
    studio.qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=strip.place(7).center().toPoint())
    studio.until(lambda: studio.frame.iteration == 7)
    assert studio.segment.transport.counter.text().startswith("iteration 7 ")


def test_space_plays_and_pauses(studio: Studio) -> None:
    studio.segment.post(SetSpeed(5.0))
    studio.do("restart")
    studio.until(lambda: studio.frame.playing)
    studio.key(Qt.Key.Key_Space)
    studio.until(lambda: not studio.frame.playing)
    assert studio.frame.iteration < 15
    studio.key(Qt.Key.Key_Space)
    studio.until(lambda: studio.frame.playing)


def test_single_keys_belong_to_the_canvas_alone(studio: Studio) -> None:
    box = studio.segment.panel.first.model
    box.setFocus()
    before = studio.frame.layers["observed"].copy()
    studio.qtbot.keyClick(box, Qt.Key.Key_N)
    studio.settle()
    assert np.array_equal(studio.frame.layers["observed"], before)
    studio.qtbot.keyClick(box, Qt.Key.Key_Escape)
    studio.qtbot.waitUntil(studio.segment.canvas.hasFocus)
    studio.key(Qt.Key.Key_N)
    studio.settle()
    added = (studio.frame.layers["observed"] == 0) & (before != 0)
    assert added.sum() > 3
    assert studio.frame.undo == "Add noise"


def test_comparing_adds_a_lane_with_the_other_model_and_a_difference_map(studio: Studio) -> None:
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 2 and studio.frame.iteration == 15)
    assert [lane.model for lane in studio.frame.lanes] == ["small", "other"]
    assert studio.segment.canvases.comparing
    studio.segment.panel.layers.set_shown("difference", True)
    studio.until(lambda: "difference" in studio.frame.lanes[1].pictures)
    assert studio.frame.lanes[1].pictures["difference"].max() > 0.01
    assert "difference" not in studio.segment.canvases.first.scene.visible
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 1)
    assert not studio.segment.canvases.comparing


def test_the_form_follows_undo(studio: Studio) -> None:
    form = studio.segment.panel.first.form
    form.row("damping").editor.edited.emit(0.5)  # type: ignore[attr-defined]
    studio.settle()
    assert studio.frame.lanes[0].parameters["damping"] == 0.5
    form.row("iterations").editor.edited.emit(20)  # type: ignore[attr-defined]
    studio.settle()
    assert studio.frame.limits[0] == 20
    studio.do("undo")
    studio.do("undo")
    studio.settle()
    assert form.values()["damping"] == 0
    assert form.values()["iterations"] == 15


def test_inspecting_a_pixel_lists_its_clones_and_the_gallery_is_measured(studio: Studio) -> None:
    studio.do("show_clones")
    row, column = map(int, np.argwhere(studio.frame.lanes[0].pictures["belief"].argmax(-1) == 0)[0])
    studio.segment.inspect(row, column)
    studio.until(lambda: len(studio.frame.lanes[0].details.get("clones", ())) == 4)  # type: ignore[arg-type]
    browser = studio.segment.clones.browser
    studio.qtbot.waitUntil(lambda: browser.gallery is not None, timeout=60_000)
    assert browser.gallery is not None
    assert browser.gallery.use.sum() == pytest.approx(1.0)
    studio.until(lambda: "clone" in studio.frame.lanes[0].pictures)
    clone = int(studio.frame.lanes[0].pictures["clone"][row, column])
    studio.segment.clones.keep(clone)
    assert studio.segment.canvas.scene.lit_clone == clone


def test_switching_to_a_graph_while_running_pauses_the_other(studio: Studio) -> None:
    studio.segment.post(SetSpeed(2.0))
    studio.do("restart")
    studio.until(lambda: studio.frame.playing)
    studio.window.files.open_graph(GraphToShow(ising_grid(4, 5, coupling=0.3), "ising", (4, 5)))
    # A new workspace first shows a grid of its own.
    studio.until(lambda: studio.frame.shape == (4, 5) and studio.frame.lanes[0].status == "converged")
    assert studio.frame.workspace == "graph"
    assert not studio.window.actions_["add_edges"].isEnabled()
    titles = [action.text() for action in studio.window.rail.actions() if action.data()]
    assert titles == ["Segment", "Inpaint", "Converge", "Train"]
    studio.window.show_workspace("segment")
    assert studio.frame.workspace == "segment"
    assert studio.frame.iteration < 15
    studio.until(lambda: studio.frame.iteration > 0)


def test_closing_while_running_ends_the_thread(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.segment.post(SetSpeed(1.0))
        studio.segment.post(Step(-5))
        studio.segment.post(Play())
        studio.until(lambda: studio.frame.playing)
        assert studio.window.close()
        assert not studio.window.isVisible()
        studio.qtbot.waitUntil(lambda: not studio.thread.alive)


def test_panels_keep_their_places_after_a_look_at_every_workspace(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        window = studio.window
        height = window.docks.curves.height()
        for name in ("inpaint", "graph", "train", "segment"):
            window.show_workspace(name)
        studio.settle()
        for panel in ("clones", "comparison segment"):
            window.docks.toggle(panel)
            studio.settle()
        clones = window.findChild(QDockWidget, "clones")
        assert clones is not None
        assert clones.isVisible()
        assert clones.geometry().right() < window.docks.controls.geometry().left()
        assert clones.geometry().top() == window.docks.controls.geometry().top()
        window.docks.toggle("comparison segment")
        qtbot.waitUntil(lambda: abs(window.docks.curves.height() - height) <= 2)


def test_a_look_at_train_leaves_segment_as_it_was(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.stroke((2, 2))
        studio.settle()
        before = studio.frame
        studio.window.show_workspace("train")
        qtbot.wait(300)  # long enough for the engine to step whatever it takes for the session of Train
        assert studio.controller.modified == ["segment"]
        studio.window.show_workspace("segment")
        studio.settle()
        assert studio.frame.modified
        assert studio.frame.applied >= before.applied
        studio.window.files.discard()


def test_keys_that_come_before_inpaint_has_a_picture_are_no_mistake(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.window.choose_workspace("inpaint")
        studio.inpaint.post(Paint("mask", 1, ((3.5, 3.5),), 2.0))  # at once: the engine has not begun yet
        studio.until(lambda: studio.frame.workspace == "inpaint")
        studio.settle()
        assert studio.messages == []
        assert not studio.frame.modified


def test_unsaved_work_is_asked_about(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.stroke((2, 2))
        studio.settle()
        for answer, still_open in (
            (QMessageBox.StandardButton.Cancel, True),
            (QMessageBox.StandardButton.Discard, False),
        ):
            assert not studio.window.close()
            question = studio.window.files._question
            assert question is not None
            question.button(answer).click()
            studio.qtbot.waitUntil(lambda wanted=still_open: studio.window.isVisible() == wanted)  # type: ignore[misc]


def test_unsaved_work_of_a_hidden_workspace_is_shown_and_asked_about(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.stroke((2, 2))
        studio.settle()
        studio.window.show_workspace("train")
        for answer, still_open in (
            (QMessageBox.StandardButton.Cancel, True),
            (QMessageBox.StandardButton.Discard, False),
        ):
            assert not studio.window.close()
            assert studio.controller.workspace == "segment"
            question = studio.window.files._question
            assert question is not None
            assert "in Segment" in question.text()
            assert "“glyphs 5”" in question.informativeText()
            question.button(answer).click()
            studio.qtbot.waitUntil(lambda wanted=still_open: studio.window.isVisible() == wanted)  # type: ignore[misc]


def test_a_saved_session_opens_again(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "mine.mrfs"
    studio.stroke((2, 2), (2, 9))
    studio.settle()
    painted = studio.frame.layers["observed"].copy()
    studio.window.files.save_to(path)
    studio.until(lambda: path.exists() and not studio.frame.modified)
    assert studio.window.windowTitle().startswith("mine.mrfs")
    studio.do("clear_observed")
    studio.settle()
    assert (studio.frame.layers["observed"] == 1).all()
    studio.do("undo")
    studio.settle()
    studio.window.files.save_to(path)
    studio.settle()
    studio.do("clear_observed")
    studio.settle()
    studio.window.files._open_session(path)
    studio.until(lambda: np.array_equal(studio.frame.layers["observed"], painted))
    assert studio.settings.recent[0] == path


def test_a_file_that_cannot_be_opened_leaves_a_workspace_with_something_to_see(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    graph, session = tmp_path / "empty.uai", tmp_path / "cut.mrfs"
    graph.touch()
    session.write_bytes(b"PK")
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.window.show()
        studio.window.after_first_paint(session)
        studio.thread.start()
        studio.until(lambda: studio.frame.name == "glyphs 5")
        studio.window.files.open(graph)
        studio.until(lambda: len(studio.messages) == 2 and "marginal" in studio.frame.lanes[0].pictures)
        assert studio.frame.workspace == "graph"
        assert [message.split(" ")[0].strip(":") for message in studio.messages] == [str(session), str(graph)]
        studio.window.show_workspace("segment")
        studio.settle()


def test_a_model_opens_in_the_workspace_of_its_kind(studio: Studio, tmp_path: Path) -> None:
    path, other = tmp_path / "faces.safetensors", tmp_path / "spins.safetensors"
    model = small_grbm(3, (28, 28), 12)
    save_model(path, "grbm", model.tensors(), {"hyperparameters": model.hyperparameters()})
    save_model(other, "ising", {"couplings": torch.zeros(1)}, {})
    studio.window.files.open(path)
    studio.until(lambda: studio.frame.workspace == "inpaint" and studio.frame.lanes[0].model == str(path))
    assert studio.messages == []
    said = studio.window.message_bar
    studio.window.files.open(other)
    studio.qtbot.waitUntil(lambda: "kind ising" in said.text.text())
    studio.window.files.open(tmp_path / "nothing.png")
    assert "does not exist" in said.text.text()
    (tmp_path / "picture.png").touch()
    studio.window.show_workspace("train")
    studio.window.files.open(tmp_path / "picture.png")
    assert "open it in Segment or Inpaint" in said.text.text()


def test_a_picture_file_goes_through_the_threshold_dialog(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "line.png"
    image = QImage(40, 24, QImage.Format.Format_Grayscale8)
    image.fill(255)
    for x in range(5, 35):
        image.setPixel(x, 12, 0)
    image.save(str(path))
    studio.window.files.open(path)
    dialog = QApplication.activeModalWidget()
    studio.qtbot.waitUntil(lambda: dialog.picture is not None)  # type: ignore[union-attr]
    assert (dialog.picture.observed == 0).sum() == 30  # type: ignore[union-attr]
    dialog.accept()  # type: ignore[union-attr]
    studio.until(lambda: studio.frame.shape == (24, 40))
    studio.settle()
    assert studio.frame.name == "line.png"
    studio.do("copy_command")
    assert (
        QApplication.clipboard().text() == f"mrfstudio segment {path} --model small --iterations 15 --ink dark --thin"
    )


def test_a_drawing_with_thick_lines_is_made_small_and_thin_and_the_command_says_so(
    studio: Studio, tmp_path: Path
) -> None:
    path = tmp_path / "thick.png"
    image = QImage(200, 120, QImage.Format.Format_Grayscale8)
    image.fill(255)
    for x, y in itertools.product(range(20, 180), range(50, 70)):
        image.setPixel(x, y, 0)
    image.save(str(path))
    studio.window.files.open(path)
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, PictureDialog)
    studio.qtbot.waitUntil(lambda: dialog.picture is not None)
    assert dialog.picture is not None
    assert dialog.picture.observed.shape == (24, 40)
    assert (dialog.picture.observed == 0).any(axis=1).sum() == 1  # one row of pixels is left of four
    dialog.thin.click()
    studio.qtbot.waitUntil(lambda: (dialog.picture.observed == 0).any(axis=1).sum() == 4)
    dialog.thin.click()
    studio.qtbot.waitUntil(lambda: (dialog.picture.observed == 0).any(axis=1).sum() == 1)
    dialog.accept()
    studio.until(lambda: studio.frame.name == "thick.png")
    studio.settle()
    studio.do("copy_command")
    assert QApplication.clipboard().text().endswith("--ink dark --thin --side 40")


def test_a_refused_command_is_shown_and_the_form_goes_back(studio: Studio) -> None:
    from mrfstudio.engine.commands import SetModel

    studio.segment.post(SetModel(0, "no-such-model"))
    studio.qtbot.waitUntil(lambda: bool(studio.messages))
    assert "no-such-model" in studio.messages[-1]
    assert studio.window.message_bar.isVisible()
    assert studio.segment.panel.first.model.currentData() == "small"


def test_geometry_theme_and_panels_are_remembered(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.window.show()
        studio.window.resize(900, 640)
        studio.window.docks.curves.hide()
        studio.window.set_theme("dark")
    with studio_in(qtbot, theme, tmp_path) as studio:
        assert (studio.window.width(), studio.window.height()) == (1100, 760)  # the fixture's own size comes last
        assert studio.window.docks.curves.isHidden()
        assert studio.settings.theme == "dark"
        studio.do("restore_layout")
        assert not studio.window.docks.curves.isHidden()
        studio.window.set_theme("light")


def test_every_action_is_done_by_somebody_and_no_key_is_taken_twice(studio: Studio) -> None:
    done: set[str] = set()
    for workspace in ("train", "graph", "inpaint", "segment"):
        studio.window.show_workspace(workspace)
        done |= {spec.name for _, spec in specs() if studio.window._find(spec.name) is not None}
    assert {spec.name for _, spec in specs()} == done
    keys = [key for _, spec in specs() for key in spec.keys]
    assert len(keys) == len(set(keys))


def test_every_control_explains_itself(studio: Studio) -> None:
    kinds = (QAbstractButton, QComboBox, QAbstractSlider, QAbstractSpinBox)
    own = [w for w in studio.window.findChildren(QWidget) if isinstance(w, kinds) and w.isVisible()]
    silent = [w for w in own if not w.toolTip() and not isinstance(w, QScrollBar) and "qt_" not in w.objectName()]
    assert silent == []


def test_the_palette_finds_an_action_by_a_part_of_its_name_and_runs_it(studio: Studio) -> None:
    palette = CommandPalette(studio.window.menus.every_action(), studio.window)
    palette.search.setText("spur edg")
    assert palette.results.topLevelItemCount() == 1
    studio.qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert palette.chosen is studio.window.actions_["add_edges"]
    palette.deleteLater()


def test_the_palette_names_panels_as_such_and_leaves_out_those_of_other_workspaces(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.window.choose_workspace("inpaint")
        studio.window.show_workspace("segment")
        palette = CommandPalette(studio.window.menus.every_action(), studio.window)
        items = [palette.results.topLevelItem(row) for row in range(palette.results.topLevelItemCount())]
        names = [item.text(0) for item in items if item is not None]
        assert {"Clone browser", "Panels: Clones"} <= set(names)
        assert "Clones" not in names
        assert not [name for name in names if "Gallery" in name]  # of Inpaint
        studio.settle()


def test_the_palette_also_searches_what_actions_do_and_says_when_there_is_nothing(studio: Studio) -> None:
    palette = CommandPalette(studio.window.menus.every_action(), studio.window)
    palette.show()
    palette.search.setText("noise")
    found = {palette.results.topLevelItem(row).text(0) for row in range(palette.results.topLevelItemCount())}  # type: ignore[union-attr]
    assert {"Add spurious edges", "Delete contour pixels"} <= found
    assert not palette.nothing.isVisible()
    palette.search.setText("qqqq")
    assert palette.results.topLevelItemCount() == 0
    assert palette.nothing.isVisible()
    palette.close()
    palette.deleteLater()


def test_words_that_begin_with_what_was_typed_come_first() -> None:
    names = ["Last iteration", "Step back", "Restart"]
    assert sorted(names, key=lambda name: rank("st", name) or (9, 9))[0] == "Step back"
    assert rank("xyz", "Step back") is None
    assert rank("spbk", "Step back") is not None


def test_the_sheet_lists_every_key(studio: Studio) -> None:
    sheet = ShortcutSheet(studio.window)
    shown = {label.text() for label in sheet.findChildren(QWidget) if hasattr(label, "text")}
    assert {"Undo", "Clone browser", "Compare", "Whole picture"} <= shown
    sheet.deleteLater()


def test_a_graph_with_many_states_is_shown(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "many.uai"
    path.write_text("MARKOV\n2\n11 2\n1\n2 0 1\n22\n" + " ".join(["1", "2"] * 11) + "\n", encoding="ascii")
    studio.window.files.open(path)
    studio.until(lambda: studio.frame.lanes[0].model == "many.uai" and studio.frame.lanes[0].status == "converged")
    studio.window.grab()
    graph = studio.window.workspaces["graph"]
    assert isinstance(graph, ConvergeWorkspace)
    assert len(graph.palette.states) == 10  # as many as there are digits
    assert graph.curves.histogram.labels[10] == "state 10"


def test_pictures_and_numbers_can_be_exported(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["canvas.png", "curves.png", "curves.csv", "drawing", "curves.svg", "no/x.png"]
    chosen = iter([tmp_path / name for name in names])
    monkeypatch.setattr(
        "mrfstudio.ui.export.QFileDialog.getSaveFileName", lambda *_: (str(next(chosen)), "SVG drawing (*.svg)")
    )
    studio.do("export_canvas")
    studio.do("export_curves")
    studio.do("export_curves")
    studio.do("export_canvas")
    studio.do("export_curves")
    assert "<image" in (tmp_path / "drawing.svg").read_text(encoding="utf-8")  # the ending is the chosen kind's
    curves = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert "residual" in curves  # letters stay letters
    assert "polyline" in curves
    assert QImage(str(tmp_path / "canvas.png")).width() >= 900
    assert QImage(str(tmp_path / "curves.png")).width() > 400
    lines = (tmp_path / "curves.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 16
    assert lines[0].split(",")[:2] == ["lane", "iteration"]
    studio.do("export_canvas")
    assert "cannot be written" in studio.messages[-1]


def test_a_dropped_file_opens(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "two.uai"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n2 1 1 2\n", encoding="ascii")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    where = QPointF(50, 50)
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    event = QDropEvent(where, Qt.DropAction.CopyAction, data, buttons, keys)
    studio.window.dropEvent(event)
    studio.until(lambda: studio.frame.lanes[0].model == "two.uai")
    graph = studio.frame.graph
    assert graph is not None
    assert (studio.window.workspace.title, graph.nodes) == ("Converge", 2)


def test_a_picture_can_be_dropped_without_a_file_where_pictures_mean_something(studio: Studio) -> None:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    data = QMimeData()
    data.setImageData(image)
    event = QDropEvent(
        QPointF(50, 50), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    studio.window.dropEvent(event)
    dialog = studio.window.findChild(PictureDialog)
    assert dialog is not None
    accept = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert not accept.isEnabled()  # nothing was read yet
    studio.qtbot.waitUntil(lambda: dialog.picture is not None)
    assert accept.isEnabled()
    dialog.reject()
    studio.window.choose_workspace("graph")
    studio.window.dropEvent(event)
    assert "Segment or Inpaint" in studio.window.message_bar.text.text()


def test_an_empty_clipboard_is_told_not_a_fault(studio: Studio) -> None:
    QApplication.clipboard().clear()
    studio.do("paste")
    assert "no picture in the clipboard" in studio.messages[-1]


def test_a_place_that_cannot_be_written_is_named_with_a_remedy(studio: Studio, tmp_path: Path) -> None:
    studio.window.files.save_to(tmp_path / "missing" / "a.mrfs")
    studio.qtbot.waitUntil(lambda: bool(studio.messages))
    assert studio.messages[-1].endswith("(No such file or directory): choose another place.")


def test_nothing_but_the_window_is_ever_a_window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    shown: list[QWidget] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
                shown.append(watched)
            return False

    watch = Watch()
    QApplication.instance().installEventFilter(watch)  # type: ignore[union-attr]
    try:
        with studio_in(qtbot, theme, tmp_path) as studio:
            studio.start()
            assert set(shown) == {studio.window}
    finally:
        QApplication.instance().removeEventFilter(watch)  # type: ignore[union-attr]


def test_what_is_this_has_an_answer_wherever_a_tool_tip_is(studio: Studio) -> None:
    studio.do("whats_this")
    assert QWhatsThis.inWhatsThisMode()
    QWhatsThis.leaveWhatsThisMode()
    silent = [w for w in studio.window.findChildren(QWidget) if w.toolTip() and not w.whatsThis()]
    assert silent == []
    assert "wheel zooms" in studio.segment.canvas.whatsThis()
