"""The plane while a run goes on: asked for as often as the screen shows it, one question at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from mrfstudio.engine.protocol.requests.train import ReadPlane
from mrfstudio.engine.protocol.training import LivePlane, Snapshot

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.train.view import TrainView

EVERY = 33
"""Milliseconds between two questions."""


class FollowedPlane(QObject):
    """Shows the newest step between two snapshots, while the newest is what is looked at."""

    plane_shown = Signal(object)
    """Another `PlanePicture` is shown."""

    def __init__(self, workspace: TrainView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._run, self._newest = "", -1
        self._picture: LivePlane | None = None
        self._waiting = False
        self._timer = QTimer(self, interval=EVERY)
        self._timer.timeout.connect(self._ask)
        workspace.shown_run.snapshot_shown.connect(self._on_snapshot)

    def _on_snapshot(self, snapshot: Snapshot | None) -> None:
        """A snapshot of an earlier step than the plane has reached does not bring it back."""
        if snapshot is None or snapshot.plane is None:
            self._picture = None
            return
        if snapshot.run != self._run:
            self._run, self._newest, self._picture = snapshot.run, -1, None
        self._newest = max(self._newest, snapshot.step)
        if self._picture is not None and self._followed and self._picture.step > snapshot.step:
            self._show(self._picture)
        self._timer.start()

    @property
    def _followed(self) -> bool:
        workspace = self._workspace
        active = workspace.active
        return active is not None and active.run == self._run and workspace.snapshots.following

    def _ask(self) -> None:
        workspace = self._workspace
        if workspace.active is None or workspace.shown_run.run != self._run:
            self._timer.stop()
            self._picture = None
        elif self._followed and not self._waiting and workspace.controller.workspace == workspace.name:
            self._waiting = True
            run = self._run
            answered = partial(self._on_plane, run)
            workspace.controller.ask(ReadPlane(run, self._newest), answered, self._on_refusal)

    def _on_plane(self, run: str, found: LivePlane | None) -> None:
        """Show it, unless another run or an earlier step is looked at since it was asked for."""
        self._waiting = False
        if found is not None and run == self._run and self._followed and found.step > self._newest:
            self._newest, self._picture = found.step, found
            self._show(found)

    def _on_refusal(self, sentence: str) -> None:
        self._waiting = False  # the run is gone, and its end is told elsewhere

    def _show(self, found: LivePlane) -> None:
        self._workspace.stage.plane.set_picture(found.plane)
        self.plane_shown.emit(found.plane)
