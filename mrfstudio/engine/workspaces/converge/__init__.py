"""Converge: any factor graph, and whether and why belief propagation settles on it."""

WORKSPACES = ("graph",)
