"""The cloned grid MRF: every pixel of an image has one of a few labels, and each label has several hidden clones.

    p(x | image) ∝ ∏_i e_i(label(x_i)) ∏_d ∏_{j = i + d} exp W_d[x_i, x_j]

Four matrices W_d (right, down, down-right, down-left; the first two on a 4-connected grid) hold everywhere, so that one
model works on images of any size. The clones of one label share the evidence; what distinguishes them is learned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mrfstudio.engine.families.grid.emission import checked, estimated, log_table, shown
from mrfstudio.engine.families.grid.lines import line_potentials, turns_of
from mrfstudio.engine.families.grid.shape import STEPS, GridError, GridShape
from mrfstudio.engine.families.grid.symmetry import tied_index
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.protocol.catalogue import choice, flag, integer, number
from mrfstudio.engine.protocol.training import TrainingPlan
from mrfstudio.engine.registry import MODELS
from mrfstudio.engine.runtime.device import to_host

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData

LABEL_NAMES = ("CONTOUR", "OUT", "IN")
ITERATIONS = 15
"""Iterations of [QT21], for models that were trained with no other number."""
MOST_EASED = 10.0
MOST_TIED_STATES = 1024
"""States of a grid with tying that a file may have: larger ones would take seconds to find which entries are equal."""


class GridMRF:
    """Parameters and shape of a cloned grid MRF.

    `clones` are the states of each label, in the order of the labels; `weights` the free parameters: the potentials
    (matrices, S, S) themselves, or with tying `square` one number for each orbit, (orbits,). `emission` (labels,) is
    P(contour seen | label), or with `short_edges` (3, labels) for a line, nothing and a short edge. `start` and
    `iterations` are those that it was trained for: whether smaller copies of the canvas come first (`levels`), and how
    many iterations an answer takes. `sizes` are those of the smallest and the largest figures, in pixels, that it was
    seen to fill; `likeness` are the limits of what it knows (`doubt`). `eased` are the nats that two different labels
    besides the first, IN and OUT, cost less side by side while a coarse start fills figures: walls between them, which
    the model itself holds where they are, move then.
    """

    kind = "grid"

    def __init__(
        self,
        clones: Sequence[int] = (64, 1, 1),
        *,
        connectivity: int = 8,
        tying: str = "free",
        short_edges: bool = False,
        label_names: Sequence[str] = LABEL_NAMES,
        start: str = "flat",
        iterations: int = ITERATIONS,
        eased: float = 0.0,
        sizes: Sequence[int] | None = None,
        likeness: Mapping[str, float] | None = None,
        weights: Tensor | None = None,
        emission: ArrayLike | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.clones = tuple(int(count) for count in clones)
        self.connectivity, self.tying, self.label_names = int(connectivity), tying, tuple(label_names)
        self.start, self.iterations, self.short_edges = start, int(iterations), bool(short_edges)
        self.eased = float(eased)
        self.sizes = None if sizes is None else (int(sizes[0]), int(sizes[1]))
        self.likeness = None if likeness is None else dict(likeness)
        self._check()
        index, count = self._tying_index()
        self._index = index
        shape = (count,) if index is not None else (self.matrices, self.states, self.states)
        self.weights = torch.zeros(shape, dtype=dtype) if weights is None else weights
        if self.weights.shape != shape:
            raise GridError(f"The weights have shape {tuple(self.weights.shape)}: a grid like this one has {shape}.")
        self.emission = torch.from_numpy(checked(emission, self.labels, self.short_edges))
        self._graphs: dict[tuple[int, int, int], FactorGraph] = {}

    def _check(self) -> None:
        if not self.clones or min(self.clones) < 1:
            raise GridError(f"The clones are {self.clones}: every label needs at least one.")
        if self.connectivity not in (4, 8):
            raise GridError(f"The connectivity is {self.connectivity}: expected 4 or 8.")
        _check_tying(self.tying, self.clones, self.connectivity)
        if self.start not in ("flat", "coarse") or self.iterations < 1:
            raise GridError(
                f"The model starts {self.start!r} and takes {self.iterations} iterations: expected flat or coarse, and "
                "at least one."
            )
        if not 0.0 <= self.eased <= MOST_EASED:
            raise GridError(f"Walls are eased by {self.eased} nats: expected 0 to {MOST_EASED:g}.")
        if len(self.label_names) != len(self.clones):
            raise GridError(f"There are {len(self.label_names)} label names for {len(self.clones)} labels.")

    def _tying_index(self) -> tuple[Tensor | None, int]:
        if self.tying == "free":
            return None, 0
        index, count = tied_index(self.clones, GridShape(1, 1, 1, self.connectivity).directions, self.tying)
        return torch.from_numpy(index), count

    # Shape ------------------------------------------------------------------------------------------------------------

    @property
    def labels(self) -> int:
        return len(self.clones)

    @property
    def states(self) -> int:
        """S, the sum of the clones."""
        return sum(self.clones)

    @property
    def matrices(self) -> int:
        return self.connectivity // 2

    @property
    def label_of_state(self) -> Tensor:
        """The label of each state, (S,)."""
        return torch.repeat_interleave(
            torch.arange(self.labels, device=self.weights.device), torch.tensor(self.clones, device=self.weights.device)
        )

    @property
    def potentials(self) -> Tensor:
        """W (matrices, S, S), natural logarithms; W[d, s, t] joins state s at a pixel to state t at pixel + d."""
        return self.weights if self._index is None else self.weights[self._index.to(self.weights.device)]

    @property
    def loose_potentials(self) -> Tensor:
        """W (matrices, S, S) of a coarse start, see `eased`."""
        if not self.eased:
            return self.potentials
        label = self.label_of_state
        sides = (label > 0) & (label[:, None] > 0) & (label != label[:, None])
        return self.potentials + self.eased * sides.to(self.weights.dtype)

    def set_potentials(self, potentials: Tensor) -> None:
        """Take W (matrices, S, S); with tying, the mean over each orbit."""
        with torch.no_grad():
            if self._index is None:
                self.weights.copy_(potentials)
                return
            index = self._index.reshape(-1)
            sums = torch.zeros(self.weights.shape, dtype=torch.float64)
            sums.index_add_(0, index, potentials.to("cpu", torch.float64).reshape(-1))
            self.weights.copy_(sums / torch.bincount(index))

    # The trainer's contract -------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        return {"weights": self.weights, "emission": self.emission}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of an equal model, of a tied one, or of one with fewer clones of the first label.

        Without tying, tied potentials are only a start; of fewer clones each is split. A model that knows no short
        edges leaves the emission as it is.
        """
        for name, tensor in self.tensors().items():
            given = tensors.get(name)
            if name == "emission" and given is not None and self.short_edges and given.shape == (self.labels,):
                continue
            if name == "weights" and given is not None and given.shape != tensor.shape:
                from mrfstudio.engine.families.grid.growth import grown

                given = grown(self, given)
            if given is None or given.shape != tensor.shape:
                found = tuple(tensors[name].shape) if name in tensors else "missing"
                raise GridError(f"The tensor {name!r} is {found}: expected shape {tuple(tensor.shape)}.")
            with torch.no_grad():
                tensor.copy_(given)

    def hyperparameters(self) -> dict[str, Any]:
        return {
            "clones": list(self.clones),
            "connectivity": self.connectivity,
            "tying": self.tying,
            "short_edges": self.short_edges,
            "label_names": list(self.label_names),
            "start": self.start,
            "iterations": self.iterations,
            "eased": self.eased,
            "sizes": None if self.sizes is None else list(self.sizes),
            "likeness": self.likeness,
        }

    def to(self, dtype: torch.dtype) -> GridMRF:
        """The same model in another precision."""
        return GridMRF(
            weights=self.weights.detach().to(dtype), emission=to_host(self.emission), **self.hyperparameters()
        )

    # Start, emission and evidence -------------------------------------------------------------------------------------

    def randomise(self, seed: int, frequencies: ArrayLike, noise: float = 0.5) -> None:
        """Noise N(0, noise²) around the log-prior of the labels, spread over the edges of a node.

        `frequencies` (labels,): how often each label occurs. Without the prior the first loss is eight times larger.
        """
        share = np.asarray(frequencies, dtype=np.float64) / np.array(self.clones)
        prior = torch.log(torch.from_numpy(np.maximum(share, 1e-6)))[self.label_of_state] / self.connectivity
        generator = torch.Generator().manual_seed(seed)
        self.set_potentials((prior[:, None] + prior[None, :]).expand(self.matrices, -1, -1).to(self.weights.dtype))
        with torch.no_grad():
            drawn = torch.randn(self.weights.shape, generator=generator, dtype=torch.float64)
            self.weights.add_(noise * drawn.to(self.weights.dtype))

    def estimate_emission(self, labels: ArrayLike, noisy: ArrayLike) -> np.ndarray:
        """Set the emission to what `labels` and `noisy` (0 seen, 1 not), same shape, have.

        A label that never occurs keeps its emission.
        """
        estimate = estimated(labels, noisy, to_host(self.emission))
        self.emission.copy_(torch.from_numpy(estimate))
        return estimate

    @property
    def log_emission(self) -> Tensor:
        """log e(what is shown | label), (4, labels): of a contour seen, of none, of nothing known, of a short edge."""
        table = log_table(to_host(self.emission))
        return torch.as_tensor(table, dtype=self.weights.dtype, device=self.weights.device)

    def evidence_from_image(self, noisy: ArrayLike) -> Evidence:
        """Evidence (…, H, W, labels) of a contour image (…, H, W) in which 0 is a contour seen and 1 is not."""
        kinds = torch.as_tensor(shown(np.asarray(noisy) != 0, self.short_edges), device=self.weights.device)
        return Evidence(self.log_emission[kinds.long()])

    def with_hints(self, evidence: Evidence, hints: ArrayLike) -> Evidence:
        """Evidence (…, H, W, labels) in which hints (…, H, W) below the number of labels are certain."""
        given = torch.as_tensor(np.asarray(hints), device=self.weights.device).long()
        log = evidence.log_potentials
        certain = torch.where(torch.eye(self.labels, dtype=torch.bool, device=log.device), 0.0, -math.inf).to(log.dtype)
        hinted = certain[given.clamp_max(self.labels - 1)]
        return Evidence(torch.where((given < self.labels).unsqueeze(-1), hinted, log))

    def label_evidence(self, evidence: Evidence) -> Tensor:
        """Evidence (…, H, W, labels) as (labels, N)."""
        return evidence.log_potentials.reshape(-1, self.labels).t().to(self.weights.dtype).contiguous()

    def state_evidence(self, evidence: Evidence) -> Tensor:
        """Evidence (…, H, W, labels) given to every clone, as the kernel wants it: (S, N)."""
        flat = self.label_evidence(evidence)
        return flat.index_select(0, self.label_of_state.to(flat.device))

    def shape_of(self, evidence: Evidence) -> GridShape:
        """Batch and image size of evidence (…, H, W, labels)."""
        *batch, height, width, labels = evidence.log_potentials.shape
        if labels != self.labels:
            raise GridError(f"The evidence has {labels} labels: this model has {self.labels}.")
        return GridShape(math.prod(batch), height, width, self.connectivity)

    def label_beliefs(self, beliefs: Tensor) -> Tensor:
        """Sum over clones: (…, S) to (…, labels)."""
        return torch.stack([part.sum(-1) for part in beliefs.split(self.clones, -1)], -1)

    # The same distribution as a factor graph --------------------------------------------------------------------------

    def to_factor_graph(self, height: int, width: int) -> FactorGraph:
        """A variable for each pixel in row-major order, a factor for each edge, ordered by direction."""
        key = (height, width, self.weights._version)  # a trainer changes the weights in place
        if key not in self._graphs:
            self._graphs.clear()
            self._graphs[key] = self._make_graph(height, width)
        return self._graphs[key]

    def _make_graph(self, height: int, width: int) -> FactorGraph:
        pixel = torch.arange(height * width, device=self.weights.device).reshape(height, width)
        tables, scopes = [], []
        for matrix, (row, column) in zip(self.potentials.detach(), STEPS[: self.matrices], strict=True):
            rows, columns = max(height - row, 0), max(width - abs(column), 0)
            left = max(-column, 0)
            first = pixel[:rows, left : left + columns]
            second = pixel[row:, left + column : left + column + columns]
            if first.numel():
                scopes.append(torch.stack([first.reshape(-1), second.reshape(-1)]))
                tables.append(matrix[:, :, None].expand(-1, -1, first.numel()))
        groups = []
        if scopes:
            scope = torch.cat(scopes, 1)
            groups.append(FactorGroup(torch.cat(tables, 2), scope, torch.arange(scope.shape[1], device=scope.device)))
        return FactorGraph(
            [self.states] * (height * width), groups, dtype=self.weights.dtype, device=self.weights.device
        )

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        """The factor graph for evidence (…, H, W, labels), and that evidence in the graph's packing."""
        shape = self.shape_of(evidence)
        graph = self.to_factor_graph(shape.height, shape.width)
        entries = self._entries(graph)
        states = self.state_evidence(evidence).reshape(self.states, shape.batch, -1).permute(1, 2, 0)
        packed = states.new_zeros((shape.batch, graph.packing.size))
        packed[:, entries.reshape(-1)] = states.reshape(shape.batch, -1)
        return graph, Evidence(packed.reshape(*evidence.log_potentials.shape[:-3], -1))

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        """Packed beliefs of that graph as (…, H, W, S)."""
        shape = self.shape_of(evidence)
        entries = self._entries(self.to_factor_graph(shape.height, shape.width))
        picked = beliefs[..., entries.reshape(-1)]
        return picked.reshape(*evidence.log_potentials.shape[:-1], self.states)

    def _entries(self, graph: FactorGraph) -> Tensor:
        """Where the states of each pixel lie in the graph's packing, (pixels, S)."""
        each = [
            graph.packing.entry_of(torch.full((graph.variables,), s, device=graph.device)) for s in range(self.states)
        ]
        return torch.stack(each, 1)


def _check_tying(tying: str, clones: Sequence[int], connectivity: int) -> None:
    if tying not in ("free", "square", "lines"):
        raise GridError(f"The tying is {tying!r}: expected free, square or lines.")
    if tying == "lines" and (connectivity != 8 or len(clones) != 3 or turns_of(clones[0]) is None):
        raise GridError(
            f"Lines need 8 neighbours and 8, 24, 40, 56, … clones of the first of three labels: found {connectivity} "
            f"and {list(clones)}."
        )


@MODELS.register
class Grid(ModelPlan):
    """What a person chooses about a new grid model."""

    name = "grid"
    title = "Cloned grid MRF"
    default_data = "border"
    demonstration = TrainingPlan(
        "grid",
        "query",
        "border",
        minutes=2.0,
        options={
            "clones": 16,
            "validate_every": 40,
            "validation_items": 50,
            "count": 1000,
            "validation": 100,
            "test": 0,
        },
    )
    summary = "Labels of pixels with hidden clones and the same potentials everywhere; segments noisy contour images."

    clones: int = integer(64, "Hidden states of the contour label; IN and OUT have one each.", low=1, high=512)
    connectivity: str = choice("8", ("4", "8"), "Neighbours of a pixel.")
    tying: str = choice(
        "square",
        ("free", "square", "lines"),
        "Whether rotating or mirroring an image rotates or mirrors its answer; with lines, clones begin as headings "
        "along a contour (24, 40 or 56 of them).",
    )

    short_edges: bool = flag(
        False,
        "Whether short edges, three pixels in a row that touch nothing, have a probability of their own: the noise of "
        "border ownership has many, and contours few.",
    )

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        clones = [int(count) for count in hyperparameters["clones"]]
        states, matrices = sum(clones), int(hyperparameters["connectivity"]) // 2
        emission = (3, len(clones)) if hyperparameters.get("short_edges") else (len(clones),)
        if hyperparameters["tying"] == "free":
            return {"weights": (matrices, states, states), "emission": emission}
        if states > MOST_TIED_STATES or min(clones, default=0) < 1:  # which entries share a number takes a table
            raise GridError(f"A grid with tying has {states} states: expected at most {MOST_TIED_STATES}.")
        tying = str(hyperparameters["tying"])
        _check_tying(tying, clones, 2 * matrices)
        _, count = tied_index(tuple(clones), GridShape(1, 1, 1, 2 * matrices).directions, tying)
        return {"weights": (count,), "emission": emission}

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> GridMRF:
        """An empty model like the one a file describes."""
        return GridMRF(**hyperparameters)

    start_noise: float = number(0.5, "Standard deviation of the first potentials.", low=0.0, advanced=True)

    def build(self, seed: int, frequencies: ArrayLike, emission: ArrayLike | None) -> GridMRF:
        """A new model with random potentials; `frequencies` (3,) of contour, OUT and IN, `emission` as in `GridMRF`."""
        model = GridMRF(
            (self.clones, 1, 1),
            connectivity=int(self.connectivity),
            tying=self.tying,
            short_edges=self.short_edges,
            emission=emission,
        )
        if self.tying == "lines":
            first = line_potentials(model.clones, GridShape(1, 1, 1, model.connectivity).directions[: model.matrices])
            model.set_potentials(torch.from_numpy(first))
        else:
            model.randomise(seed, frequencies, self.start_noise)
        model.weights.requires_grad_()
        return model

    def build_for(self, data: TrainingData, seed: int) -> GridMRF:
        """A new model whose emission and label frequencies are estimated from noisy contour images."""
        some = data.train[torch.arange(min(2000, len(data.train)))]
        if not isinstance(some, Mapping) or not {"images", "noisy_images"} <= set(some):
            raise GridError(f"The data {data.name!r} are no noisy contour images: expected border or border:FILE.npz.")
        labels, noisy = to_host(some["images"]), to_host(some["noisy_images"])
        frequencies = np.bincount(labels.ravel(), minlength=len(LABEL_NAMES)) / labels.size
        model = self.build(seed, frequencies, None)
        model.estimate_emission(labels, noisy)
        return model
