"""What stands on the door of this workspace."""

from __future__ import annotations

from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

SIGN = WorkspaceSign("train", "Train", "train", "Train a model, watch it learn, compare runs.", order=40)
