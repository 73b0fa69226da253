"""What the Inpaint workspace adds to the menus: damage by a key."""

from __future__ import annotations

from mrfstudio.ui.window.actions import ActionSpec

NOISE, SIDE = 0.1, 8
"""Part of the pixels that noise flips, and the side of a hole: what conditional RBMs learn to mend."""
ADD_NOISE = ActionSpec(
    "add_noise", "Add noise", "Turn a tenth of the pixels into their negative.", ("Shift+N",), on_canvas=True
)
CUT_HOLE = ActionSpec("cut_hole", "Cut a hole", "Hide a square of 8×8 pixels anywhere.", ("Shift+D",), on_canvas=True)
