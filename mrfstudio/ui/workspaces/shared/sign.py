"""What stands on the door of a workspace: all that rail, menus and file dialogs need before it is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mrfstudio.engine.protocol.requests import Request
from mrfstudio.ui.window.actions import ActionSpec


@dataclass(frozen=True)
class WorkspaceSign:
    """`SIGN` in `sign.py` of its folder; `view.py` beside it is imported when somebody goes in."""

    name: str
    title: str
    icon: str
    help: str
    order: int = 100
    """Its place in the rail: small numbers come first."""
    takes_pictures: bool = False
    """Whether pictures can be opened here."""
    endings: tuple[str, ...] = ()
    """Endings of files that open here, wherever the person is, and replace what is shown."""
    filter: str = ""
    """Those files in the words of the file dialog, such as `Graphs (*.uai *.fg)`."""
    opening: Callable[[Path], Request[str]] | None = None
    """The request that opens such a file."""
    opened_by: tuple[type[Request[str]], ...] = ()
    """Requests that replace what is shown here."""
    actions: tuple[tuple[str, ActionSpec], ...] = ()
    """Actions that it adds to the menus, with the menu's name; `action_handlers` of its view says who does them."""
