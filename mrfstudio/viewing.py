"""`mrfstudio.view(graph)`: the window on a graph that was built in a notebook or a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrfstudio.engine.models.factor_graph import FactorGraph


def view(graph: FactorGraph, name: str = "graph", shape: tuple[int, int] | None = None) -> int:
    """Show a graph's variables and what belief propagation says of them, until the window is closed.

    `shape` (rows, columns) lays the variables out, row by row; else they fill a square. Returns the exit status.
    Without a display it draws the tour instead, as the command does.
    """
    from mrfstudio.log import setup_logging
    from mrfstudio.ui.app import open_window
    from mrfstudio.ui.workspaces.converge import GraphToShow

    setup_logging()
    return open_window(graph=GraphToShow(graph, name, shape))
