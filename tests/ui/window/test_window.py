"""The real window: switch and close while running, places of panels, what is remembered."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QDockWidget, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.protocol.commands import Paint, Play, SetSpeed, Step
from mrfstudio.engine.protocol.requests.converge import OpenGraph
from mrfstudio.ui.style.theme import Theme
from tests.ui.helpers.studio import Studio, studio_in


def test_switching_to_a_graph_while_running_pauses_the_other(studio: Studio) -> None:
    studio.segment.post(SetSpeed(2.0))
    studio.do("restart")
    studio.until(lambda: studio.frame.playing)
    studio.window.files.replace_by(OpenGraph(ising_grid(4, 5, coupling=0.3), "ising", (4, 5)))
    # A new workspace first shows a grid of its own.
    studio.until(lambda: studio.frame.shape == (4, 5) and studio.frame.lanes[0].status == "converged")
    assert studio.frame.workspace == "graph"
    assert not studio.window.actions_["add_edges"].isEnabled()
    titles = [action.text() for action in studio.window.rail.actions() if action.data()]
    assert titles == ["Segment", "Photograph", "Repair", "Inpaint", "Converge", "Train"]
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
        for name in ("photograph", "inpaint", "graph", "train", "segment"):
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


def test_geometry_theme_and_panels_are_remembered(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.window.show()
        studio.window.resize(900, 640)
        studio.window.docks.curves.hide()
        studio.window.appearance.set_theme("dark")
    with studio_in(qtbot, theme, tmp_path) as studio:
        assert (studio.window.width(), studio.window.height()) == (1100, 760)  # the fixture's own size comes last
        assert studio.window.docks.curves.isHidden()
        assert studio.settings.theme == "dark"
        studio.do("restore_layout")
        assert not studio.window.docks.curves.isHidden()
        studio.window.appearance.set_theme("light")


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
