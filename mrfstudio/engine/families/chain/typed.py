"""A chain under a text that somebody typed: one graph, whose every column holds what was seen there."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mrfstudio.engine.families.chain.lattice import lattice, packed
from mrfstudio.engine.families.chain.model import UNKNOWN, Chain, ChainError
from mrfstudio.engine.families.lattices import TextLattice, text_lattice

LONGEST = 200
NAMED = 5
"""So many unknown letters or words are named."""


@text_lattice("chain")
def typed(model: Chain, text: str) -> TextLattice:
    """Letters that the chain does not know are read as spaces, words as the word for those, or as nothing."""
    if model.continuous or not model.symbols:
        raise ChainError("This chain does not speak of letters or words: choose one that learned from text.")
    numbers = model.encoded(text)[:LONGEST]
    if not numbers:
        raise ChainError("There is nothing to read yet: type a few letters.")
    with torch.no_grad():
        graph = lattice(model, len(numbers))
        given = model.emissions(torch.tensor([numbers]))
        unary = graph.unary + packed(graph, given)[0]
        seen = graph.with_potentials(unary, [group.tables for group in graph.groups])
    columns = (text.split() if model.settings.get("unit") == "words" else list(text))[: len(numbers)]
    return TextLattice(seen, tuple(columns), strangers(model, columns))


def strangers(model: Chain, columns: Sequence[str]) -> str:
    """What of a text the model does not know and how it reads that, in a sentence; empty where it knows everything."""
    words = model.settings.get("unit") == "words"
    known = set(model.symbols) - ({UNKNOWN} if words else set())
    strange = list(dict.fromkeys(each for each in columns if each.lower() not in known))
    if not strange:
        return ""
    named = " ".join(strange[:NAMED]) + (f" and {len(strange) - NAMED} more" if len(strange) > NAMED else "")
    if not words and " " in known:
        read = "read as a space"
    elif words and UNKNOWN in model.symbols:
        read = "read as a rare word"
    else:
        read = "left open, and the states there follow from the neighbours"
    return f"This model does not know {named}: what it does not know is {read}."
