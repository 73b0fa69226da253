"""Belief propagation on the cloned grid: the kernel behind `bp` for `GridMRF`.

The state holds messages in the linear domain whatever the temperature, so a moved slider goes on from the same state.
Sum-product is `grid_kernel`'s matrix products. Temperature T is sum-product on (W, evidence) / T with messages m^(1/T).
Temperature 0, and temperatures too low for the linear domain, loop over the sender's states in the log domain.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor

from mrfstudio.engine.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.contract import NO_LOG_PARTITION, Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.grid_kernel import next_messages, span, uniform_messages, widest_span
from mrfstudio.engine.inference.grid_steps import (
    Prepared,
    Products,
    advanced,
    label_beliefs,
    prepared,
    products,
    state_beliefs,
)
from mrfstudio.engine.interruption import breathe
from mrfstudio.engine.models.grid import GridMRF
from mrfstudio.engine.models.grid_shape import GridShape

KEPT = 6
"""Products of messages that are kept: one for each lane."""


@dataclass(frozen=True, eq=False)
class GridMessages(State):
    """Messages (directions, S, N) with mean 1 over the states, see `grid_kernel`."""

    messages: Tensor


@kernel(BeliefPropagation, GridMRF)
class GridBeliefPropagation(Kernel):
    """Parallel updates on a batch of images; beliefs are (…, H, W, S)."""

    def covers(self, algorithm: BeliefPropagation, model: GridMRF) -> bool:
        if algorithm.kernel == "generic" or algorithm.schedule != "parallel":
            return False
        return _prepared(model).span < 2 * widest_span(model.weights.dtype)

    def init(self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence) -> GridMessages:
        log_evidence = self._evidence(model, evidence)
        messages = uniform_messages(model.shape_of(evidence), model.states, log_evidence)
        return GridMessages(0, nothing_changed(log_evidence), messages)

    def step(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> GridMessages:
        old = state.messages
        proposal, change = self._proposal(algorithm, model, evidence, old)
        residual = change / model.states
        messages = _damped(proposal, old, algorithm.damping) if algorithm.damping else proposal
        return GridMessages(state.iteration + 1, residual, messages)

    def _proposal(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, old: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The undamped messages and the largest change of an entry."""
        shape = model.shape_of(evidence)
        if old.numel() and algorithm.temperature == 1.0 and _linear(model, evidence, old):
            ready, labels = _prepared(model), self._label_evidence(model, evidence)
            return advanced(old, _products(model, old), ready, labels, shape)
        new = _proposal(old, model.potentials, self._evidence(model, evidence), shape, algorithm.temperature)
        with torch.no_grad():
            return new, torch.sub(new, old).abs_().amax() if old.numel() else old.new_zeros(())

    def beliefs(self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages) -> Tensor:
        return _as_image(self._state_beliefs(model, evidence, state.messages), evidence)

    def label_beliefs(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> Tensor:
        """Without a look at the clones where the evidence alone is new."""
        if not _linear(model, evidence, state.messages):
            return super().label_beliefs(algorithm, model, evidence, state)
        product = _products(model, state.messages)
        return _as_image(label_beliefs(product, self._label_evidence(model, evidence)), evidence)

    def beliefs_without_evidence(self, model: GridMRF, evidence: Evidence, state: GridMessages) -> Tensor:
        """Beliefs (…, H, W, S) from what the neighbours say, without the pixel's own evidence."""
        return _as_image(torch.softmax(torch.log(state.messages).sum(0), 0), evidence)

    def factor_beliefs(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> list[Tensor]:
        """One tensor (…, S, S, edges) in the order of the factor graph's edges: large, meant for small images."""
        shape, log = model.shape_of(evidence), torch.log(state.messages)
        totals = self._evidence(model, evidence) + log.sum(0)
        parts = []
        for d, matrix in enumerate(model.potentials):
            first, second = _ends(shape, d)
            near = (totals - log[shape.opposite(d)])[:, first]  # (S, batch, edges)
            far = (totals - log[d])[:, second]
            tables = near[:, None] + far[None] + matrix[:, :, None, None]
            flat = tables.permute(2, 3, 0, 1).flatten(-2)
            parts.append(torch.softmax(flat, -1).unflatten(-1, matrix.shape).permute(0, 2, 3, 1))
        joined = torch.cat(parts, -1)
        return [joined.reshape(*evidence.log_potentials.shape[:-3], *joined.shape[1:])] if joined.numel() else []

    def log_partition(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> LogPartition:
        if algorithm.temperature != 1.0 or model.shape_of(evidence).batch != 1:
            return NO_LOG_PARTITION
        beliefs = self._state_beliefs(model, evidence, state.messages)
        value = _bethe(model, self._evidence(model, evidence), state.messages, beliefs, model.shape_of(evidence))
        return LogPartition(float(value), "estimate")

    def _state_beliefs(self, model: GridMRF, evidence: Evidence, messages: Tensor) -> Tensor:
        """Normalised beliefs (S, N). Without gradients a product of messages does, which is several times faster."""
        if not _linear(model, evidence, messages):
            return torch.softmax(self._evidence(model, evidence) + torch.log(messages).sum(0), 0)
        product = _products(model, messages)
        return state_beliefs(product, self._label_evidence(model, evidence), model.clones)

    def _evidence(self, model: GridMRF, evidence: Evidence) -> Tensor:
        """(S, N)."""
        return evidence.derived(model, "states", lambda: _checked(model, evidence, model.state_evidence(evidence)))

    def _label_evidence(self, model: GridMRF, evidence: Evidence) -> Tensor:
        """(labels, N)."""
        return evidence.derived(model, "labels", lambda: _checked(model, evidence, model.label_evidence(evidence)))


# By model, with the version of its weights: a trainer changes them in place.
_ready: WeakKeyDictionary[GridMRF, tuple[int, Prepared]] = WeakKeyDictionary()


def _prepared(model: GridMRF) -> Prepared:
    version, ready = _ready.get(model, (-1, None))
    if ready is None or version != model.weights._version:
        ready = prepared(model.potentials.detach(), model.clones)
        _ready[model] = model.weights._version, ready
    return ready


def _linear(model: GridMRF, evidence: Evidence, messages: Tensor) -> bool:
    """Whether `grid_steps` can do it: no gradients are wanted, and messages stay in the range of floats."""
    flowing = messages.requires_grad or model.weights.requires_grad or evidence.differentiated
    return not (flowing and torch.is_grad_enabled()) and _prepared(model).span < widest_span(messages.dtype)


# The products of the messages that were last looked at. Each is needed twice, by the picture and by the next iteration,
# and for every stroke between.
_recent: OrderedDict[int, tuple[ref[Tensor], int, Products]] = OrderedDict()
_recent_lock = threading.Lock()


def _products(model: GridMRF, messages: Tensor) -> Products:
    key, version = id(messages), model.weights._version
    with _recent_lock:
        known = _recent.get(key)
    if known is not None and known[0]() is messages and known[1] == version:
        return known[2]
    made = products(messages, _prepared(model))
    with _recent_lock:
        _recent[key] = ref(messages), version, made
        _recent.move_to_end(key)
        for old in [k for k, (tensor, _, _) in _recent.items() if tensor() is None]:
            del _recent[old]
        while len(_recent) > KEPT:
            _recent.popitem(last=False)
    return made


def _checked(model: GridMRF, evidence: Evidence, log_evidence: Tensor) -> Tensor:
    dead = torch.isneginf(log_evidence).all(0)
    if bool(dead.any()):
        image = model.shape_of(evidence).height * model.shape_of(evidence).width
        row, column = divmod(int(dead.int().argmax()) % image, model.shape_of(evidence).width)
        raise ContradictoryEvidence(f"(row {row}, column {column})")
    return log_evidence


def _as_image(beliefs: Tensor, evidence: Evidence) -> Tensor:
    """(S, N) to (…, H, W, S)."""
    return beliefs.t().reshape(*evidence.log_potentials.shape[:-1], len(beliefs))


def _mean_one(messages: Tensor) -> Tensor:
    return messages / messages.mean(dim=-2, keepdim=True)


def _damped(proposal: Tensor, old: Tensor, damping: float) -> Tensor:
    """Damping of log-messages: a geometric mean."""
    return _mean_one(torch.exp(torch.lerp(torch.log(proposal), torch.log(old), damping)))


def _proposal(old: Tensor, potentials: Tensor, log_evidence: Tensor, shape: GridShape, temperature: float) -> Tensor:
    if temperature > 0 and span(potentials.detach()) / temperature < widest_span(old.dtype):
        if temperature == 1.0:
            return next_messages(old, potentials, log_evidence, shape)
        sharp = _mean_one(torch.pow(old / old.amax(dim=1, keepdim=True), 1.0 / temperature))
        new = next_messages(sharp, potentials / temperature, log_evidence / temperature, shape)
        return _mean_one(torch.pow(new / new.amax(dim=1, keepdim=True), temperature))
    return _log_domain(old, potentials, log_evidence, shape, temperature)


def _log_domain(old: Tensor, potentials: Tensor, log_evidence: Tensor, shape: GridShape, temperature: float) -> Tensor:
    """Any temperature, exactly, without a (S, S, N) tensor: one pass over (S, N) for each state of the sender."""
    log = torch.log(old)
    totals = log_evidence + log.sum(0)
    received = []
    for d in range(shape.connectivity):
        matrix = potentials[d % shape.matrices]
        cavity = totals - log[shape.opposite(d)]
        cavity = cavity - cavity.amax(0, keepdim=True)
        rows = matrix if d < shape.matrices else matrix.t()
        peak = cavity[0] + rows[0][:, None]
        for state in range(1, len(rows)):
            peak = torch.maximum(peak, cavity[state] + rows[state][:, None])
        if temperature > 0:
            total = torch.zeros_like(peak)
            for state in range(len(rows)):
                total = total + torch.exp((cavity[state] + rows[state][:, None] - peak) / temperature)
            peak = peak + temperature * torch.log(total)
        senders, receivers = shape.shift(d)
        moved = torch.ones_like(peak)
        moved[:, receivers] = _mean_one(torch.exp(peak - peak.amax(0, keepdim=True)))[:, senders]
        shape.fill_border(moved, d, 1.0)
        received.append(moved)
    return torch.stack(received)


@lru_cache(maxsize=64)  # a few shapes, asked for at every log Z
def _ends(shape: GridShape, direction: int) -> tuple[Tensor, Tensor]:
    """Pixel numbers (batch, edges) of the first and second ends of all edges of one direction."""
    row, column = shape.directions[direction]
    pixel = torch.arange(shape.pixels).reshape(shape.batch, shape.height, shape.width)
    rows, columns, left = max(shape.height - row, 0), max(shape.width - abs(column), 0), max(-column, 0)
    first = pixel[:, :rows, left : left + columns]
    second = pixel[:, row:, left + column : left + column + columns]
    return first.flatten(1), second.flatten(1)


def _bethe(model: GridMRF, log_evidence: Tensor, messages: Tensor, beliefs: Tensor, shape: GridShape) -> Tensor:
    """log Z_Bethe = Σ_edges log Z_ij + Σ_i (1 - degree_i) log Z_i, in about the time of one iteration.

    From beliefs instead of totals every edge's term lacks log Z_i + log Z_j, and the second sum becomes Σ_i log Z_i.
    Then no large numbers cancel: the model's own precision does for the terms, only sums of many of them need more.
    """
    if _prepared(model).span >= widest_span(messages.dtype):  # a quotient can be as large as e^span
        messages, log_evidence = messages.double(), log_evidence.double()
        beliefs = torch.softmax(log_evidence + torch.log(messages).sum(0), 0)
    potentials = model.potentials.detach().to(messages.dtype)
    # log Z_i from the most probable state alone: its unnormalised weight over its belief.
    top, best = beliefs.max(0, keepdim=True)
    weight = log_evidence.gather(0, best) + torch.log(messages.gather(1, best.expand(len(messages), -1, -1))).sum(0)
    value = (weight - torch.log(top)).sum(dtype=torch.float64)
    for d, matrix in enumerate(potentials):
        breathe()
        senders, receivers = shape.shift(d)
        near, near_scale = _scaled(beliefs[:, senders], messages[shape.opposite(d)][:, senders])
        far, far_scale = _scaled(beliefs[:, receivers], messages[d][:, receivers])
        peak = matrix.max()
        inner = torch.exp(matrix - peak).t() @ near
        terms = torch.log(inner.mul_(far).sum(0)) + near_scale + far_scale + peak
        # What wraps around the border is no edge.
        value = value + terms[_ends(shape, d)[0].flatten() - senders.start].sum(dtype=torch.float64)
    return value


def _scaled(beliefs: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
    """beliefs / messages (S, N) with the largest entry of every pixel brought to 1, and its logarithm (N,)."""
    quotient = beliefs / messages
    largest = quotient.amax(0)
    return quotient.div_(largest), torch.log(largest)
