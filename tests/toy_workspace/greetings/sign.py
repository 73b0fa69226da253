"""What rail and menus know before anybody goes in."""

from __future__ import annotations

from mrfstudio.ui.window.actions import window
from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

GREET = window("greet", "Greet", "Say hello.", "Ctrl+Alt+H")
SIGN = WorkspaceSign("greetings", "Greetings", "lessons", "Says hello.", actions=(("Run", GREET),))
