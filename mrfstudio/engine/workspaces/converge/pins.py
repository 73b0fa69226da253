"""What a person changes in a graph from outside its file: tables of factors, states ruled out, messages held."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import entries_of, links_of, scope_of
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.messages.belief_propagation import Messages
from mrfstudio.engine.inference.messages.binary_odds import MessageOdds, ratios_of
from mrfstudio.engine.inference.messages.binary_pairwise import LogRatios
from mrfstudio.engine.protocol.errors import StudioError

Pins = Mapping[tuple[int, int], tuple[float, ...]]
LEAST = 1e-12
"""A probability that a held message gives to what it speaks against: 0 would forbid it for good."""


def with_tables(graph: FactorGraph, tables: Mapping[int, tuple[float, ...]]) -> FactorGraph:
    """A graph with some tables (linear values, the last variable fastest) instead of its own."""
    if not tables:
        return graph
    changed = [group.tables for group in graph.groups]
    where = links_of(graph).where
    for factor, values in tables.items():
        scope = scope_of(graph, factor)
        shape = tuple(graph.cardinalities[list(scope)].tolist())
        if len(values) != np.prod(shape):
            raise StudioError(f"The table of factor {factor} got {len(values)} values: expected {np.prod(shape)}.")
        group, place = where[factor].tolist()
        changed[group] = changed[group].clone()
        changed[group][..., place] = torch.tensor(values, dtype=torch.float64).log().reshape(shape).to(graph.dtype)
    return graph.with_potentials(graph.unary, changed)


def ruled_out(graph: FactorGraph, forbidden: Collection[tuple[int, int]]) -> list[int]:
    """The packed entries of states (variable, state) that are ruled out."""
    for variable, state in forbidden:
        states = int(graph.cardinalities[variable])
        if state >= states:
            raise StudioError(
                f"State {state} of variable {graph.name_of(variable)} was to be ruled out: it has 0 to {states - 1}."
            )
    return [int(graph.packing.base[v] + state * graph.packing.stride[v]) for v, state in sorted(forbidden)]


def with_pins(graph: FactorGraph, algorithm: Algorithm, pins: Pins, before: State | None, state: State) -> State:
    """A state whose held messages are what they are held at, with the residual of the others.

    Messages are damped by what the algorithm says, so the change of the others is divided by what is left of it.
    """
    known = links_of(graph).factors
    for (factor, axis), values in pins.items():
        if factor >= known or axis >= len(scope_of(graph, factor)):
            raise StudioError(f"A message of factor {factor} is held, which the graph does not have.")
        entries = entries_of(graph, factor, axis)
        if len(values) != len(entries):
            raise StudioError(f"A message is held at {len(values)} values: its variable has {len(entries)} states.")
        state = _with_message(graph, state, entries, np.array(values))
    if before is None or type(before) is not type(state):
        return state
    left = 1.0 - float(getattr(algorithm, "damping", 0.0))
    if isinstance(state, LogRatios) and isinstance(before, LogRatios):
        change = (torch.sigmoid(state.ratios) - torch.sigmoid(before.ratios)).abs()
    elif isinstance(state, Messages) and isinstance(before, Messages):
        change = (state.messages.exp() - before.messages.exp()).abs()
    else:
        return state
    return replace(state, residual=change.max() / left)


def _with_message(graph: FactorGraph, state: State, entries: np.ndarray, values: np.ndarray) -> State:
    log = torch.from_numpy(np.log(np.maximum(values, LEAST)))
    if isinstance(state, LogRatios | MessageOdds):
        half = graph.factors
        axis, rest = divmod(int(entries[0]), 2 * half)
        ratios = ratios_of(graph, state).clone()
        ratios[axis * half + rest % half] = log[1] - log[0]
        return LogRatios(state.iteration, state.residual, ratios)
    if isinstance(state, Messages) and state.messages.shape == (graph.packing.message_size,):
        messages = state.messages.clone()
        messages[torch.from_numpy(entries)] = log.to(messages.dtype)
        return replace(state, messages=messages)
    raise StudioError("This algorithm sends no messages that could be held: choose bp, alpha-bp or trw.")
