"""What the Converge workspace adds to the menus."""

from __future__ import annotations

from mrfstudio.ui.window.actions import ActionSpec

SHOW_ARENA = ActionSpec("show_arena", "Arena", "Which algorithm is nearest to the truth on the graphs of a folder?")
