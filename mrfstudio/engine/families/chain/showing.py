"""How chains are shown while they learn: tables of words and transitions, and the lattice of a few sequences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from mrfstudio.engine.families.chain.density import sequences_of
from mrfstudio.engine.families.chain.model import Chain
from mrfstudio.engine.protocol.training import Panel
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.showing import LARGEST_SIDE, QUERIES, ShownModel, showing, signed_panel

COLUMNS = 48
"""Columns of a lattice that are drawn."""


@showing("chain")
def show_chain(model: Chain, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Posteriors of the hidden states of held-out sequences `x` (N, T) or (N, T, D), by the exact recursion."""
    columns, lengths = sequences_of(model, items)
    columns, lengths = columns[:QUERIES], lengths[:QUERIES]
    chances = model.posteriors(model.emissions(columns), lengths)
    return ShownModel(
        queries=tuple(_query(model, columns[n], chances[n], int(lengths[n])) for n in range(len(columns))),
        pictures=_tables(model),
        remark="Held-out sequences, left to right: how probable each hidden state (a row) is under each column.",
    )


def _query(model: Chain, columns: Tensor, chances: Tensor, length: int) -> tuple[Panel, ...]:
    """Panels of one sequence: columns (T,) or (T, D), and p(z_t | x) (T, K)."""
    end = min(length, COLUMNS)
    states = Panel("states", "grey", to_host(chances[:end].T.float()), "A row a state; bright is probable.")
    if not model.continuous:
        words = spelled(model, columns[:end])
        return (Panel("states", "grey", states.array, f"Under: {words}"),)
    return states, signed_panel("signal", columns[:end].T.float(), "A row a dimension of the vectors.")


def spelled(model: Chain, words: Tensor) -> str:
    """Words (T,) as a person reads them."""
    if not model.symbols:
        return " ".join(str(int(word)) for word in words)
    between = " " if model.settings.get("unit") == "words" else ""
    return between.join(model.symbols[int(word)] if word >= 0 else "□" for word in words)


def _tables(model: Chain) -> tuple[Panel, ...]:
    panels = []
    if not model.continuous:
        chances = to_host(model.words().exp()[:, :LARGEST_SIDE].float())
        shown = np.sqrt(chances / max(float(chances.max()), 1e-12))  # rare words would be black otherwise
        heading = "p(word | state): a row a state, a column a word" + (
            f" ({''.join(model.symbols)})" if 0 < len(model.symbols) <= 30 else ", the most frequent first"
        )
        panels.append(Panel("words of states", "grey", shown, heading + "; brightness is a square root.", "emissions"))
    if not model.directed:
        for distance, pairs in enumerate(model.pairs(), 1):
            help_text = f"A score for each two states, {distance} apart: earlier state × later state."
            panels.append(signed_panel(f"{distance} apart", pairs, help_text, "transitions"))
        return tuple(panels)
    scores = model.transitions().exp()
    states = model.states
    # Of a higher order, the mean over the states further back: a table that can be looked at.
    mean = scores[(slice(0, states),) * model.order].reshape(-1, states, states).mean(0)
    after = Panel("next state", "grey", to_host(mean.float()), "p(next state | state): a row a state.", "transitions")
    first = Panel(
        "first state", "grey", to_host(scores[(states,) * model.order][None].float()), "p(first state).", "transitions"
    )
    return *panels, after, first
