"""What stands on the door of this workspace."""

from __future__ import annotations

from mrfstudio.ui.workspaces.inpaint import actions as own
from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

SIGN = WorkspaceSign(
    "inpaint",
    "Inpaint",
    "inpaint",
    "Hide a part of a picture and watch a Boltzmann machine fill it in, with its uncertainty.",
    order=20,
    takes_pictures=True,
    actions=(("Edit", own.ADD_NOISE), ("Edit", own.CUT_HOLE)),
)
