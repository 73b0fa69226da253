"""Converge: any factor graph, chosen, drawn or from a file; evidence on its nodes, strengths for all of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.graphs.layouts.lattice import row_by_row
from mrfstudio.engine.graphs.layouts.placing import place
from mrfstudio.engine.graphs.links import links_of
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.graphs.sketch import FILE, MOST_NODES, Sketch, Strengths, checked, square_shape
from mrfstudio.engine.graphs.strength import strengths_of
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import Command, GraphCommand, SetEvidence, SetImage
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import NO_HINT, GraphFrame
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.apply_to_graph import applied_to_graph
from mrfstudio.engine.session.document import Document, LayerSpec, blank_document, frozen
from mrfstudio.engine.session.label_pictures import VisiblePart, histogram
from mrfstudio.engine.workspaces.converge.messages import (
    all_messages,
    factor_messages,
    likeliest,
    message_change,
    messages_to,
)
from mrfstudio.engine.workspaces.converge.neighbours import neighbour_beliefs
from mrfstudio.engine.workspaces.converge.pins import ruled_out, with_pins, with_tables
from mrfstudio.engine.workspaces.converge.regions import region_pictures
from mrfstudio.engine.workspaces.workspace import LabelWorkspace, LaneView, digest, hint_potentials

KEPT = 4
"""Graphs that are kept ready: undo and a step back across an edit find theirs again."""
SMALL, LARGE = 20_000, 300_000
"""Entries of all messages up to which log Z is computed at every iteration, and at every fifth."""


class GraphWorkspace(LabelWorkspace):
    """Graphs that a person chooses, draws or opens, and changes; all lanes work on the same one.

    The graph is the document's sketch. A sketch of a file scales the graph that a lane names; `graphs` holds those, all
    with the same variables. A document without a sketch, as old files have it, shows the named graphs as they are,
    laid out in `shape` (rows, columns).
    """

    name = "graph"
    limits = Limits(iterations=200, tolerance=1e-5)
    largest_side = MOST_NODES

    def __init__(self, graphs: Mapping[str, FactorGraph] | None = None, shape: tuple[int, int] | None = None) -> None:
        self._graphs = {name: graph.to(dtype=torch.float32) for name, graph in (graphs or {}).items()}
        # By identity of the sketch's arrays, which are kept alive here so that identities stay theirs.
        self._bases: OrderedDict[tuple, tuple[Sketch, FactorGraph]] = OrderedDict()
        self._models: OrderedDict[tuple, tuple[Sketch, FactorGraph]] = OrderedDict()
        self._frame: tuple[Any, Any, GraphFrame] | None = None
        first = next(iter(self._graphs.values()), None)
        variables = 1 if first is None else first.variables
        self.states = 2 if first is None else int(first.cardinalities.max(initial=1))
        self.shape = shape or square_shape(variables)
        if self.states >= NO_HINT:
            raise StudioError(f"A variable has {self.states} states: the window can show at most {NO_HINT - 1}.")
        for other in self._graphs.values():
            if first is not None and not np.array_equal(other.cardinalities, first.cardinalities):
                raise StudioError("The graphs have different variables: lanes compare graphs over the same ones.")
        if self.shape[0] * self.shape[1] < variables:
            raise StudioError(f"A layout of {self.shape} has too few places for {variables} variables.")
        self.states = max(self.states, 2)  # another graph may be chosen instead of the file's
        self.layers = (LayerSpec("hints", NO_HINT, tuple(range(self.states))),)

    # Documents --------------------------------------------------------------------------------------------------------

    def begun(self, sketch: Sketch, name: str) -> Document:
        """A document with a graph and no evidence."""
        return replace(blank_document(self.layers, sketch.shape, name), graph=sketch)

    def of_file(self, name: str, lattice: tuple[int, int] | None = None) -> Document:
        """A document that shows a named graph; `lattice` (rows, columns) lays its variables out, row by row."""
        graph = self.load(name)
        edges, hubs = links_of(graph).for_layouts(graph.variables)
        if lattice is None and not hubs:
            lattice = row_by_row(graph.variables, edges)
        layout = "lattice" if lattice is not None else "automatic"
        return self.placed(name, place(layout, graph.variables, edges, lattice, hubs), lattice)

    def placed(self, name: str, positions: np.ndarray, lattice: tuple[int, int] | None = None) -> Document:
        """A document that shows a named graph with its variables at positions (n, 2)."""
        return self.begun(checked(_file_sketch(name, positions, lattice)), name)

    def sketch(self, document: Document) -> Sketch:
        if document.graph is not None:
            return document.graph
        name, graph = next(iter(self._graphs.items()))
        positions = place("lattice", graph.variables, np.zeros((0, 2), np.int64), document.shape)
        return _file_sketch(name, positions, document.shape)

    def edited(self, document: Document, command: Command) -> Document | None:
        if isinstance(command, SetImage):
            raise StudioError("A graph has no picture: open it in the Segment workspace.")
        if isinstance(command, SetEvidence):
            return self._with_evidence(document, command)
        if isinstance(command, GraphCommand):
            sketch = self.sketch(document)
            edges, hubs = sketch.edges, 0
            if sketch.is_file:
                edges, hubs = links_of(next(iter(self._graphs.values()))).for_layouts(sketch.nodes)
            return applied_to_graph(document, sketch, edges, command, self.layers, hubs)
        return super().edited(document, command)

    def _with_evidence(self, document: Document, command: SetEvidence) -> Document:
        nodes, count = np.array(command.nodes, np.int64), self.sketch(document).nodes
        if len(nodes) and not (nodes.min() >= 0 and nodes.max() < count):
            raise StudioError(f"Evidence on node {nodes.max()}: expected 0 to {count - 1}.")
        if command.state != -1 and not 0 <= command.state < self.states:
            raise StudioError(f"Evidence of state {command.state}: expected 0 to {self.states - 1}, or -1 for none.")
        if not 0 < command.strength <= 1:
            raise StudioError(f"Evidence of strength {command.strength}: expected a number above 0 and at most 1.")
        changed = {}
        blank = command.state == -1
        for name, value in (("hints", NO_HINT if blank else command.state), ("hints_strength", command.strength)):
            layer = document.layers[name].copy()
            layer.ravel()[nodes] = 1.0 if blank and name != "hints" else value
            changed[name] = layer
        return document.with_layers(changed)

    def check(self, document: Document) -> None:
        super().check(document)
        sketch = self.sketch(document)
        graph = next(iter(self._graphs.values()), None)
        if document.shape != sketch.shape or (sketch.is_file and (graph is None or graph.variables != sketch.nodes)):
            raise StudioError("its evidence does not fit its graph.")

    # Models -----------------------------------------------------------------------------------------------------------

    def model(self, document: Document, name: str) -> FactorGraph:
        """The graph of the document's sketch at its strengths; the same object for the same graph."""
        sketch = document.graph
        if sketch is None:
            return self.load(name)
        arrays = (name,) if sketch.is_file else tuple(map(id, (sketch.edges, sketch.couplings, sketch.fields)))
        structure = (*arrays, *sorted(sketch.tables.items()))

        def base() -> FactorGraph:
            if sketch.is_file:
                return with_tables(self.load(name), sketch.tables)
            made = FactorGraph.ising(sketch.edges, sketch.couplings, sketch.fields, dtype=torch.float32)
            return with_tables(made, sketch.tables)

        unit = _kept(self._bases, structure, sketch, base)
        return _kept(self._models, (*structure, *sketch.scales), sketch, lambda: _scaled(unit, sketch))

    def load(self, name: str) -> FactorGraph:
        if name not in self._graphs:
            raise StudioError(f"There is no graph {name!r}: expected one of {', '.join(self._graphs)}.")
        return self._graphs[name]

    def fingerprint(self, model: FactorGraph) -> str:
        return digest(_graph_arrays(model).values())

    def saved(self, used: bool = True) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays: dict[str, np.ndarray] = {}
        if not used:  # graphs of a file that another graph has replaced are not this session's
            return {"graphs": [], "shape": [1, 1]}, arrays
        for number, graph in enumerate(self._graphs.values()):
            arrays |= {f"{number} {name}": array for name, array in _graph_arrays(graph).items()}
        described = [
            {
                "name": name,
                "constant": graph.constant,
                "groups": len(graph.groups),
                **({} if graph.names is None else {"names": graph.names.described()}),
            }
            for name, graph in self._graphs.items()
        ]
        return {"graphs": described, "shape": list(self.shape)}, arrays

    @classmethod
    def restored(cls, options: dict[str, Any], arrays: dict[str, np.ndarray]) -> GraphWorkspace:
        graphs = {}
        for number, graph in enumerate(options["graphs"]):
            own = {key.partition(" ")[2]: array for key, array in arrays.items() if key.startswith(f"{number} ")}
            made = _graph_of(own, float(graph["constant"]), int(graph["groups"]))
            graphs[str(graph["name"])] = made.named(_names_of(graph.get("names"), made))
        rows, columns = options["shape"]
        return cls(graphs, (int(rows), int(columns)))

    def evidence(self, document: Document, model: FactorGraph) -> Evidence:
        hints = document.layers["hints"].ravel()[: model.variables]
        strength = document.strength("hints").ravel()[: model.variables]
        impossible = np.flatnonzero((hints != NO_HINT) & (hints >= model.cardinalities))
        if len(impossible):
            variable = int(impossible[0])
            count = int(model.cardinalities[variable])
            given = f"Variable {model.name_of(variable)} was hinted to be in state {hints[variable]}"
            names = "" if model.names is None else f", {', '.join(model.names.states[variable])}"
            raise StudioError(f"{given}: its states are 0 to {count - 1}{names}.")
        log = hint_potentials(hints, strength, self.states)
        packed = torch.zeros(model.packing.size, dtype=model.dtype)
        places = self._places(model)
        known = places >= 0
        packed[torch.from_numpy(places[known])] = torch.from_numpy(log[known]).to(model.dtype)
        packed[ruled_out(model, self.sketch(document).forbidden)] = -torch.inf
        evidence = Evidence(packed.to(model.device))
        model.local_potentials(evidence)  # raises where nothing is left of a variable
        return evidence

    def label_beliefs(self, view: LaneView) -> Tensor:
        """(rows, columns, states); 0 for states a variable does not have and places without a variable."""
        beliefs = torch.cat([view.beliefs.cpu(), view.beliefs.new_zeros(1).cpu()])
        image = beliefs.new_zeros((view.document.shape[0] * view.document.shape[1], self.states))
        places = self._places(view.model)
        image[: len(places)] = beliefs[torch.from_numpy(places)]  # place -1 is the added zero
        return image.reshape(*view.document.shape, self.states)

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        pictures = dict(super().pictures(names, view, window, first))
        marginals = self.labels(view).reshape(-1, self.states)[: view.model.variables]
        if "marginal" in names:
            pictures["marginal"] = frozen(marginals.copy())
        if "histogram" in names:  # without the places that have no variable
            pictures["histogram"] = frozen(histogram(marginals))
        if "residual" in names:
            change = message_change(view.model, view.state, view.previous)
            if change is not None:
                pictures["residual"], pictures["star_residual"] = map(frozen, change)
        if "said" in names:
            said = likeliest(view.model, view.state)
            if said is not None:
                pictures["said"] = frozen(said)
        if "messages" in names:
            found = all_messages(view.model, view.state)
            if found is not None:
                pictures["messages"] = frozen(found)
        if "regions" in names:
            pictures |= region_pictures(view)
        if "steps" in names:
            pictures["steps"] = frozen(neighbour_beliefs(view))
        return pictures

    def graph_frame(self, document: Document, model: FactorGraph) -> GraphFrame:
        key = document.graph or document
        if self._frame is None or self._frame[0] is not key or self._frame[1] is not model:
            self._frame = (key, model, self._made_frame(document, model))
        return self._frame[2]

    def _made_frame(self, document: Document, model: FactorGraph) -> GraphFrame:
        sketch, links = self.sketch(document), links_of(model)
        coupling, field = sketch.scales
        strength, sign = strengths_of(model)
        couplings = None if sketch.is_file else (coupling * sketch.couplings).astype(np.float32)
        if couplings is not None and sketch.tables:
            changed = list(sketch.tables)
            couplings[changed] = (strength * sign)[changed]
        return GraphFrame(
            positions=sketch.positions,
            edges=frozen(links.edges),
            stars=frozen(links.stars),
            states=frozen(model.cardinalities.astype(np.int32)),
            degrees=frozen(_degrees(model)),
            labels=model.labels,
            couplings=None if couplings is None else frozen(couplings),
            fields=None if sketch.is_file else frozen((field * sketch.fields).astype(np.float32)),
            lattice=sketch.lattice,
            source=sketch.source,
            parameters=dict(sketch.parameters),
            strengths=sketch.strengths.values(),
            editable=not sketch.is_file,
            strength=frozen(strength),
            sign=frozen(sign),
            pins=tuple(sorted(sketch.pins)),
            forbidden=sketch.forbidden,
            names=() if model.names is None else model.names.variables,
            state_names=() if model.names is None else model.names.states,
        )

    def held(
        self, document: Document, model: FactorGraph, algorithm: Algorithm, before: State | None, state: State
    ) -> State:
        pins = {} if document.graph is None else document.graph.pins
        return with_pins(model, algorithm, pins, before, state) if pins else state

    def holds(self, document: Document) -> str:
        count = 0 if document.graph is None else len(document.graph.pins)
        if not count:
            return ""
        return (
            f"{'A message is' if count == 1 else f'{count} messages are'} pinned: this is no fixed point of the graph."
        )

    def edge_messages(self, model: FactorGraph, state: State, edge: int) -> tuple[np.ndarray, ...] | None:
        return messages_to(model, state, edge)

    def factor_messages(
        self, view: LaneView, factor: int
    ) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]] | None:
        return factor_messages(view, factor) if factor < links_of(view.model).factors else None

    def details(self, view: LaneView, pixel: tuple[int, int]) -> Mapping[str, object]:
        """`variable` and `probabilities` of its states."""
        variable = pixel[0] * view.document.shape[1] + pixel[1]
        if variable >= view.model.variables:
            return {}
        states = int(view.model.cardinalities[variable])
        beliefs = self.labels(view)[pixel][:states]
        return {"pixel": pixel, "variable": view.model.labels[variable], "probabilities": [float(p) for p in beliefs]}

    def log_partition_stride(self, view: LaneView) -> int:
        """Every iteration of small graphs; of larger ones less often, or it would take half of the time."""
        entries = view.model.packing.message_size
        return 1 if entries <= SMALL else 5 if entries <= LARGE else 20

    def _places(self, graph: FactorGraph) -> NDArray[np.int64]:
        """The packed entry of each state of each variable, -1 where a variable has fewer, (variables, states)."""

        def make() -> NDArray[np.int64]:
            state = np.arange(self.states)
            entries = graph.packing.base[:, None] + state * graph.packing.stride[:, None]
            return np.where(state < graph.cardinalities[:, None], entries, -1)

        return graph.structural(("places", self.states), make)


def _file_sketch(name: str, positions: np.ndarray, lattice: tuple[int, int] | None) -> Sketch:
    empty = np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0)
    as_they_are = Strengths(coupling=1.0, field=1.0, temperature=1.0)
    return Sketch(FILE, {"name": name}, as_they_are, positions, *empty, lattice)


def _scaled(graph: FactorGraph, sketch: Sketch) -> FactorGraph:
    return graph if sketch.scales == (1.0, 1.0) else graph.scaled(*sketch.scales)


def _kept(
    known: OrderedDict[tuple, tuple[Sketch, FactorGraph]], key: tuple, sketch: Sketch, make: Callable[[], FactorGraph]
) -> FactorGraph:
    """The graph under a key, made if it is new; the oldest of many is forgotten."""
    if key not in known:
        known[key] = (sketch, make())
        while len(known) > KEPT:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key][1]


def _names_of(described: list[dict[str, Any]] | None, graph: FactorGraph) -> Names | None:
    if described is None:
        return None
    names, states = [str(each["name"]) for each in described], [list(each["states"]) for each in described]
    return Names.checked(names, states, graph.cardinalities.tolist())


def _degrees(graph: FactorGraph) -> np.ndarray:
    """Factors of order 2 and more at each variable, (n,) int32."""
    scopes = [to_host(group.scopes).ravel() for group in graph.groups]
    flat = np.concatenate(scopes) if scopes else np.zeros(0, np.int64)
    return np.bincount(flat, minlength=graph.variables).astype(np.int32)


def _graph_arrays(graph: FactorGraph) -> dict[str, np.ndarray]:
    """Everything that makes a graph, by name."""
    arrays = {"cardinalities": graph.cardinalities, "labels": np.array(graph.labels)}
    arrays["unary"] = to_host(graph.unary)
    for number, group in enumerate(graph.groups):
        for part in ("tables", "scopes", "positions"):
            arrays[f"{part} {number}"] = to_host(getattr(group, part))
    return arrays


def _graph_of(arrays: dict[str, np.ndarray], constant: float, groups: int) -> FactorGraph:
    """The graph of such arrays. Raises `StudioError` where they do not fit together."""
    made = []
    cardinalities = arrays["cardinalities"]
    for number in range(groups):
        tables, scopes = arrays[f"tables {number}"], arrays[f"scopes {number}"]
        inside = scopes.size and scopes.min() >= 0 and scopes.max() < len(cardinalities)
        expected = (*cardinalities[scopes[:, 0]], scopes.shape[1]) if inside else None
        if expected != tables.shape or (cardinalities[scopes] != np.array(tables.shape[:-1])[:, None]).any():
            raise StudioError(f"its group {number} of factors does not fit its variables.")
        positions = torch.from_numpy(arrays[f"positions {number}"])
        made.append(FactorGroup(torch.from_numpy(tables), torch.from_numpy(scopes), positions))
    if len(cardinalities) == 0 or cardinalities.min() < 1 or len(arrays["unary"]) != cardinalities.sum():
        raise StudioError("its graph has variables without states.")
    unary = torch.from_numpy(arrays["unary"])
    labels = arrays["labels"].tolist()
    return FactorGraph(cardinalities, made, unary, constant=constant, labels=labels, dtype=unary.dtype)
