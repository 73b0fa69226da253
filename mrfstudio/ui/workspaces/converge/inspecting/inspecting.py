"""What is looked at closely in Converge: a node, a factor and its messages, one message taken apart, the suspects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Qt

from mrfstudio.engine.protocol.answers import FoundLoop, MessageWork, Suspect, Suspects, Trial
from mrfstudio.engine.protocol.frames import Frame, GraphFrame, LaneFrame
from mrfstudio.engine.protocol.requests.converge import TryTips
from mrfstudio.ui.window.actions import SHOW_HOW, SHOW_MESSAGES, SHOW_SUSPECTS, ActionHandlers
from mrfstudio.ui.workspaces.converge.inspecting.how_panel import HowPanel
from mrfstudio.ui.workspaces.converge.inspecting.message_inspector import MessageInspector
from mrfstudio.ui.workspaces.converge.inspecting.suspects_panel import SuspectsPanel, axis_of, nodes_of
from mrfstudio.ui.workspaces.shared.view import ExtraDock

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.converge.view import ConvergeView

MESSAGES, HOW, SUSPECTS = "messages", "how", "suspects"


class Inspecting(QObject):
    """The panels, what they show, and which of them is there."""

    def __init__(self, workspace: ConvergeView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.messages, self.how, self.suspects = MessageInspector(), HowPanel(), SuspectsPanel()
        self.factor: int | None = None
        self.node: int | None = None
        self._shown: set[str] = set()
        for source in (self.messages, self.how):
            source.command.connect(workspace.post)
        self.messages.how.connect(lambda: self.take_apart(self.factor, 0))
        self.how.asked.connect(lambda: workspace.questions.explain(self.how.wanted if HOW in self._shown else None))
        self.suspects.chosen.connect(self._look_at)
        self.suspects.loop_chosen.connect(self._show_loop)
        self.suspects.followed.connect(workspace.follow)
        self.suspects.trials_wanted.connect(self._try)
        questions = workspace.questions
        questions.work.connect(self._on_work)
        questions.no_work.connect(self.how.show_nothing)
        questions.suspects.connect(self._on_suspects)

    # Places -----------------------------------------------------------------------------------------------------------

    def docks(self) -> list[ExtraDock]:
        right = Qt.DockWidgetArea.RightDockWidgetArea
        about_messages = "All messages of a factor, all states, over iterations. Click a line or a square."
        about_how = "One message taken apart: table, incoming messages, product, sum, normalisation."
        about_suspects = "Messages, factors and variables by what speaks against them, and what would help."
        return [
            ExtraDock(MESSAGES, "Messages", self.messages, right, about_messages),
            ExtraDock(HOW, "How was it computed?", self.how, right, about_how),
            ExtraDock(SUSPECTS, "Suspects", self.suspects, right, about_suspects),
        ]

    def action_handlers(self) -> ActionHandlers:
        toggled = self._workspace.dock_toggled
        return {
            SHOW_MESSAGES: lambda: toggled.emit(MESSAGES),
            SHOW_HOW: lambda: toggled.emit(HOW),
            SHOW_SUSPECTS: lambda: toggled.emit(SUSPECTS),
        }

    def on_dock(self, name: str, shown: bool) -> bool:
        """Whether a dock that was shown or hidden is one of these."""
        if name not in (MESSAGES, HOW, SUSPECTS):
            return False
        self._shown = self._shown | {name} if shown else self._shown - {name}
        workspace = self._workspace
        if name == MESSAGES and not shown and self.factor is not None:
            self.factor = None
            workspace.canvas.choose(self.node)
            workspace.send_view()
        elif name == HOW:
            if shown and self.how.factor is None and self.factor is not None:
                self.how.look_at(self.factor, 0, self._graph)
            workspace.questions.explain(self.how.wanted if shown else None)
        elif name == SUSPECTS:
            workspace.questions.show_suspects(shown)
        return True

    @property
    def _graph(self) -> GraphFrame | None:
        newest = self._workspace.controller.newest
        return None if newest is None else newest.graph

    # Frames -----------------------------------------------------------------------------------------------------------

    def set_frame(self, frame: Frame, lane: LaneFrame) -> None:
        self._workspace.controls.inspector.set_node(self.node, frame.graph, lane.pictures)
        if MESSAGES in self._shown:
            self.messages.set_frame(frame, lane.lane, self.factor)

    def forget(self) -> bool:
        """Another graph: nothing is looked at any more. Whether something was."""
        was = self.node is not None or self.factor is not None
        self.node = self.factor = None
        if self.how.factor is not None:
            self.how.look_at(None, 0, None)
            self._workspace.questions.explain(None)
        self.suspects.set_suspects(None, None)
        self.suspects.set_trials(())
        self._workspace.canvas.choose()
        return was

    def _on_work(self, work: MessageWork) -> None:
        if self._graph is not None:
            self.how.show_work(work, self._graph)

    def _on_suspects(self, found: Suspects | None) -> None:
        self.suspects.set_suspects(found, self._graph)

    # What is looked at ------------------------------------------------------------------------------------------------

    def inspect_node(self, node: int) -> None:
        self.node = node
        self._workspace.canvas.choose(node, self.factor)
        newest = self._workspace.controller.newest
        if newest is not None:
            self._workspace.show_controls(newest)

    def inspect_factor(self, factor: int) -> None:
        """Open the message inspector on a factor; where one of its messages is taken apart, take its own."""
        self.factor = factor
        link = self._workspace.canvas.picture.hovered_link
        self._workspace.canvas.choose(self.node, factor)
        if MESSAGES not in self._shown and HOW not in self._shown:
            self._workspace.dock_toggled.emit(MESSAGES)
        if HOW in self._shown:
            axis = 0 if link is None or self._graph is None else axis_of(link, self._graph)
            self.take_apart(factor, axis)
        self._workspace.send_view()

    def take_apart(self, factor: int | None, axis: int) -> None:
        """Show how a message was computed."""
        self.how.look_at(factor, axis, self._graph)
        if HOW not in self._shown:
            self._workspace.dock_toggled.emit(HOW)

    def _look_at(self, suspect: Suspect) -> None:
        graph, canvas = self._graph, self._workspace.canvas
        if graph is None:
            return
        nodes, factor = nodes_of(suspect, graph)
        canvas.zoom_to(nodes)
        if factor is None:
            self.inspect_node(nodes[0])
            return
        self.factor = factor
        canvas.choose(self.node, factor)
        if suspect.kind == "message" and HOW in self._shown:
            self.how.look_at(factor, axis_of(suspect.number, graph), graph)
        self._workspace.send_view()

    def _show_loop(self, loop: FoundLoop) -> None:
        self._workspace.canvas.light(np.array(loop.factors, np.int64))
        self._workspace.canvas.zoom_to(list(loop.variables))

    def _try(self) -> None:
        def refused(sentence: str) -> None:
            self.suspects.set_trials(())
            self._workspace.controller.message.emit(sentence)

        def answered(trials: tuple[Trial, ...]) -> None:
            self.suspects.set_trials(trials)

        self._workspace.controller.ask(TryTips(self._workspace.lane), answered, refused)
