"""The window in the Converge workspace, and what a person does there."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt

from mrfstudio.engine.protocol.commands import Command, SetSpeed
from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.engine.protocol.requests.studio import Begin
from mrfstudio.ui.graph_canvas.input import GraphCanvas
from mrfstudio.ui.workspaces.converge.view import ConvergeView
from tests.ui.helpers.studio import Studio

Left, Right = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


class Converge:
    """The workspace with what a test needs to drive it."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.qtbot = studio, studio.qtbot
        studio.window.choose_workspace("graph")
        workspace = studio.window.workspace
        assert isinstance(workspace, ConvergeView)
        self.workspace = workspace
        self.canvas: GraphCanvas = workspace.canvas
        studio.controller.ask(Begin("graph"), lambda _: workspace.on_opened())
        self.post(SetSpeed(None))
        self.settle()

    @property
    def graph(self) -> GraphFrame:
        graph = self.studio.frame.graph
        assert graph is not None
        return graph

    @property
    def hints(self) -> list[int]:
        return self.studio.frame.layers["hints"].ravel()[: self.graph.nodes].tolist()

    def post(self, *commands: Command) -> None:
        for command in commands:
            self.workspace.post(command)

    def settle(self) -> None:
        self.studio.settle()
        self.studio.until(lambda: self.workspace.questions.quiet)

    def show(self, *commands: Command) -> None:
        self.post(*commands)
        self.settle()

    def at(self, node: int) -> QPoint:
        return self.canvas.transform.to_widget(*self.graph.positions[node].tolist()).toPoint()

    def middle(self, edge: int) -> QPoint:
        first, second = self.graph.positions[self.graph.edges[edge]].tolist()
        return self.canvas.transform.to_widget((first[0] + second[0]) / 2, (first[1] + second[1]) / 2).toPoint()

    def click(self, point: QPoint, button: Qt.MouseButton = Left, alt: bool = False) -> None:
        modifier = Qt.KeyboardModifier.AltModifier if alt else Qt.KeyboardModifier.NoModifier
        self.qtbot.mouseClick(self.canvas, button, modifier, point)
        self.settle()

    def drag(self, start: QPoint, end: QPoint) -> None:
        self.qtbot.mousePress(self.canvas, Left, pos=start)
        self.qtbot.mouseMove(self.canvas, (start + end) / 2)
        self.qtbot.mouseMove(self.canvas, end)
        self.qtbot.mouseRelease(self.canvas, Left, pos=end)
        self.settle()

    def key(self, key: Qt.Key) -> None:
        self.qtbot.keyClick(self.canvas, key)
