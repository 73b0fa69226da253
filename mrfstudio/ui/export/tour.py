"""Renders every workspace and dialog to PNG, in both themes, without a display: `mrfstudio tour --out DIR`.

The pictures are of the real window with the real engine; the README shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from mrfstudio.engine.protocol.commands import AddLane, NewGraph, Paint, RemoveLane, SetEvidence, SetSpeed, SetStrength
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.protocol.requests.studio import Begin, ListLessons, Ping
from mrfstudio.ui.export.headless import headless_window, wait_until
from mrfstudio.ui.lessons.chooser import LessonChooser
from mrfstudio.ui.plots import loading
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.window.dialogs.common import NewDrawing, TextDialog, about_text
from mrfstudio.ui.window.help.finding import CommandPalette, ShortcutSheet
from mrfstudio.ui.window.main_window import MainWindow
from mrfstudio.ui.workspaces import view_class
from mrfstudio.ui.workspaces.converge.overviews.overviews import MAP
from mrfstudio.ui.workspaces.converge.view import ConvergeView
from mrfstudio.ui.workspaces.inpaint.crop_dialog import CropDialog
from mrfstudio.ui.workspaces.inpaint.view import InpaintView
from mrfstudio.ui.workspaces.segment.example_dialog import ExampleDialog
from mrfstudio.ui.workspaces.segment.picture_dialog import PictureDialog
from mrfstudio.ui.workspaces.segment.view import SegmentView
from mrfstudio.ui.workspaces.train.view import TrainView

SIZE = (1280, 800)
COMPARED: tuple[tuple[str, dict[str, float]], ...] = (
    ("alpha-bp", {"alpha": 0.5}),
    ("trw", {}),
    ("mean-field", {}),
)
WALKED = ("segment", "inpaint", "graph", "train")
"""Workspaces with pictures of more than their first sight."""
TRAINING_PATIENCE = 600.0
"""Seconds for the training of the tour, which gives way to everything else on the machine."""


def render(out: Path) -> list[Path]:
    """Draw all pictures into a folder and return their paths."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise StudioError(f"{out} cannot be made ({reason}): choose another folder.") from None
    paths: list[Path] = []
    with headless_window() as window:
        for theme in ("light", "dark"):
            paths += Tour(window, out, theme).all()
    return paths


class Tour:
    """All pictures of one theme."""

    training_steps: ClassVar[int] = 120

    def __init__(self, window: MainWindow, out: Path, theme: str) -> None:
        self._window, self._out, self._theme = window, out, theme
        self._messages: list[str] = []
        window.controller.message.connect(self._messages.append)
        window.resize(*SIZE)
        window.appearance.set_theme(theme)

    def all(self) -> list[Path]:
        """Draw them in an order that needs few steps between two pictures."""
        wait_until(lambda: self._window.controller.engine is not None, self._messages)
        return [
            *self._segment(),
            *self._others(),
            *self._inpaint(),
            *self._converge(),
            *self._comparison(),
            *self._lesson(),
            *self._train(),
            *self._dialogs(),
        ]

    # Workspaces -------------------------------------------------------------------------------------------------------

    def _segment(self) -> Iterator[Path]:
        window = self._window
        window.show_workspace("segment")
        workspace = window.workspace
        assert isinstance(workspace, SegmentView)
        workspace.start()
        workspace.post(SetSpeed(None))
        self._settled()
        yield self._grab(window, "segment")
        workspace.post(Paint("hints", 1, ((3.5, 24.5), (8.5, 25.5)), 1.0))
        workspace.post(Paint("hints", 2, ((11.5, 14.5), (17.5, 15.5)), 0.5))
        self._settled()
        yield self._grab(window, "segment-hints")
        with self._layers(workspace, {"entropy", "observed"}):
            yield self._grab(window, "segment-entropy")
        workspace.clones.show_clones()
        wait_until(lambda: workspace.clones.browser.gallery is not None, self._messages)
        with self._layers(workspace, {"clone", "observed"}):
            yield self._grab(window, "segment-clones")
        workspace.clones.show_clones()
        workspace.compare()
        wait_until(lambda: workspace.canvases.comparing, self._messages)
        self._settled()
        yield self._grab(window, "segment-compare")
        workspace.compare()
        wait_until(lambda: not workspace.canvases.comparing, self._messages)
        self._settled()

    def _others(self) -> Iterator[Path]:
        """Every workspace that has a session and no walk of its own here, as it opens."""
        for sign in self._window.signs:
            if view_class(sign.name).has_session and sign.name not in WALKED:
                self._window.choose_workspace(sign.name)
                self._settled()
                yield self._grab(self._window, sign.name)
        self._window.show_workspace("segment")

    def _inpaint(self) -> Iterator[Path]:
        window, engine = self._window, self._window.controller.engine
        assert engine is not None
        window.show_workspace("inpaint")
        workspace = window.workspace
        assert isinstance(workspace, InpaintView)
        if not any(note.kind in engine.kinds["inpaint"] for note in engine.models):
            yield self._grab(window, "inpaint-empty")
            return
        workspace.start()
        wait_until(lambda: window.controller.newest is not None, self._messages)
        workspace.post(SetSpeed(None))
        self._settled()
        yield self._grab(window, "inpaint")
        workspace.inspect(12, 10)
        workspace.set_wipe(0.5)
        with self._layers(workspace, {"picture", "mask", "deviation"}):
            yield self._grab(window, "inpaint-deviation")
        workspace.set_wipe(0.0)
        with self._layers(workspace, {"picture", "mask", "sample"}):
            yield self._grab(window, "inpaint-sample")
        workspace.units.show_units()
        wait_until(lambda: workspace.units.panel.gallery is not None, self._messages)
        self._settled()
        workspace.units.panel.view.hovered.emit(0)
        yield self._grab(window, "inpaint-units")
        workspace.units.show_units()
        workspace.compare()
        wait_until(lambda: workspace.canvases.comparing, self._messages)
        self._settled()
        with self._layers(workspace, {"picture", "mask", "mean", "difference"}):
            yield self._grab(window, "inpaint-compare")
        workspace.compare()
        wait_until(lambda: not workspace.canvases.comparing, self._messages)
        newest = window.controller.newest
        assert newest is not None
        crop = CropDialog(window.controller, ring(), newest.lanes[0].model, window)
        yield self._dialog(crop, "dialog-crop", lambda: crop.picture is not None)
        window.show_workspace("segment")

    def _converge(self) -> Iterator[Path]:
        window = self._window
        window.choose_workspace("graph")
        workspace = window.workspace
        assert isinstance(workspace, ConvergeView)
        window.controller.ask(Begin(workspace.name), lambda _: workspace.on_opened())
        workspace.post(SetSpeed(None))
        workspace.post(SetEvidence((22, 23, 24), 1))
        self._answered(workspace)
        yield self._grab(window, "converge")
        workspace.post(NewGraph("ring"))
        workspace.post(SetStrength("coupling", 2.0))
        self._answered(workspace)
        wait_until(lambda: workspace.canvas.picture.period is not None, self._messages)
        workspace.inspecting.inspect_factor(2)
        self._answered(workspace)
        yield self._grab(window, "converge-ring")
        workspace.dock_toggled.emit("messages")
        workspace.post(NewGraph("torus", {"rows": 8, "columns": 8}))
        workspace.dock_toggled.emit(MAP)
        wait_until(lambda: workspace.overviews.sigma.complete, self._messages)
        self._answered(workspace)
        yield self._grab(window, "converge-map")
        workspace.dock_toggled.emit(MAP)
        workspace.post(NewGraph("grid", {"rows": 100, "columns": 100}))
        self._answered(workspace)
        yield self._grab(window, "converge-large")
        window.show_workspace("segment")

    def _answered(self, workspace: ConvergeView) -> None:
        """Wait until the run rests and every question about it is answered."""
        self._settled()
        wait_until(lambda: workspace.questions.quiet, self._messages)

    def _comparison(self) -> Iterator[Path]:
        """Several algorithms on one graph, against exact inference."""
        window = self._window
        window.show_workspace("graph")
        workspace = window.workspace
        assert isinstance(workspace, ConvergeView)
        workspace.post(NewGraph("grid", {"rows": 6, "columns": 6, "seed": 3}))
        workspace.post(SetSpeed(None))
        self._settled()
        model = self._frame.lanes[0].model
        for name, parameters in COMPARED:
            workspace.post(AddLane(model, name, parameters))
        workspace.comparison_dock.show_comparison()
        self._settled()
        compared = self._frame.comparison
        wait_until(lambda: compared is not None and compared.reference == "exact", self._messages)
        yield self._grab(window, "converge-comparison")
        workspace.comparison_dock.show_comparison()
        for lane in self._frame.lanes[1:]:
            workspace.post(RemoveLane(lane.lane))
        self._settled()
        window.show_workspace("segment")

    @property
    def _frame(self) -> Frame:
        frame = self._window.controller.newest
        assert frame is not None
        return frame

    @contextmanager
    def _layers(self, workspace: SegmentView | InpaintView, names: set[str]) -> Iterator[None]:
        before = workspace.panel.layers.visible()
        workspace.panel.layers.set_visible(dict.fromkeys(names, 1.0))
        self._settled()
        yield
        workspace.panel.layers.set_visible(before)
        self._settled()

    def _train(self) -> Iterator[Path]:
        """The demonstration with so few images and steps that it takes seconds; both themes show the same run."""
        window = self._window
        window.show_workspace("train")
        workspace = window.workspace
        assert isinstance(workspace, TrainView)
        wait_until(lambda: workspace.choices is not None, self._messages)
        if not workspace.shown_run.run and workspace.choices is not None:
            first = workspace.choices.first_plan
            options = {**first.options, "count": 200, "epochs": self.training_steps / 20}
            workspace.plan.show_plan(replace(first, minutes=None, options=options), "sixteen clones")
            workspace.start_training()
            wait_until(lambda: workspace.active is not None, self._messages)
        wait_until(
            lambda: workspace.active is None and workspace.shown_run.snapshot is not None,
            self._messages,
            TRAINING_PATIENCE,
        )
        window.message_bar.hide()
        yield self._grab(window, "train")
        workspace.runs.show_runs()
        yield self._grab(window, "train-runs")
        workspace.runs.show_runs()
        window.show_workspace("segment")

    # Dialogs ----------------------------------------------------------------------------------------------------------

    def _lesson(self) -> Iterator[Path]:
        tutor = self._window.tutor
        offered: list[Sequence[Lesson]] = []
        self._window.controller.ask(ListLessons(), offered.append)
        wait_until(lambda: bool(offered), self._messages)
        titles = {sign.name: sign.title for sign in self._window.signs}
        yield self._dialog(LessonChooser(offered[0], titles, self._window), "dialog-lessons")
        ring = next(lesson for lesson in offered[0] if lesson.name == "messages-on-a-ring")
        self._window.show_workspace(ring.workspace)
        tutor.set_out(ring)
        wait_until(lambda: tutor.reached, self._messages)
        tutor.go(1)
        tutor.show_answer()
        wait_until(lambda: tutor.reached, self._messages)
        self._settled()
        yield self._grab(self._window, "lesson")
        tutor.end()

    def _dialogs(self) -> Iterator[Path]:
        window = self._window
        controller, engine = window.controller, window.controller.engine
        assert engine is not None
        picture = PictureDialog(controller, ring(), window)
        yield self._dialog(picture, "dialog-contours", lambda: picture.picture is not None)
        example = ExampleDialog(controller, engine.figures, SegmentView.first_example, window)
        yield self._dialog(example, "dialog-example", lambda: example.picture is not None)
        yield self._dialog(NewDrawing(parent=window), "dialog-new")
        yield self._dialog(ShortcutSheet(window), "dialog-shortcuts")
        palette = CommandPalette(window.menus.every_action(), window)
        palette.search.setText("step")
        yield self._dialog(palette, "dialog-palette")
        yield self._dialog(TextDialog("About MRF Studio", about_text(engine.device), window), "dialog-about")

    def _dialog(self, dialog: QDialog, name: str, ready: Callable[[], bool] = lambda: True) -> Path:
        dialog.show()
        wait_until(ready, self._messages)
        path = self._grab(dialog, name)
        dialog.close()
        dialog.deleteLater()
        return path

    # Inside -----------------------------------------------------------------------------------------------------------

    def _settled(self) -> None:
        """Wait until everything that was posted is shown and no iteration is due."""
        controller = self._window.controller
        answered: list[object] = []
        controller.ask(Ping(), answered.append)
        wait_until(lambda: bool(answered), self._messages)

        def quiet() -> bool:
            frame = controller.newest
            return frame is not None and controller.answered and not frame.playing and frame.iteration > 0

        wait_until(quiet, self._messages)

    def _grab(self, widget: QWidget, name: str) -> Path:
        wait_until(loading.built, self._messages)
        for _ in range(3):  # layouts settle in steps
            QApplication.processEvents()
        draw_plots(widget)
        path = self._out / f"{name}-{self._theme}.png"
        if not widget.grab().save(str(path)):
            raise StudioError(f"{path} could not be written: choose another folder.")
        return path


def draw_plots(widget: QWidget) -> None:
    """Plots take turns, which on a busy machine lasts longer than the picture waits: draw the visible ones now."""
    for plot in widget.findChildren(Plot):
        if plot.isVisible():
            plot.now()


def ring() -> np.ndarray:
    """A drawn ring, as grey levels, for the picture of the dialog that finds contours."""
    y, x = np.mgrid[0:90, 0:120]
    distance = np.hypot((x - 60) / 1.25, y - 45)
    return np.clip(0.15 + np.abs(distance - 30) / 4, 0, 0.95).astype(np.float32)
