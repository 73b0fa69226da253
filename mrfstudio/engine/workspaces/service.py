"""What a workspace is to the engine: its sessions, its first example, and the answers to its questions.

A workspace is one folder here, with `WORKSPACES = ("name",)` in its `__init__.py` and one registered `Service` in
`service.py`. Other packages bring one by an entry point of the group `mrfstudio.workspaces`, whose value is a package
with the modules `service` (this side) and `view` (the window's side).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mrfstudio.engine.protocol.answers import Loaded, ModelNote
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Route
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.workspace import Workspace

if TYPE_CHECKING:
    from mrfstudio.engine.workspaces.sessions import Sessions


class Service:
    """Base of all workspaces' services. One thread uses them."""

    name: ClassVar[str]
    restores: ClassVar[type[Workspace] | None] = None
    """What a saved session of this workspace is restored with; None where there is nothing to save."""

    def __init__(self, sessions: Sessions, models: Mapping[str, Any]) -> None:
        """`models` by name are used beside the shipped ones."""
        self.sessions = sessions

    def routes(self) -> Iterable[Route]:
        """The questions that it answers: `yield OpenGraph.by(self.open_graph)`."""
        return ()

    def loaded(self, so_far: Loaded) -> Loaded:
        """What the window is told at the start, with what this workspace adds: its models and algorithms."""
        return so_far

    def session(self) -> Session:
        """The session, made where there is none yet."""
        if self.name not in self.sessions:
            self.begin()
        return self.sessions[self.name]

    def begin(self) -> str:
        """Show the first example, as something to look at rather than as somebody's work; returns its name."""
        raise StudioError(f"The workspace {self.name!r} has no session.")

    @classmethod
    def shipped_arrays(cls, name: str) -> dict[str, np.ndarray]:
        """Arrays of a session file that every copy of the program has, by the name of the example that is shown."""
        return {}

    def workspace(self) -> Workspace | None:
        """What opens saved sessions with models that are in memory already, if there is such a one."""
        return None

    def describe(self, model: str) -> ModelNote:
        """One line about a model; refuses what the workspace cannot use."""
        raise StudioError(f"The workspace {self.name!r} uses no models.")

    def warm_up(self) -> None:
        """Import what only later questions need; called on another thread than theirs, so that they do not wait."""

    def close(self) -> None:
        """The window is gone: end what was started for it."""
