"""A chain under a text that somebody typed: one graph, whose every column holds what was seen there."""

from __future__ import annotations

import torch

from mrfstudio.engine.families.chain.lattice import lattice, packed
from mrfstudio.engine.families.chain.model import Chain, ChainError
from mrfstudio.engine.families.lattices import TextLattice, text_lattice

LONGEST = 200


@text_lattice("chain")
def typed(model: Chain, text: str) -> TextLattice:
    """Unknown letters say nothing."""
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
    words = text.split() if model.settings.get("unit") == "words" else list(text)
    return TextLattice(seen, tuple(words[: len(numbers)]))
