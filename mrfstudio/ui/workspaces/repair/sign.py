"""What stands on the door of this workspace."""

from __future__ import annotations

from mrfstudio.ui.workspaces.repair import actions as own
from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

SIGN = WorkspaceSign(
    "repair",
    "Repair",
    "repair",
    "Paint over scratches, writing or people on a photograph: it is filled in, and says how sure it is.",
    order=17,
    takes_pictures=True,
    actions=(
        *(("File", spec) for spec in own.EXAMPLES),
        ("File", own.EXPORT_REPAIRED),
        ("Edit", own.CLEAR_DAMAGE),
        ("Edit", own.FIND_DAMAGE),
        ("View", own.DRAW_AGAIN),
    ),
)
