"""`mrfstudio.view(graph)`: the window on a graph that was built in a notebook or a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrfstudio.engine.models.factor_graph import FactorGraph


def view(graph: FactorGraph, name: str = "graph") -> int:
    """Show a graph's variables and what belief propagation says of them, until the window is closed.

    Returns the exit status. Without a display it draws the tour instead, as the command does.
    """
    from mrfstudio.log import setup_logging
    from mrfstudio.ui.app import open_window

    setup_logging()
    return open_window(graph=graph, graph_name=name)
