"""What an algorithm is, and how it finds the kernel for a model.

An algorithm is a frozen value of its parameters; a state is a frozen value of tensors; `step` maps one state to the
next without side effects. Stepping, scrubbing, lock-step comparison and unrolling for gradients are the same code.

To add an algorithm, write one file in this package:

    @ALGORITHMS.register
    class MeanField(Algorithm):            # parameters: catalogue.number(...), ...
        name = "mean-field"

    @kernel(MeanField, FactorGraph)
    class MeanFieldOnGraph(Kernel): ...    # init, step, beliefs, factor_beliefs, log_partition

A second kernel for a special model (a grid, a bipartite graph) is one more decorated class. Of those that cover a pair
the one for the most specific model wins, then the one with the highest priority. A model without a kernel of its own is
worked on as its factor graph.

Beliefs of models with labels are probabilities, (…, states) for each node. Nodes with continuous values have Gaussian
beliefs instead: the last axis then holds mean and variance, in the model's outer units (grey levels for pictures).
Their evidence is a `GaussianEvidence`. Models with hidden units also answer `hidden_beliefs`, and samplers `samples`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import AnyEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.catalogue import Parameters
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import ALGORITHMS, load_family
from mrfstudio.engine.runtime.threads import fitting_threads

PlanEnd = Literal["converged", "settled", "iteration limit", "idle"]


ONE_THREAD = 16_000
"""Numbers of which torch gives none to a second thread: saying so would take a part of a quick step."""


class Unsupported(StudioError):
    """An algorithm does not cover a model. The message is one sentence that names one that does."""


@dataclass(frozen=True, eq=False)
class State:
    """Where a run is. Subclasses add tensors; `residual` is a tensor without axes.

    The residual is the largest change of a normalised message before damping, as a probability, or in logarithms where
    probabilities saturate (`residuals.py`). An algorithm without messages says in its summary what it measures instead.
    """

    stored: ClassVar[bool] = True
    """Whether session files hold it; one that is quick to compute again need not be."""
    iteration: int
    residual: Tensor
    partial: Any = field(default=None, kw_only=True)
    """What an interrupted step had done so far (`runtime/interruption.py`); None in every state that a step returns."""
    remembered: ClassVar[tuple[str, ...]] = ()
    """Fields that a run can go on without: they may have any size, and files of older versions lack them."""

    @property
    def preparing(self) -> bool:
        """Whether its step prepared a start: residuals of such steps do not compare with each other."""
        return False

    @property
    def steadied(self) -> bool:
        """Whether messages that swing are held back in it: a residual that stays does not mean that it diverges."""
        return False


@dataclass(frozen=True)
class LogPartition:
    """A value for log Z (natural logarithm, evidence included) and what kind of statement it is."""

    value: float | None
    kind: str | None  # exact, lower_bound, upper_bound, estimate or None


NO_LOG_PARTITION = LogPartition(None, None)


@runtime_checkable
class Model(Protocol):
    """A distribution that algorithms can work on."""

    @property
    def kind(self) -> str: ...


@runtime_checkable
class GraphLike(Protocol):
    """A model that can be written out as a factor graph, for algorithms that have no kernel for it."""

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        """The same distribution as a graph, and the same evidence in the graph's packing."""
        ...

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        """Packed beliefs of that graph in the shape of the model's own beliefs."""
        ...


@runtime_checkable
class HiddenGraphLike(Protocol):
    """A `GraphLike` model some of whose variables are hidden units."""

    def hidden_from_graph(self, beliefs: Tensor) -> Tensor:
        """Packed beliefs (…, size) of its graph as p(1) of the hidden units, (…, hidden)."""
        ...


class Algorithm(Parameters):
    """Base of every inference algorithm."""

    single_step: ClassVar[bool] = False
    """Whether one step gives the answer (exact inference)."""
    sampling: ClassVar[bool] = False
    """Whether the residual is an error of sampling: it may go up and down without anything diverging."""
    staged: ClassVar[bool] = False
    """Whether one way after another is tried: it ends by itself, and residuals before that say nothing."""
    marginals_only: ClassVar[bool] = False
    """Whether there are beliefs of variables alone: learning by marginals also needs those of factors."""

    begins_anew: ClassVar[bool] = False
    """Whether `resume` keeps nothing of a state but what `counted` does."""

    @property
    def planned(self) -> int | None:
        """Iterations that are enough for a run that nobody limits; None where only convergence tells."""
        return None

    def supports(self, model: Model) -> str | None:
        """None, or one sentence that says why not and names an algorithm that can."""
        # In this order: whether a value fits a protocol takes as long as a small iteration.
        if isinstance(model, FactorGraph) or _find_kernel(self, model) or isinstance(model, GraphLike):
            return None
        able = _names_for(model)
        if self.name in able:
            return f"{self.name} works on a {model.kind} only with other parameters: set them back to their defaults."
        return f"{self.name} has no way to work on a {model.kind}: use {' or '.join(able) or 'another model'}."

    def kernel_for(self, model: Model) -> Kernel:
        """The preferred kernel that covers the model, else the factor-graph one."""
        if isinstance(model, FactorGraph):  # asked for at every step, and answering takes a part of a quick one
            return model.derived(("kernel", self), lambda: self._choose_kernel(model))
        return self._choose_kernel(model)

    def _choose_kernel(self, model: Model) -> Kernel:
        reason = self.supports(model)
        if reason is not None:
            raise Unsupported(reason)
        return _find_kernel(self, model) or _ThroughGraph()

    def init(self, model: Model, evidence: AnyEvidence) -> State:
        """The state before the first step. Raises `ContradictoryEvidence` where no state is left."""
        return self.kernel_for(model).init(self, model, evidence)

    def step(self, model: Model, evidence: AnyEvidence, state: State) -> State:
        """One iteration, on as many threads as the work is worth."""
        chosen = self.kernel_for(model)
        entries = chosen.entries(model, evidence)
        if entries is None:  # asking for threads takes a part of a quick step
            return chosen.step(self, model, evidence, state)
        with fitting_threads(entries):
            return chosen.step(self, model, evidence, state)

    def resume(self, model: Model, evidence: AnyEvidence, state: State) -> State:
        """Where to go on from when the evidence has changed since `state`: messages stay as they are."""
        return self.kernel_for(model).resume(self, model, evidence, state)

    def counted(self, state: State) -> State:
        """Of a state how many iterations there were and nothing else, where the algorithm `begins_anew`."""
        return state

    def remaining(self, state: State) -> int | None:
        """Iterations that a plan has left after a step, 0 at its end; None: there is no plan, the residual decides."""
        return None

    def plan_end(self, state: State) -> PlanEnd:
        """What the end of a plan is: an iteration limit where something still moves, idle where nothing was to do."""
        return "settled"

    def beliefs(self, model: Model, evidence: AnyEvidence, state: State) -> Tensor:
        """Normalised single-node beliefs in the model's own shape (a factor graph: packed).

        Continuous nodes, such as the pixels of a GRBM, have (…, 2): mean and variance.
        """
        return self.kernel_for(model).beliefs(self, model, evidence, state)

    def label_beliefs(self, model: Model, evidence: AnyEvidence, state: State) -> Tensor:
        """Beliefs of labels, (…, labels), for models in which several states of a node bear the same label."""
        return self.kernel_for(model).label_beliefs(self, model, evidence, state)

    def factor_beliefs(self, model: Model, evidence: AnyEvidence, state: State) -> list[Tensor]:
        """Normalised beliefs of factors; on a factor graph one tensor (k_1, …, k_r, n) for each group."""
        return self.kernel_for(model).factor_beliefs(self, model, evidence, state)

    def hidden_beliefs(self, model: Model, evidence: AnyEvidence, state: State) -> Tensor:
        """p(h = 1) of binary hidden units, (…, hidden), for models that have some."""
        return self.kernel_for(model).hidden_beliefs(self, model, evidence, state)

    def samples(self, model: Model, evidence: AnyEvidence, state: State) -> Tensor:
        """Where the chains of a sampler are now, (chains, …) in the model's own shape and outer units."""
        return self.kernel_for(model).samples(self, model, evidence, state)

    def log_partition(self, model: Model, evidence: AnyEvidence, state: State) -> LogPartition:
        """The algorithm's value for log Z at this state, with its kind."""
        return self.kernel_for(model).log_partition(self, model, evidence, state)

    def residual(self, state: State) -> float:
        return float(state.residual)

    def decides(self, state: State) -> bool:
        """Whether a state is an exact answer, which there would be none of if nothing were possible."""
        return self.single_step and state.iteration > 0

    def remarks(self, state: State) -> dict[str, Any]:
        """What else there is to say of an answer, by name, such as what was picked and why; plain values."""
        return {}

    def words(self, state: State) -> str:
        """What the window says of a state beside its badge, in one sentence; empty where the badge is enough."""
        return ""

    def doubt(self, model: Model, evidence: AnyEvidence, state: State, tolerance: float) -> str | None:
        """Why a state whose residual is below the tolerance is no answer yet, in one sentence; None where it is one.

        Asked only then, and at the end of a run: it may take as long as a step.
        """
        return self.kernel_for(model).doubt(self, model, evidence, state, tolerance)


class Kernel:
    """One algorithm on one type of model. All methods are pure.

    Tensors are made on the device of the model, and a step never waits for a number of it: `.numpy()` and `.item()`
    are for kernels that declare `on_cpu`.
    """

    on_cpu: ClassVar[str] = ""
    """Of a kernel that computes with numpy on the CPU, wherever the model is: what gives such answers in torch."""

    def covers(self, algorithm: Any, model: Any) -> bool:
        """Whether this kernel can do this value of the algorithm on this model."""
        return True

    def entries(self, model: Any, evidence: Any) -> int | None:
        """Numbers that one step touches, to choose the threads by; None where the kernel knows better."""
        if not isinstance(model, FactorGraph):
            return None
        given, size = evidence.log_potentials, model.packing.message_size
        if given.ndim == 1 and size < ONE_THREAD:
            return None
        return size * (given.numel() // max(given.shape[-1], 1))

    def init(self, algorithm: Any, model: Any, evidence: Any) -> Any:
        raise NotImplementedError

    def step(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> Any:
        raise NotImplementedError

    def resume(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> Any:
        return state

    def beliefs(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> Tensor:
        raise NotImplementedError

    def label_beliefs(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> Tensor:
        summed: Tensor = model.label_beliefs(self.beliefs(algorithm, model, evidence, state))
        return summed

    def factor_beliefs(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> list[Tensor]:
        raise Unsupported(f"{algorithm.name} gives no beliefs of factors on a {model.kind}.")

    def hidden_beliefs(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> Tensor:
        raise Unsupported(f"{algorithm.name} gives no beliefs of hidden units on a {model.kind}.")

    def samples(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> Tensor:
        raise Unsupported(f"{algorithm.name} draws no samples of a {model.kind}: use gibbs.")

    def log_partition(self, algorithm: Any, model: Any, evidence: Any, state: Any) -> LogPartition:
        return NO_LOG_PARTITION

    def doubt(self, algorithm: Any, model: Any, evidence: Any, state: Any, tolerance: float) -> str | None:
        return None


KernelClass = TypeVar("KernelClass", bound=type[Kernel])


@dataclass(frozen=True)
class _Registered:
    """A kernel and what it was declared for."""

    algorithm: type[Algorithm]
    model: type
    priority: int
    kernel: Kernel

    def fits(self, algorithm: type, model: type) -> bool:
        return issubclass(algorithm, self.algorithm) and issubclass(model, self.model)

    def rank(self, algorithm: type, model: type) -> tuple[int, int, int, str]:
        """Small is preferred: the most specific model, then the most specific algorithm, then the priority."""
        nearness = model.__mro__.index(self.model), algorithm.__mro__.index(self.algorithm)
        return *nearness, -self.priority, type(self.kernel).__qualname__


_KERNELS: list[_Registered] = []
_FITTING: dict[tuple[type, type], list[Kernel]] = {}
"""Kernels by the types of algorithm and model: every step and every look at beliefs asks for them."""


def kernel(algorithm: type[Algorithm], model: type, priority: int = 0) -> Callable[[KernelClass], KernelClass]:
    """Class decorator that registers a kernel for (algorithm, model type); a higher priority is tried first."""

    def register(cls: KernelClass) -> KernelClass:
        _KERNELS.append(_Registered(algorithm, model, priority, cls()))
        _FITTING.clear()
        return cls

    return register


def kernels(algorithm: Algorithm, model: Model) -> list[Kernel]:
    """Every kernel that covers this pair, the preferred one first. Tests compare them with each other."""
    return [k for k in _fitting(type(algorithm), type(model)) if k.covers(algorithm, model)]


def _fitting(algorithm: type[Algorithm], model: type) -> list[Kernel]:
    """Every kernel for these types, the preferred one first."""
    pair = algorithm, model
    if pair not in _FITTING:
        _load_kernels(*pair)
        known = sorted((k for k in _KERNELS if k.fits(*pair)), key=lambda k: k.rank(*pair))
        _FITTING[pair] = [k.kernel for k in known]
    return _FITTING[pair]


def _load_kernels(algorithm: type[Algorithm], model: type) -> None:
    """Kernels lie in the folder of the algorithm, or in that of the model's family."""
    load_family(algorithm)
    if model is not FactorGraph:
        load_family(model)


def _find_kernel(algorithm: Algorithm, model: Model) -> Kernel | None:
    return next((k for k in _fitting(type(algorithm), type(model)) if k.covers(algorithm, model)), None)


def algorithms_of(model: Model) -> tuple[str, ...]:
    """Those with a kernel for a kind of model; as a factor graph a grid of clones would take seconds an iteration."""
    return tuple(cls.name for cls in ALGORITHMS if kernels(cls(), model))  # type: ignore[arg-type]


def _names_for(model: Model) -> list[str]:
    """Algorithms that have a kernel for this type of model, whatever their parameters."""
    ALGORITHMS.load_all()
    load_family(type(model))
    return sorted({known.algorithm.name for known in _KERNELS if isinstance(model, known.model)})


class _ThroughGraph(Kernel):
    """The fallback: work on `model.as_graph(evidence)`."""

    def init(self, algorithm: Algorithm, model: GraphLike, evidence: Evidence) -> State:
        graph, packed = model.as_graph(evidence)
        return algorithm.init(graph, packed)

    def step(self, algorithm: Algorithm, model: GraphLike, evidence: Evidence, state: State) -> State:
        graph, packed = model.as_graph(evidence)
        return algorithm.step(graph, packed, state)

    def beliefs(self, algorithm: Algorithm, model: GraphLike, evidence: Evidence, state: State) -> Tensor:
        graph, packed = model.as_graph(evidence)
        return model.from_graph(algorithm.beliefs(graph, packed, state), evidence)

    def factor_beliefs(self, algorithm: Algorithm, model: GraphLike, evidence: Evidence, state: State) -> list[Tensor]:
        graph, packed = model.as_graph(evidence)
        return algorithm.factor_beliefs(graph, packed, state)

    def hidden_beliefs(self, algorithm: Algorithm, model: GraphLike, evidence: Evidence, state: State) -> Tensor:
        if not isinstance(model, HiddenGraphLike):
            return super().hidden_beliefs(algorithm, model, evidence, state)
        graph, packed = model.as_graph(evidence)
        return model.hidden_from_graph(algorithm.beliefs(graph, packed, state))

    def samples(self, algorithm: Algorithm, model: GraphLike, evidence: Evidence, state: State) -> Tensor:
        """The states of a graph's chains as the model shows beliefs: a chain is certain of where it is."""
        graph, packed = model.as_graph(evidence)
        places = graph.packing.entry_of(algorithm.samples(graph, packed, state))
        certain = torch.zeros(len(places), graph.packing.size, dtype=graph.dtype, device=graph.device).scatter(
            1, places, 1.0
        )
        return model.from_graph(certain, evidence).argmax(-1)

    def log_partition(self, algorithm: Algorithm, model: GraphLike, evidence: Evidence, state: State) -> LogPartition:
        graph, packed = model.as_graph(evidence)
        return algorithm.log_partition(graph, packed, state)

    def doubt(
        self, algorithm: Algorithm, model: GraphLike, evidence: Evidence, state: State, tolerance: float
    ) -> str | None:
        graph, packed = model.as_graph(evidence)
        return algorithm.doubt(graph, packed, state, tolerance)


def nothing_changed(like: Tensor) -> Tensor:
    """The residual, a scalar, of a state that has not stepped yet: infinite, so that nobody calls it converged."""
    return torch.full((), torch.inf, dtype=like.dtype, device=like.device)
