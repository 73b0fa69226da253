"""How a kind of model reads a text that is typed: what the lattice of Converge needs of a family.

A family whose models have a hidden state under each letter or word says it in its folder:

    @text_lattice("mine")
    def typed(model, text): ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.registry import Parts


@dataclass(frozen=True, eq=False)
class TextLattice:
    """A graph with a variable for each column, what was seen in its unary potentials; and the columns as written.

    `remark`: a sentence about what of the text the model does not know; empty where it knows everything.
    """

    graph: FactorGraph
    columns: tuple[str, ...]
    remark: str = ""


Typed = Callable[[Any, str], TextLattice]
"""Model and text."""
LATTICES: Parts[Typed] = Parts()
text_lattice = LATTICES.register
"""Decorator: how models of these kinds read a text."""
