"""Belief propagation on the cloned grid: the kernel behind `bp` for `GridMRF`.

The state holds messages in the linear domain whatever the temperature, so a moved slider goes on from the same state.
Sum-product is `grid_kernel`'s matrix products. Temperature T is sum-product on (W, evidence) / T with messages m^(1/T).
Temperature 0, and temperatures too low for the linear domain, loop over the sender's states in the log domain.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple
from weakref import ref

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.bethe import bethe_log_partition, edge_ends
from mrfstudio.engine.families.grid.kernel import next_messages, span, uniform_messages, widest_span
from mrfstudio.engine.families.grid.levels import (
    AT_REST,
    LevelMessages,
    PassStep,
    doubled,
    halved_level,
    halved_shape,
    in_first_pass,
    iterated,
    plan_for,
    taken_over,
)
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.families.grid.steadying import SwingCounts
from mrfstudio.engine.families.grid.steps import (
    PartialUpdate,
    Products,
    advanced,
    label_beliefs,
    prepared_for,
    products,
    state_beliefs,
)
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.algorithm import NO_LOG_PARTITION, Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.residuals import SATURATED, largest_change
from mrfstudio.engine.runtime.interruption import Interrupted
from mrfstudio.engine.runtime.recycling import recycled

KEPT = 6
"""Products of messages that are kept: one for each lane."""


@dataclass(frozen=True, eq=False)
class GridMessages(State):
    """Messages (directions, S, N) with mean 1 over the states, see `grid_kernel`.

    With a coarse start also where the pass over smaller copies of the canvas is (`levels`): how many steps ago it
    began, whether the last step was one of it, and messages and label evidence of every copy, from the largest to the
    smallest; and after the passes what `SwingCounts` says of the messages to each pixel (`steadying`).
    """

    remembered: ClassVar[tuple[str, ...]] = ("in_pass", "copies", "passing", "swung")
    messages: Tensor
    in_pass: int = 0
    copies: tuple[Tensor, ...] = ()
    passing: bool = False
    swung: tuple[Tensor, ...] = ()

    @property
    def preparing(self) -> bool:
        return self.passing

    @property
    def steadied(self) -> bool:
        return bool(self.swung) and bool(self.swung[0].any())

    def copy(self, level: int) -> LevelMessages:
        """The canvas halved `level` times."""
        return LevelMessages(*self.copies[2 * level - 2 : 2 * level])

    def with_copy(self, level: int, found: LevelMessages) -> GridMessages:
        return replace(self, copies=(*self.copies[: 2 * level - 2], *found, *self.copies[2 * level :]))


class _Midway(NamedTuple):
    """Between the iterations of one step, or within one: how many are done, where they are, and what the next has."""

    done: int
    messages: Tensor
    product: Products
    update: PartialUpdate | None = None


@kernel(BeliefPropagation, GridMRF)
class GridBeliefPropagation(Kernel):
    """Parallel updates on a batch of images; beliefs are (…, H, W, S)."""

    def covers(self, algorithm: BeliefPropagation, model: GridMRF) -> bool:
        if algorithm.kernel == "generic" or algorithm.schedule != "parallel":
            return False
        # The smallest entry of a message must not underflow while it is kept.
        smallest = -math.log(torch.finfo(model.weights.dtype).tiny)
        return prepared_for(model).span < min(2 * widest_span(model.weights.dtype), 0.95 * smallest)

    def init(self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence) -> GridMessages:
        log_evidence = self._evidence(model, evidence)
        messages = uniform_messages(model.shape_of(evidence), model.states, log_evidence)
        return GridMessages(0, nothing_changed(log_evidence), messages)

    def step(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> GridMessages:
        here = self._pass_step(algorithm, model, evidence, state)
        if here is not None and (here.way != "canvas" or here.iterations > 1):
            step = self._several if here.way == "canvas" else self._step_of_copies
            return step(model, evidence, state, here)
        old, partial, swung, passing = state.messages, state.partial, state.swung, here is not None
        coarse, swings = self._coarse(algorithm, model, evidence, old), None
        if coarse and model.eased and not passing and not algorithm.damping:
            swings = SwingCounts.known(swung, old)
        try:
            messages, changes = self._proposal(algorithm, model, evidence, old, swings, partial, loose=passing)
        except Interrupted as interrupted:
            raise Interrupted(replace(state, partial=interrupted.state)) from None
        if algorithm.damping:
            messages = _damped(messages, old, algorithm.damping)
        if swings is not None:
            swung = swings.after(changes / model.states, state.in_pass)
        residual, done = changes.amax() / model.states, state.in_pass + coarse
        return GridMessages(state.iteration + 1, residual, messages, done, passing=passing, swung=swung)

    def resume(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> GridMessages:
        """Messages stay; a pass over smaller copies of the canvas begins anew, because they show what was there."""
        return replace(state, in_pass=0, copies=(), swung=())

    def doubt(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages, tolerance: float
    ) -> str | None:
        if self._pass_step(algorithm, model, evidence, state) is not None:
            return "Figures are still being filled, and smaller copies of the canvas asked."
        if prepared_for(model).span <= -SATURATED or not state.messages.numel():
            return None
        # The residual compares probabilities, which is quick; what is next to impossible can still move and decide.
        shape, states = model.shape_of(evidence), self._evidence(model, evidence)
        with torch.no_grad():
            fresh = _proposal(state.messages, model.potentials, states, shape, algorithm.temperature)
            moved = max(  # a direction at a time: all of them together would leave every cache
                float(largest_change(*_log_probabilities(model, new, old)))
                for new, old in zip(fresh, state.messages, strict=True)
            )
        if moved <= tolerance + 100 * torch.finfo(fresh.dtype).eps:
            return None
        return f"Messages that are nearly certain still change by {moved:.2g}: this is no fixed point."

    def _pass_step(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> PassStep | None:
        """What the next step does of a pass over smaller copies; None where none is under way."""
        if not self._coarse(algorithm, model, evidence, state.messages):
            return None
        steps = plan_for(model, model.shape_of(evidence))
        return steps[state.in_pass] if state.in_pass < len(steps) else None

    def _coarse(self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, messages: Tensor) -> bool:
        """Whether smaller copies of the canvas are asked, for messages (directions, S, N)."""
        start = model.start if algorithm.start == "auto" else algorithm.start
        return start == "coarse" and algorithm.temperature == 1.0 and _linear(model, evidence, messages)

    def _several(self, model: GridMRF, evidence: Evidence, state: GridMessages, here: PassStep) -> GridMessages:
        """Some iterations of a pass on the canvas; the last ones are all done once they change nothing."""
        shape, ready = model.shape_of(evidence), prepared_for(model, loose=True)
        labels, at = self._label_evidence(model, evidence), state.partial
        if at is None:
            at = _Midway(0, state.messages, _products(model, state.messages))
        change = state.residual
        for done in range(at.done, here.iterations):
            try:
                found = advanced(at.messages, at.product, ready, labels, shape, partial=at.update)
            except Interrupted as interrupted:
                raise Interrupted(replace(state, partial=at._replace(update=interrupted.state))) from None
            at, change = _Midway(done + 1, found.messages, found.product), found.changes.amax() / model.states
        _remember(model, at.messages, at.product)
        resting = here.last and float(change) < AT_REST / here.iterations
        passed = len(plan_for(model, shape)) if resting else state.in_pass + 1
        return GridMessages(state.iteration + 1, change, at.messages, passed, passing=True)

    def _step_of_copies(self, model: GridMRF, evidence: Evidence, state: GridMessages, here: PassStep) -> GridMessages:
        """One step on a smaller copy of the canvas, see `levels`. The canvas' own messages change at the end alone."""
        shape = model.shape_of(evidence)
        larger, level = halved_shape(shape, here.level - 1), here.level
        canvas = LevelMessages(state.messages, self._label_evidence(model, evidence))
        finer = canvas if level == 1 else state.copy(level - 1)
        with torch.no_grad():
            if here.way == "down":
                found, change = halved_level(model, finer, larger, here.iterations), state.residual
            else:
                before = state.copy(level)
                found = iterated(model, before, halved_shape(larger), here.iterations)
                room = recycled(found.messages.shape, found.messages)
                change = torch.sub(found.messages, before.messages, out=room).abs_().amax() / model.states
            state = replace(state.with_copy(level, found), iteration=state.iteration + 1, residual=change)
            if here.last:
                joined = taken_over(model, finer, found, larger)
                if level > 1:
                    state = state.with_copy(level - 1, finer._replace(messages=joined))
                else:
                    state = replace(state, messages=joined, copies=())
        return replace(state, in_pass=state.in_pass + 1, passing=True)

    def _proposal(
        self,
        algorithm: BeliefPropagation,
        model: GridMRF,
        evidence: Evidence,
        old: Tensor,
        swings: SwingCounts | None,
        partial: PartialUpdate | None,
        loose: bool,
    ) -> tuple[Tensor, Tensor]:
        """The undamped messages (directions, S, N) and the largest change of an entry to each pixel; `loose` in a pass.

        Changes are (N,), or without axes before the first iteration. With `swings` the messages are steadied, which
        linear ones alone are.
        """
        shape = model.shape_of(evidence)
        if old.numel() and algorithm.temperature == 1.0 and _linear(model, evidence, old):
            ready, labels = prepared_for(model, loose), self._label_evidence(model, evidence)
            kept = None if swings is None else swings.kept
            update = advanced(old, _products(model, old), ready, labels, shape, kept, partial)
            _remember(model, update.messages, update.product)
            return update.messages, update.changes
        new = _proposal(old, model.potentials, self._evidence(model, evidence), shape, algorithm.temperature)
        with torch.no_grad():
            return new, torch.sub(new, old).abs_().amax((0, 1)) if old.numel() else old.new_zeros(())

    def beliefs(self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages) -> Tensor:
        return _as_image(self._state_beliefs(model, evidence, state.messages), evidence)

    def label_beliefs(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> Tensor:
        """Without a look at the clones where the evidence alone is new.

        In the first pass of a coarse start, what the copies say: the canvas itself knows little yet.
        """
        if not _linear(model, evidence, state.messages):
            return super().label_beliefs(algorithm, model, evidence, state)
        weight = self._shown_weight(model, evidence, state)
        return _as_image(label_beliefs(weight, self._label_evidence(model, evidence)), evidence)

    def _shown_weight(self, model: GridMRF, evidence: Evidence, state: GridMessages) -> Tensor:
        """What messages say of each label (labels, N): of a copy on its way up before anything was edited."""
        steps = plan_for(model, model.shape_of(evidence)) if state.copies else []
        done = steps[state.in_pass - 1] if steps else None
        new = state.iteration == state.in_pass and in_first_pass(steps, state.in_pass) if steps else False
        if done is None or done.way != "up" or done.last or not new:
            return _products(model, state.messages).log_weight
        weight = _products(model, state.copy(done.level).messages).log_weight
        for level in range(done.level - 1, -1, -1):
            weight = doubled(weight, halved_shape(model.shape_of(evidence), level))
        return weight

    def factor_beliefs(
        self, algorithm: BeliefPropagation, model: GridMRF, evidence: Evidence, state: GridMessages
    ) -> list[Tensor]:
        """One tensor (…, S, S, edges) in the order of the factor graph's edges: large, meant for small images."""
        shape, log = model.shape_of(evidence), torch.log(state.messages)
        totals = self._evidence(model, evidence) + log.sum(0)
        parts = []
        for d, matrix in enumerate(model.potentials):
            first, second = edge_ends(shape, d, totals.device)
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
        given, reach = self._evidence(model, evidence), prepared_for(model).span
        value = bethe_log_partition(model.potentials, reach, given, state.messages, beliefs, model.shape_of(evidence))
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


def _linear(model: GridMRF, evidence: Evidence, messages: Tensor) -> bool:
    """Whether `steps` can do it for messages (directions, S, N): without gradients, and within the range of floats."""
    flowing = messages.requires_grad or model.weights.requires_grad or evidence.differentiated
    return not (flowing and torch.is_grad_enabled()) and prepared_for(model).span < widest_span(messages.dtype)


# The products of the messages that were last looked at. Each is needed twice, by the picture and by the next iteration,
# and for every stroke between.
_recent: OrderedDict[int, tuple[ref[Tensor], int, Products]] = OrderedDict()
_recent_lock = threading.Lock()


def _products(model: GridMRF, messages: Tensor) -> Products:
    """The product of messages (directions, S, N) by label, made once for the same tensor and weights."""
    with _recent_lock:
        known = _recent.get(id(messages))
    if known is not None and known[0]() is messages and known[1] == model.weights._version:
        return known[2]
    made = products(messages, prepared_for(model))
    _remember(model, messages, made)
    return made


def _remember(model: GridMRF, messages: Tensor, made: Products) -> None:
    """The product of messages (directions, S, N) is known."""
    with _recent_lock:
        _recent[id(messages)] = ref(messages), model.weights._version, made
        _recent.move_to_end(id(messages))
        for old in [k for k, (tensor, _, _) in _recent.items() if tensor() is None]:
            del _recent[old]
        while len(_recent) > KEPT:
            _recent.popitem(last=False)


def _checked(model: GridMRF, evidence: Evidence, log_evidence: Tensor) -> Tensor:
    """The log-evidence (states or labels, N) itself. Raises `ContradictoryEvidence` where a pixel has nothing left."""
    dead = torch.isneginf(log_evidence).all(0)
    if bool(dead.any()):
        image = model.shape_of(evidence).height * model.shape_of(evidence).width
        row, column = divmod(int(dead.int().argmax()) % image, model.shape_of(evidence).width)
        raise ContradictoryEvidence(f"(row {row}, column {column})")
    return log_evidence


def _as_image(beliefs: Tensor, evidence: Evidence) -> Tensor:
    """(S, N) to (…, H, W, S)."""
    return beliefs.t().reshape(*evidence.log_potentials.shape[:-1], len(beliefs))


def _log_probabilities(model: GridMRF, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Two sets of messages (directions, S, N) with mean 1 as log-probabilities."""
    return torch.log(one / model.states), torch.log(other / model.states)


def _mean_one(messages: Tensor) -> Tensor:
    """Messages (…, S, N) with mean 1 over the states."""
    return messages / messages.mean(dim=-2, keepdim=True)


def _damped(proposal: Tensor, old: Tensor, damping: float) -> Tensor:
    """Damping of log-messages (directions, S, N): a geometric mean."""
    return _mean_one(torch.exp(torch.lerp(torch.log(proposal), torch.log(old), damping)))


def _proposal(old: Tensor, potentials: Tensor, log_evidence: Tensor, shape: GridShape, temperature: float) -> Tensor:
    """The undamped update of messages (directions, S, N) with potentials (matrices, S, S) and log-evidence (S, N)."""
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
