"""Inpaint: a picture with a hole; a machine fills it in."""

WORKSPACES = ("inpaint",)
