"""What stands on the door of this workspace."""

from __future__ import annotations

from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

SIGN = WorkspaceSign(
    "segment",
    "Segment",
    "segment",
    "Draw a contour and watch belief propagation find what is inside.",
    order=10,
    takes_pictures=True,
)
