"""What each graph command makes of a document, and the command that takes it back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mrfstudio.engine.graphs.layouts.placing import place
from mrfstudio.engine.graphs.sketch import DRAWN, MOST_NODES, Sketch, checked
from mrfstudio.engine.protocol.commands import (
    AddNode,
    Connect,
    DeleteParts,
    Forbid,
    GraphCommand,
    MoveNode,
    NewGraph,
    PinMessage,
    SetLayout,
    SetPart,
    SetStrength,
    SetTable,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.document import Document, LayerSpec, blank_document
from mrfstudio.engine.session.inverses import PutGraph

FARTHEST = 1e6  # a node dragged out of sight is still one that can be found again


def applied_to_graph(
    document: Document,
    sketch: Sketch,
    edges: np.ndarray,
    command: GraphCommand,
    specs: tuple[LayerSpec, ...],
    hubs: int = 0,
) -> Document:
    """The document after a graph command; `sketch` is its graph now, `edges` (m, 2) and `hubs` what layouts take."""
    if isinstance(command, PutGraph):
        return command.document(specs)
    if isinstance(command, NewGraph):
        return _new(command, specs)
    if isinstance(command, SetLayout):
        return replace(document, graph=sketch.at(place(command.layout, sketch.nodes, edges, sketch.lattice, hubs)))
    after, kept = _changed(sketch, command)
    if kept is None:
        return replace(document, graph=after)
    layers = _rearranged(document, after, kept, specs)
    return replace(document, layers=layers, graph=after)


def _new(command: NewGraph, specs: tuple[LayerSpec, ...]) -> Document:
    from mrfstudio.engine.graphs.sources import make_source

    source = make_source(command.source, command.parameters)
    strengths = source.first if command.strengths is None else source.first.replace(**command.strengths)
    sketch = source.sketch(strengths)
    return replace(blank_document(specs, sketch.shape, source.title), graph=sketch)


def _changed(sketch: Sketch, command: GraphCommand) -> tuple[Sketch, np.ndarray | None]:
    """The sketch after a command and, where nodes come or go, the old number of each node, -1 for a new one."""
    if isinstance(command, SetStrength):
        return replace(sketch, strengths=sketch.strengths.replace(**{command.name: command.value})), None
    if isinstance(command, MoveNode):
        _known(command.node, sketch)
        positions = sketch.positions.copy()
        positions[command.node] = _point(command.x, command.y)
        return sketch.at(positions), None
    if isinstance(command, SetTable):
        return _with_table(sketch, command), None
    if isinstance(command, PinMessage):
        return _with_pin(sketch, command), None
    if isinstance(command, Forbid):
        place = _known(command.node, sketch), command.state
        kept = sketch.forbidden - {place}
        return checked(replace(sketch, forbidden=kept | {place} if command.forbidden else kept)), None
    if sketch.is_file:
        raise StudioError(
            "This graph came from a file, with tables of its own: its nodes can be moved; to add or delete some, "
            "begin with another graph."
        )
    if isinstance(command, SetPart):
        return _with_part(sketch, command), None
    if isinstance(command, AddNode):
        return _with_node(sketch, command)
    if isinstance(command, Connect):
        return _with_edge(sketch, command), None
    if isinstance(command, DeleteParts):
        return _without(sketch, command)
    raise StudioError(f"A graph does not know the command {type(command).__name__}.")


def _with_part(sketch: Sketch, command: SetPart) -> Sketch:
    name = "fields" if command.part == "node" else "couplings"
    values = getattr(sketch, name).copy()
    if not 0 <= command.number < len(values):
        raise StudioError(f"There is no {command.part} {command.number}: expected 0 to {len(values) - 1}.")
    if not abs(command.value) <= 1000:
        raise StudioError(f"The value is {command.value}: expected a number from -1000 to 1000.")
    values[command.number] = command.value
    tables = {f: kept for f, kept in sketch.tables.items() if command.part == "node" or f != command.number}
    return _by_hand(replace(sketch, tables=tables, **{name: values}))


def _with_table(sketch: Sketch, command: SetTable) -> Sketch:
    values, scale = np.array(command.values, np.float64), sketch.scales[0]
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise StudioError("A table has an entry that is negative or no number, or only zeros: expected some above 0.")
    if scale == 0:
        raise StudioError("At coupling strength 0 every table says nothing: raise the strength before changing one.")
    with np.errstate(divide="ignore"):
        unscaled = np.exp(np.clip(np.log(values) / scale, None, 700))
    after = replace(sketch, tables={**sketch.tables, command.factor: tuple(unscaled.tolist())})
    return after if sketch.is_file else _by_hand(after)


def _with_pin(sketch: Sketch, command: PinMessage) -> Sketch:
    values, place = np.array(command.values, np.float64), (command.factor, command.axis)
    others = {key: held for key, held in sketch.pins.items() if key != place}
    if not len(values):
        return replace(sketch, pins=others)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise StudioError("A message was to be held at values that are no probabilities: expected some above 0.")
    return replace(sketch, pins={**others, place: tuple((values / values.sum()).tolist())})


def _with_node(sketch: Sketch, command: AddNode) -> tuple[Sketch, np.ndarray]:
    if sketch.nodes >= MOST_NODES:
        raise StudioError(f"The graph has {sketch.nodes} nodes: that is as many as the window shows.")
    positions = np.concatenate([sketch.positions, [_point(command.x, command.y)]]).astype(np.float32)
    fields = np.append(sketch.fields, 0.0)
    after = _by_hand(replace(sketch, positions=positions, fields=fields, lattice=None))
    return after, np.append(np.arange(sketch.nodes), -1)


def _with_edge(sketch: Sketch, command: Connect) -> Sketch:
    ends = sorted((_known(command.first, sketch), _known(command.second, sketch)))
    if ends[0] == ends[1]:
        raise StudioError(f"Node {ends[0]} cannot be joined with itself: end the line on another node.")
    if (np.sort(sketch.edges, 1) == ends).all(1).any():
        raise StudioError(f"Nodes {ends[0]} and {ends[1]} are joined already.")
    edges = np.concatenate([sketch.edges, [ends]])
    return _by_hand(replace(sketch, edges=edges, couplings=np.append(sketch.couplings, float(command.coupling))))


def _without(sketch: Sketch, command: DeleteParts) -> tuple[Sketch, np.ndarray]:
    stays = np.ones(sketch.nodes, np.bool_)
    stays[[_known(node, sketch) for node in command.nodes]] = False
    if not stays.any():
        raise StudioError("A graph needs at least one node: the last one stays.")
    kept = np.ones(len(sketch.edges), np.bool_)
    for edge in command.edges:
        if not 0 <= edge < len(kept):
            raise StudioError(f"There is no edge {edge}: expected 0 to {len(kept) - 1}.")
        kept[edge] = False
    kept &= stays[sketch.edges].all(1)
    number = np.cumsum(stays) - 1
    lattice = sketch.lattice if stays.all() else None
    renumbered = np.where(kept, np.cumsum(kept) - 1, -1).tolist()
    after = replace(
        sketch,
        tables={renumbered[factor]: values for factor, values in sketch.tables.items() if renumbered[factor] >= 0},
        pins={(renumbered[f], axis): held for (f, axis), held in sketch.pins.items() if renumbered[f] >= 0},
        forbidden=frozenset((int(number[node]), state) for node, state in sketch.forbidden if stays[node]),
        positions=sketch.positions[stays],
        edges=number[sketch.edges[kept]],
        couplings=sketch.couplings[kept],
        fields=sketch.fields[stays],
        lattice=lattice,
    )
    return _by_hand(after), np.flatnonzero(stays)


def _by_hand(sketch: Sketch) -> Sketch:
    """What was changed by hand is no longer what its source draws."""
    return checked(replace(sketch, source=DRAWN, parameters={}))


def _known(node: int, sketch: Sketch) -> int:
    if not 0 <= node < sketch.nodes:
        raise StudioError(f"There is no node {node}: expected 0 to {sketch.nodes - 1}.")
    return node


def _point(x: float, y: float) -> tuple[float, float]:
    if not (abs(x) <= FARTHEST and abs(y) <= FARTHEST):
        raise StudioError(f"A node was to stand at ({x}, {y}): expected numbers up to {FARTHEST:g}.")
    return float(x), float(y)


def _rearranged(
    document: Document, after: Sketch, kept: np.ndarray, specs: tuple[LayerSpec, ...]
) -> Mapping[str, np.ndarray]:
    """The layers for other nodes: what was said about those that stay, stays."""
    blank = blank_document(specs, after.shape)
    layers = {}
    for name, empty in blank.layers.items():
        values, old = empty.copy().ravel(), document.layers[name].ravel()
        known = np.flatnonzero(kept >= 0)
        values[known] = old[kept[known]]
        values = values.reshape(after.shape)
        values.setflags(write=False)
        layers[name] = values
    return layers
