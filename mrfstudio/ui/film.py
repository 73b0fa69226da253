"""A saved session as an animation, without a display: `mrfstudio replay SESSION --animation FILE`."""

from __future__ import annotations

from pathlib import Path

from mrfstudio.engine.errors import StudioError
from mrfstudio.ui.headless import headless_window, wait_until
from mrfstudio.ui.workspaces.exports import Exports

SIZE = (1280, 800)
PATIENCE = 3600.0
"""Seconds that a film may take: messages that were too large to store are computed again."""


def film(session: Path, out: Path) -> None:
    """Draw the canvas of a session at every iteration, as the window would export it."""
    with headless_window(session) as window:
        window.resize(*SIZE)
        said: list[str] = []
        window.controller.message.connect(said.append)
        wait_until(lambda: bool(said) or window.files.path == session, said, PATIENCE)
        if window.files.path != session:
            raise StudioError(said[-1])
        wait_until(lambda: window.controller.answered or window.controller.newest is not None, said, PATIENCE)
        exports = next(owner for owner in window.workspace.doers() if isinstance(owner, Exports))
        ended: list[str] = []
        exports.recorder.finished.connect(ended.append)
        exports.recorder.record(out)
        wait_until(lambda: bool(ended), said, PATIENCE)
        if not ended[-1]:
            raise StudioError(said[-1])
