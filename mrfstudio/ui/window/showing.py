"""What the shown workspace gives to others: a stage for a hall, figures for paper, a page for the web."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QPainter

from mrfstudio.engine.protocol.requests.studio import CopySession, ExportPage, Typeset
from mrfstudio.engine.protocol.words import Words
from mrfstudio.ui.canvas.surface import Surface
from mrfstudio.ui.export.pictures import Drawing, ask_path
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import LIGHT
from mrfstudio.ui.style.theme import palette_of
from mrfstudio.ui.window.actions import EXPORT_FIGURE, EXPORT_PAGE, PRESENT, ActionHandlers
from mrfstudio.ui.window.dialogs.common import show_dialog
from mrfstudio.ui.window.stage import KEYS, SLIDE_KEYS, Stage

if TYPE_CHECKING:
    from mrfstudio.ui.export.paper import Paper
    from mrfstudio.ui.window.main_window import MainWindow

HTML = "Web page (*.html)"


class Showing(QObject):
    """Methods are named like the actions they do."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.stage: Stage | None = None

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here, where the workspace has what they need."""
        workspace = self._window.workspace
        found: ActionHandlers = {EXPORT_FIGURE: self.export_figure}
        if workspace.has_session:
            found = {**found, EXPORT_PAGE: self.export_page}
        if workspace.can_be_staged:
            found = {**found, PRESENT: self.present}
        return found

    # A stage ----------------------------------------------------------------------------------------------------------

    def present(self) -> None:
        """Show canvas and plots large, on the whole screen; again or Esc ends it."""
        if self.stage is not None:
            self.stage.close_stage()
            return
        window, workspace = self._window, self._window.workspace
        canvas = workspace.stage_canvas()
        if canvas is None:
            return
        actions, tutor = window.actions_, window.tutor
        keys = {" ": "play_pause", ".": "step", ",": "step_back", "<": "slower", ">": "faster"}
        by_letter = {letter: actions[name].trigger for letter, name in keys.items() if actions[name].isEnabled()}
        slide = tutor.slide() if tutor.guide.isVisible() else None
        plots = [plot.twin() for plot in self.plots(hidden=True)]
        stage = self.stage = Stage(canvas, plots, slide, by_letter, window.theme.scale)
        stage.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        stage.dress(window.theme.colours.name == "dark")
        window.controller.frame.connect(stage.set_frame)
        stage.typed_in.connect(self._typeset)
        stage.went.connect(tutor.go)
        stage.answer_wanted.connect(tutor.show_answer)
        stage.picked.connect(tutor.pick)
        if isinstance(canvas, Surface):  # a hand on the stage does what it does in the window
            canvas.command.connect(workspace.post)
            window.controller.posted.connect(canvas.posted)
            stage.slide.symbol_hovered.connect(lambda pointed: workspace.light_symbol(pointed, canvas, stage))
        tutor.changed.connect(self._turn)
        stage.left.connect(self._left)
        if window.controller.newest is not None:
            stage.set_frame(window.controller.newest)
        stage.setToolTip("")
        stage.setGeometry(window.screen().geometry())  # where no window manager makes it fill the screen
        stage.showFullScreen()
        stage.setFocus()
        stage.show_key(KEYS if slide is None else SLIDE_KEYS)

    def _left(self) -> None:
        stage, self.stage = self.stage, None
        if stage is not None:
            self._window.controller.frame.disconnect(stage.set_frame)
            self._window.tutor.changed.disconnect(self._turn)
            if isinstance(stage.canvas, Surface):
                self._window.controller.posted.disconnect(stage.canvas.posted)
            self._window.workspace.leave_stage()

    def _turn(self) -> None:
        """The lesson goes on."""
        if self.stage is not None:
            self.stage.set_slide(self._window.tutor.slide())

    def _typeset(self, text: str) -> None:
        """Bring the formulas of a typed caption."""
        stage = self.stage

        def found(words: tuple[Words, ...]) -> None:
            if stage is self.stage and stage is not None and stage.caption.text() == text:
                stage.set_words(words[0])

        if text:
            self._window.controller.ask(Typeset((text,)), found)

    def plots(self, hidden: bool = False) -> list[Plot]:
        """The plots of the panel below that are shown; with `hidden` those that have nothing to show yet, too."""
        panel = self._window.curves.currentWidget()
        return [] if panel is None else [plot for plot in panel.findChildren(Plot) if hidden or not plot.isHidden()]

    def plots_of_pages(self) -> list[tuple[str, Plot]]:
        """The plots of all pages that are open in the middle, each with a name that says where it stands."""
        pages = self._window.workspace.pages
        found: list[tuple[str, Plot]] = []
        for title, page in () if pages is None else pages.titled():
            for plot in page.findChildren(Plot):
                if plot.content.anything and not plot.isHidden():
                    name = plot.content.title or "plot"
                    found.append((f"{name}, {'enlarged' if name == title else f'on page “{title}”'}", plot))
        return found

    # A page -----------------------------------------------------------------------------------------------------------

    def export_page(self) -> None:
        """Ask where to, and write the run as one HTML file while everything goes on."""
        window = self._window
        name = Path(window.controller.newest.name).stem if window.controller.newest is not None else "run"
        path = ask_path(window, window.settings, "Export web page", f"{name or 'run'}.html", [HTML])
        if path is None:
            return
        lesson = window.tutor.lesson
        text = (
            () if lesson is None else tuple(line for step in lesson.steps for line in (step.say, step.praise) if line)
        )
        title = name if lesson is None else lesson.title
        window.say("Writing the page: every iteration is computed again…")
        request = ExportPage(window.controller.workspace, str(path), title, text)
        window.controller.ask(request, lambda size: window.say(f"Written: {path}, {size / 1e6:.2f} MB."))

    # A figure ---------------------------------------------------------------------------------------------------------

    def export_figure(self) -> None:
        """Ask what goes into the figure and how it is to look, then write it."""
        from mrfstudio.ui.export.figure_dialog import FigureDialog

        window, offered = self._window, self.plots_of_pages()
        plots = [plot for plot in self.plots() if plot.content.anything]
        command = self._keep_session if window.workspace.has_session else None
        drawing = self.canvas_on_paper()
        show_dialog(FigureDialog(plots, drawing, window.settings, window.say, window, command, offered))

    def canvas_on_paper(self) -> Drawing | None:
        """What the canvas shows, in light colours whatever the window's."""
        workspace = self._window.workspace
        drawing, pages = workspace.canvas_drawing(), workspace.pages
        if drawing is None or pages is None:
            return drawing

        def paint(painter: QPainter) -> None:
            canvases = {pages.canvas, *pages.canvas.findChildren(Surface)}  # a style sheet keeps palettes from children
            kept = {canvas: canvas.palette() for canvas in canvases}
            for canvas in canvases:
                canvas.setPalette(palette_of(LIGHT))
            try:
                drawing.paint(painter)
            finally:
                for canvas, before in kept.items():
                    canvas.setPalette(before)

        return replace(drawing, paint=paint, paper=LIGHT.paper)

    def _keep_session(self, path: Path, paper: Paper, plots: Sequence[Plot], canvas: QSize | None) -> str:
        """Keep the session beside a figure, and say how it is drawn again from it."""
        from mrfstudio.ui.export.recipe import options_of

        session, own = path.with_suffix(".mrfs"), self.plots()
        self._window.controller.ask(CopySession(self._window.controller.workspace, str(session)), lambda _: None)
        options = options_of(paper, [plot for plot in plots if plot in own], canvas)
        line = shlex.join(["mrfstudio", "replay", session.name, "--figure", path.name, *options])
        left = [plot.content.title or "a plot" for plot in plots if plot not in own]
        return (
            line if not left else f"{line}\n# Without {', '.join(left)}: what stands on a page, the window alone draws."
        )
