"""Segment: contours and hints; a cloned grid says what is inside."""

WORKSPACES = ("segment",)
