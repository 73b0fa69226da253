"""What stands on the door of this workspace."""

from __future__ import annotations

from mrfstudio.ui.workspaces.photograph import actions as own
from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

SIGN = WorkspaceSign(
    "photograph",
    "Photograph",
    "photograph",
    "Open a photograph, scribble on what you want and on the rest, and take the object out of it.",
    order=15,
    takes_pictures=True,
    actions=(
        *(("File", spec) for spec in own.EXAMPLES),
        *(("File", spec) for spec in (own.EXPORT_CUTOUT, own.EXPORT_MASKS, own.EXPORT_OVERLAY, own.EXPORT_STROKES)),
        ("File", own.KEEP_MODEL),
        ("Edit", own.COPY_CUTOUT),
        ("Edit", own.CLEAR_STROKES),
        ("View", own.WHERE_NEXT),
        ("View", own.SHOW_CUTOUT),
    ),
)
