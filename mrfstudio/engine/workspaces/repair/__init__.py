"""Repair: paint over damage on a photograph, and it is filled in, with its doubt."""

WORKSPACES = ("repair",)
ALGORITHMS = ("windows",)
