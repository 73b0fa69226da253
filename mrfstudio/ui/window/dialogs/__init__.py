"""The dialogs of the window that belong to no workspace."""
