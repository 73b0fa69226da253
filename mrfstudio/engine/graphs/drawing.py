"""A factor graph as SVG text, for notebooks: circles for variables, squares for factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.graphs.layouts.placing import place
from mrfstudio.engine.graphs.links import links_of
from mrfstudio.engine.graphs.strength import strengths_of
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.squares import cleared, middles_of, room_of

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

LARGEST = 3000
"""Variables and factors of a drawing; more cannot be told apart."""
SMALL = 60
"""Variables up to which a graph is drawn where a notebook shows it by itself."""
STATES = ("#3465c0", "#f0a30a", "#1c8a72", "#c05c9c", "#7a4b12", "#5fb4e5", "#8d2f3f", "#818a95")
EQUAL, DIFFERENT, NEITHER = "#1c8a72", "#c05c9c", "#e6e9ed"


@dataclass(frozen=True)
class GraphDrawing:
    """SVG that notebooks show and `save` writes."""

    svg: str

    def __repr__(self) -> str:
        return f"<GraphDrawing, {len(self.svg)} letters of SVG>"

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write a `.svg` file, whole or not at all."""
        from mrfstudio.engine.files.atomic import atomic_path

        with atomic_path(path) as temporary:
            temporary.write_text(self.svg, encoding="utf-8")


def draw(
    graph: FactorGraph,
    marginals: Sequence[np.ndarray] | None = None,
    layout: str = "automatic",
    width: int = 640,
) -> GraphDrawing:
    """Draw a graph; `marginals`, a vector for each variable, colour its nodes."""
    links = links_of(graph)
    if graph.variables + links.factors > LARGEST:
        raise StudioError(
            f"The graph has {graph.variables} variables and {links.factors} factors: a drawing shows {LARGEST} at "
            f"most; mrfstudio.view shows them all."
        )
    edges, hubs = links.for_layouts(graph.variables)
    nodes = place(layout, graph.variables, edges, None, hubs).astype(np.float64)
    squares = cleared(middles_of(nodes, links.edges, links.stars), nodes, room_of(nodes, links.edges, links.stars))
    low = np.minimum(nodes.min(0), squares.min(0, initial=np.inf)) - 0.7
    high = np.maximum(nodes.max(0), squares.max(0, initial=-np.inf)) + 0.7
    scale = min(width / (high[0] - low[0]), 90.0)
    nodes, squares = (nodes - low) * scale, (squares - low) * scale
    size = (high - low) * scale
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]:.0f}" height="{size[1]:.0f}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(summary(graph))}">'
    ]
    strength, sign = strengths_of(graph)
    for owner, variable in zip(links.owners.tolist(), links.variables.tolist(), strict=True):
        (x, y), (u, v) = nodes[variable], squares[owner]
        wide = 0.8 + 2.5 * np.tanh(strength[owner])
        parts.append(f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}" stroke="#adb5bd" stroke-width="{wide:.1f}"/>')
    side = min(0.24 * scale, 12.0)
    for factor, (x, y) in enumerate(squares.tolist()):
        fill = {1: EQUAL, -1: DIFFERENT, 0: NEITHER}[int(sign[factor])]
        names = ", ".join(graph.name_of(v) for v in links.variables[list(links.of(factor))].tolist())
        parts.append(
            f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}" '
            f'fill="{fill}" stroke="#1a1e23"><title>{escape(names)}: strength {strength[factor]:.3g}</title></rect>'
        )
    parts += [_node(graph, v, nodes[v], min(0.3 * scale, 16.0), marginals) for v in range(graph.variables)]
    return GraphDrawing("".join([*parts, "</svg>"]))


def _node(
    graph: FactorGraph, variable: int, at: np.ndarray, radius: float, marginals: Sequence[np.ndarray] | None
) -> str:
    (x, y), name = at.tolist(), graph.name_of(variable)
    told, fill = name, "#ffffff"
    if marginals is not None:
        vector = marginals[variable]
        told += "".join(f"\n{graph.state_name(variable, s)}: {p:.3f}" for s, p in enumerate(vector[:12]))
        fill = _mixed(vector)
    text = ""
    if radius >= 7:
        below = graph.names is not None
        where = y + radius + 11 if below else y + radius * 0.32
        ink = "#1a1e23" if below or marginals is None else "#ffffff"
        shown = name if len(name) <= 16 else f"{name[:15]}…"
        text = (
            f'<text x="{x:.1f}" y="{where:.1f}" font-size="{max(9.0, radius * 0.8):.0f}" fill="{ink}" '
            f'text-anchor="middle">{escape(shown)}</text>'
        )
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" stroke="#545d68"/>'
    return f"<g><title>{escape(told)}</title>{circle}{text}</g>"


def _mixed(vector: np.ndarray) -> str:
    """The colours of states, mixed by their probabilities."""
    table = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in STATES], float)
    shares = np.nan_to_num(np.asarray(vector, float))
    red, green, blue = np.rint(shares @ table[np.arange(len(shares)) % len(STATES)]).clip(0, 255).astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def summary(graph: FactorGraph) -> str:
    """One line about a graph."""
    orders = sorted({group.order for group in graph.groups})
    many = f"{graph.factors} factors" + (f" of {' and '.join(map(str, orders))} variables" if orders else "")
    low, high = int(graph.cardinalities.min()), int(graph.cardinalities.max())
    states = f"{low} states" if low == high else f"{low} to {high} states"
    return f"{graph.variables} variables with {states}, {many}"


def graph_html(graph: FactorGraph) -> str:
    """What a notebook shows of a graph: a line, and a drawing where it is small."""
    line = f"<p><b>FactorGraph</b>: {escape(summary(graph))}</p>"
    return line + (draw(graph, width=520).svg if graph.variables <= SMALL and graph.factors <= 3 * SMALL else "")
