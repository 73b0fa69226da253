"""Train: plans, runs, and the one that a child process trains."""

WORKSPACES = ("train",)
