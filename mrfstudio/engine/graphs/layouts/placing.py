"""Where nodes stand: lattices and circles by hand, the rest from networkx.

Positions are (n, 2) float32, x right and y down. Neighbours stand about one unit apart, and everything lies in a box
that begins at half a unit, so that a lattice of nodes covers the same squares as the pixels of a picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mrfstudio.engine.graphs.layouts.lattice import by_corners
from mrfstudio.engine.graphs.layouts.pivots import components, loosened, packed, pivot_layout
from mrfstudio.engine.graphs.sketch import square_shape
from mrfstudio.engine.protocol.errors import StudioError

LARGEST = {"spring": 600, "kamada-kawai": 150, "planar": 2000, "layers": 30_000, "pivots": 60_000}
"""Nodes beyond which a layout would keep the engine for more than about a second."""
LAYOUTS = ("automatic", "lattice", "circle", "spring", "kamada-kawai", "planar", "layers", "pivots", "spiral")

Positions = np.ndarray


def place(name: str, nodes: int, edges: np.ndarray, lattice: tuple[int, int] | None = None, hubs: int = 0) -> Positions:
    """Positions of a layout by name. Raises `StudioError` for an unknown one, or a graph too large for it.

    `edges` (n, 2) are pairs of nodes.

    Factors of more than two variables are `hubs` further nodes, numbered from `nodes` on, which get room too.
    """
    if name not in LAYOUTS:
        raise StudioError(f"There is no layout {name!r}: expected one of {', '.join(LAYOUTS)}.")
    if name == "automatic":
        found = None if lattice is not None or hubs else by_corners(nodes, edges)
        if found is not None:
            return found
        name = _automatic(nodes, hubs, edges, lattice)
    most = LARGEST.get(name)
    if most is not None and nodes + hubs > most:
        things = f"{nodes} nodes" if not hubs else f"{nodes} nodes and {hubs} factors"
        raise StudioError(
            f"The layout {name} takes too long for {things}: expected at most {most}; lattice, circle and spiral "
            f"place any number."
        )
    if name == "lattice" or nodes == 1:
        return _lattice(nodes, lattice)
    if name == "circle":
        return _circle(nodes)
    if name == "spiral":
        return _spiral(nodes)
    if name == "pivots":
        return (pivot_layout(nodes + hubs, edges)[:nodes] + 0.5).astype(np.float32)
    if name == "layers":  # which sets components side by side
        return _fitted(_of_networkx(name, nodes + hubs, edges), nodes + hubs)[:nodes]
    return _by_components(name, nodes + hubs, edges)[:nodes]


def _by_components(name: str, nodes: int, edges: np.ndarray) -> Positions:
    """Each connected part on its own, then side by side: a lone variable must not push the rest into a corner."""
    parts = components(nodes, edges)
    if len(parts) == 1:
        return _roomy(name, nodes, edges)
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    inside, boxes = np.full(nodes, -1), []
    for members in parts:
        inside[members] = np.arange(len(members))
        own = inside[ends[np.isin(ends[:, 0], members)]]
        boxes.append(_roomy(name, len(members), own) - 0.5)
    found = np.zeros((nodes, 2), np.float32)
    for members, points, corner in zip(parts, boxes, packed(boxes), strict=True):
        found[members] = points + corner + 0.5
    return found


def _roomy(name: str, nodes: int, edges: np.ndarray) -> Positions:
    """One connected part. Springs let nodes stand on each other; these step apart."""
    if nodes == 1:
        return np.full((1, 2), 0.5, np.float32)
    points = _fitted(_of_networkx(name, nodes, edges), nodes)
    if name == "spring":
        points = loosened(points.astype(np.float64))
        points = (points - points.min(0) + 0.5).astype(np.float32)
    return points


def _automatic(nodes: int, hubs: int, edges: np.ndarray, lattice: tuple[int, int] | None) -> str:
    if lattice is not None:
        return "lattice"
    if nodes <= 3 or not len(edges):
        return "circle" if nodes <= 60 else "lattice"
    if nodes + hubs <= LARGEST["spring"]:
        return "spring"
    return "pivots" if nodes + hubs <= LARGEST["pivots"] else "spiral"


def _lattice(nodes: int, lattice: tuple[int, int] | None) -> Positions:
    columns = (lattice or square_shape(nodes))[1]
    rows, column = np.divmod(np.arange(nodes), columns)
    return (np.stack([column, rows], 1) + 0.5).astype(np.float32)


def _circle(nodes: int) -> Positions:
    # Neighbours one and a half units apart; from about 400 nodes on closer, or the picture would be mostly hole.
    radius = max(0.9, min(1.5 * nodes / (2 * math.pi), 3.0 * math.sqrt(nodes)))
    angle = 2 * np.pi * np.arange(nodes) / nodes - np.pi / 2
    return (radius * np.stack([np.cos(angle), np.sin(angle)], 1) + radius + 0.5).astype(np.float32)


def _spiral(nodes: int) -> Positions:
    """Sunflower: equal room for every node."""
    index = np.arange(nodes) + 0.5
    radius, angle = 0.75 * np.sqrt(index), index * np.pi * (3 - math.sqrt(5))
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return (points - points.min(0) + 0.5).astype(np.float32)


def _of_networkx(name: str, nodes: int, edges: np.ndarray) -> np.ndarray:
    import networkx as nx  # a fifth of a second that only such a layout pays

    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges.tolist())
    made: dict[str, Callable[[], Any]] = {
        "spring": lambda: nx.spring_layout(graph, seed=0, iterations=80),
        "kamada-kawai": lambda: nx.kamada_kawai_layout(graph),
        "planar": lambda: nx.planar_layout(graph),
        "layers": lambda: _layers(graph),
    }
    try:
        found = made[name]()
    except nx.NetworkXException:
        raise StudioError(f"The layout {name} does not fit this graph: choose spring instead.") from None
    return np.array([found[node] for node in range(nodes)], np.float64)


def _layers(graph: Any) -> dict[int, tuple[float, float]]:
    """Rows by distance from the first node of each component; children of one node stand side by side."""
    import networkx as nx

    found: dict[int, tuple[float, float]] = {}
    right = 0.0
    for component in nx.connected_components(graph):
        root = min(component)
        tree = nx.bfs_tree(graph, root)
        depth = nx.single_source_shortest_path_length(tree, root)
        across: dict[int, float] = {}
        for node in nx.dfs_postorder_nodes(tree, root):
            children = [across[child] for child in tree.successors(node)]
            across[node] = (min(children) + max(children)) / 2 if children else right
            right += 0 if children else 1
        found |= {node: (across[node], 1.2 * depth[node]) for node in component}
        right += 1
    return found


def _fitted(points: np.ndarray, nodes: int) -> Positions:
    """Scaled so that nodes have about as much room as in a lattice, a wide picture rather than a tall one."""
    points = points - points.min(0)
    width, height = points.max(0)
    if height > 1.2 * width:
        points, width, height = points[:, ::-1], height, width
    side = 1.5 * math.sqrt(nodes)
    # The same area for every layout; one that is nearly a line is not stretched without end.
    scale = min(side / math.sqrt(max(width * height, 1e-9)), 4 * side / max(width, height, 1e-9))
    return (points * scale + 0.5).astype(np.float32)
