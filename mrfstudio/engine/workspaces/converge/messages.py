"""The messages of a state on a factor graph, whatever kernel made it, by link and direction; see `graphs/links.py`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import entries_of, links_of, neighbours_of, scope_of
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP, local_of
from mrfstudio.engine.inference.messages.alpha_bp import exponents_of as alpha_exponents
from mrfstudio.engine.inference.messages.belief_propagation import Messages
from mrfstudio.engine.inference.messages.binary_odds import MessageOdds, ratios_of
from mrfstudio.engine.inference.messages.binary_pairwise import LogRatios
from mrfstudio.engine.inference.messages.reweighted import Exponents
from mrfstudio.engine.inference.messages.tree_reweighted import TreeReweighted
from mrfstudio.engine.inference.messages.tree_reweighted import exponents_of as tree_exponents
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.workspaces.workspace import LaneView

Binary = LogRatios | MessageOdds
"""States of kernels for graphs of two states."""
Both = tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]
"""The messages of a factor to its variables, (states,) each, and those from them."""


def probabilities(graph: FactorGraph, state: State) -> Tensor | None:
    """All messages as probabilities, flat in the graph's packing; None where an algorithm sends none."""
    if isinstance(state, Binary):
        half = graph.factors
        one = torch.sigmoid(ratios_of(graph, state))
        return torch.cat([1 - one[:half], one[:half], 1 - one[half:], one[half:]])
    if isinstance(state, Messages) and state.messages.shape == (graph.packing.message_size,):
        return state.messages.exp()
    return None


def log_messages(graph: FactorGraph, state: State, entries: np.ndarray) -> np.ndarray | None:
    """Some entries of the packing's messages, as logarithms, float64; None where an algorithm sends none."""
    if isinstance(state, Binary):
        half = graph.factors
        axis, rest = np.divmod(entries, 2 * half)
        ratio = ratios_of(graph, state)[torch.from_numpy(axis * half + rest % half)].double()
        signed = torch.where(torch.from_numpy(rest >= half), ratio, -ratio)
        return to_host(torch.nn.functional.logsigmoid(signed))
    if isinstance(state, Messages) and state.messages.shape == (graph.packing.message_size,):
        return to_host(state.messages[torch.from_numpy(entries)].double())
    return None


def message_change(graph: FactorGraph, now: State, before: State | None) -> tuple[np.ndarray, np.ndarray] | None:
    """The largest change of a probability of each message: by edge (m, 2) and by star (k,), float32."""
    if isinstance(now, LogRatios) and isinstance(before, LogRatios) and now.ratios.shape == before.ratios.shape:
        change = (torch.sigmoid(now.ratios) - torch.sigmoid(before.ratios)).abs()
        return to_host(change.view(2, -1).t().to(torch.float32)).copy(), np.zeros(0, np.float32)
    new = probabilities(graph, now)
    old = None if before is None else probabilities(graph, before)
    if new is None or old is None or new.shape != old.shape:
        return None
    return by_link(graph, (new - old).abs())


def by_link(graph: FactorGraph, flat: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each message's entries: by edge (m, 2) and by star (k,), float32."""
    edges, stars = [np.zeros((0, 2), np.float32)], [np.zeros(0, np.float32)]
    for blocks in graph.packing.by_message(flat):
        largest = to_host(torch.stack([block.amax(0) for block in blocks], 1).to(torch.float32))
        if len(blocks) == 2:
            edges.append(largest)
        else:
            stars.append(largest.ravel())
    return np.concatenate(edges), np.concatenate(stars)


def likeliest(graph: FactorGraph, state: State) -> np.ndarray | None:
    """The likeliest state of the message to each link's variable, and its probability, (links, 2) float32."""
    flat = probabilities(graph, state)
    if flat is None:
        return None
    found = [np.zeros((0, 2), np.float32)]
    for blocks in graph.packing.by_message(flat):
        for block in blocks:
            largest, where = block.max(0)
            found.append(to_host(torch.stack([where.to(torch.float32), largest.to(torch.float32)], 1)))
    return np.concatenate(found)[links_of(graph).messages]


def owners(graph: FactorGraph) -> np.ndarray:
    """The link whose message each entry of the packing's messages belongs to, (entries,)."""

    def make() -> np.ndarray:
        messages = links_of(graph).messages
        link = np.empty(len(messages), np.int64)
        link[messages] = np.arange(len(messages))
        parts, first = [np.zeros(0, np.int64)], 0
        for block in graph.packing.message_blocks:
            parts.append(np.tile(link[first : first + block.count], block.states))
            first += block.count
        return np.concatenate(parts)

    return graph.structural("owners of messages", make)


def split(graph: FactorGraph, by_link: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers a link as numbers by edge (m, 2) and by star (k,)."""
    edges = len(links_of(graph).edges)
    return by_link[: 2 * edges].reshape(edges, 2), by_link[2 * edges :]


def factor_messages(view: LaneView, factor: int) -> Both | None:
    """The messages of a factor to its variables and from them, probabilities (states,) float32; None without messages.

    What a variable says to a factor is the cavity: its local potential times what all its other factors say to it,
    each to the power that the algorithm gives it.
    """
    to = messages_to(view.model, view.state, factor)
    if to is None:
        return None
    return to, tuple(normalised(reply(view, factor, axis)) for axis in range(len(to)))


def messages_to(graph: FactorGraph, state: State, factor: int) -> tuple[np.ndarray, ...] | None:
    """The messages of a factor to its variables, probabilities (states,) float32; None without messages."""
    entries = [entries_of(graph, factor, axis) for axis in range(len(scope_of(graph, factor)))]
    if log_messages(graph, state, entries[0][:1]) is None:
        return None
    return tuple(normalised(log_messages(graph, state, each)) for each in entries)


def powers_of(view: LaneView) -> Exponents | None:
    """The powers of messages in the algorithm's equations; None where all are 1, as in BP."""
    if isinstance(view.algorithm, AlphaBP):
        return alpha_exponents(view.algorithm, view.model)
    if isinstance(view.algorithm, TreeReweighted):
        return tree_exponents(view.algorithm, view.model)
    return None


def local_potential(view: LaneView, variable: int) -> np.ndarray:
    """Log-potential of a variable with its evidence, (states,) float64."""
    graph: FactorGraph = view.model
    assert isinstance(view.evidence, Evidence)
    local = graph.local_potentials(view.evidence)
    if isinstance(view.algorithm, AlphaBP):
        local = local_of(view.algorithm, graph, view.evidence)
    places = graph.packing.entries(np.array([variable]), int(graph.cardinalities[variable]))[:, 0]
    return to_host(local[torch.from_numpy(places)].double())


def said_to(view: LaneView, variable: int, asking: int) -> dict[tuple[int, int], np.ndarray]:
    """What the factors of a variable say to it, in logarithms, by (factor, axis), to the powers with which it counts
    for the factor `asking`.
    """
    graph, e = view.model, powers_of(view)
    found = {}
    for factor, axis in neighbours_of(graph, variable):
        entries = entries_of(graph, factor, axis)
        said = log_messages(graph, view.state, entries)
        assert said is not None
        power = 1.0 if e is None or e.weight is None else float(e.weight[int(entries[0])])
        if factor == asking:
            power -= 1.0 if e is None else float(e.own[int(entries[0])]) if isinstance(e.own, Tensor) else e.own
        if power:
            found[factor, axis] = power * said
    return found


def reply(view: LaneView, factor: int, axis: int) -> np.ndarray:
    """Logarithm of what a variable says to one of its factors, up to a constant, (states,)."""
    variable = scope_of(view.model, factor)[axis]
    return sum(said_to(view, variable, factor).values(), local_potential(view, variable))


def normalised(log: np.ndarray | None) -> np.ndarray:
    """Probabilities (states,) float32 of logarithms; all 0 where every state is forbidden."""
    assert log is not None
    peak = log.max()
    if np.isneginf(peak):
        return np.zeros(len(log), np.float32)
    linear = np.exp(log - peak)
    return np.asarray(linear / linear.sum(), np.float32)


MOST_WRITTEN = 64
"""Edges whose messages can be written along them: more could not be read."""


def all_messages(graph: FactorGraph, state: State) -> np.ndarray | None:
    """Both messages of every edge, (edges, 2, states) float32, NaN where a variable has fewer states.

    None where there are none, or too many to be written along their edges.
    """
    count = len(links_of(graph).edges)
    pairs = [messages_to(graph, state, edge) for edge in range(count if count <= MOST_WRITTEN else 0)]
    if not pairs or any(pair is None for pair in pairs):
        return None
    found = np.full((count, 2, int(graph.cardinalities.max())), np.nan, np.float32)
    for edge, pair in enumerate(pairs):
        for side, values in enumerate(pair or ()):
            found[edge, side, : len(values)] = values
    return found
