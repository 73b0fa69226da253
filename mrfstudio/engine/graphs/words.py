"""Generated graphs in words, as a command line has them: `ring:5 --couplings opposed --coupling 2 --observe 3=1`.

The word before the colon is a source, the numbers behind it are its sizes (`grid:4x6`). The source's other parameters
and the strengths are options; where an algorithm or the command has an option of that name too, the graph's begins with
`--graph-`. What these words say is the same graph on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfstudio.engine.graphs.arrays import GraphArrays
from mrfstudio.engine.graphs.observed import LEANING, observed_vectors
from mrfstudio.engine.graphs.sketch import DRAWN, Sketch, Strengths
from mrfstudio.engine.graphs.sources import SOURCES, GraphSource, make_source
from mrfstudio.engine.protocol.catalogue import Field, ParameterError

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.evidence import Evidence
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

PREFIX = "graph-"
SPINS = np.array([[1.0, -1.0], [-1.0, 1.0]])


def is_words(word: str) -> bool:
    """Whether this names a source and not a file."""
    return word.partition(":")[0] in SOURCES and word.partition(":")[0] != DRAWN


def size_fields(source: type[GraphSource]) -> list[Field]:
    return [field for field in source.fields() if field.kind == "integer" and field.name != "seed"]


def option_fields(word: str, taken: Iterable[str]) -> dict[str, Field]:
    """The options of a graph in words: option → field. Names that are `taken` have the prefix."""
    source = SOURCES[word.partition(":")[0]]
    sizes = {field.name for field in size_fields(source)}
    names = set(taken)
    fields = [field for field in source.fields() if field.name not in sizes] + list(Strengths.fields())
    return {("--" + PREFIX if field.name in names else "--") + field.option[2:]: field for field in fields}


def sketch_of(word: str, values: Mapping[str, Any]) -> Sketch:
    """The graph of a word and the values of its options. Raises `StudioError`."""
    name, _, sizes = word.partition(":")
    source = SOURCES[name]
    fields, numbers = size_fields(source), sizes.split("x") if sizes else []
    if len(numbers) > len(fields):
        shape = "x".join(field.name.upper() for field in fields)
        raise ParameterError(f"{word!r} has {len(numbers)} sizes: expected {name}:{shape}.")
    given = {field.name: field.check(number) for field, number in zip(fields, numbers, strict=False)}
    strengths = {field.name for field in Strengths.fields()}
    given |= {key: value for key, value in values.items() if key not in strengths}
    made = make_source(name, given)
    return made.sketch(made.first.replace(**{key: value for key, value in values.items() if key in strengths}))


def graph_of(sketch: Sketch) -> FactorGraph:
    """The graph at its strengths, in 32 bits, as the window computes with it."""
    import torch

    from mrfstudio.engine.graphs.factor_graph import FactorGraph

    unit = FactorGraph.ising(sketch.edges, sketch.couplings, sketch.fields, dtype=torch.float32)
    return unit if sketch.scales == (1.0, 1.0) else unit.scaled(*sketch.scales)


def arrays_of(sketch: Sketch) -> GraphArrays:
    """The same numbers, rounded alike, without torch; not of a sketch that somebody has changed."""
    couplings, fields = sketch.scales
    tables = (sketch.couplings[:, None, None] * SPINS).astype(np.float32) * np.float32(couplings)
    unary = (sketch.fields[:, None] * SPINS[1]).astype(np.float32) * np.float32(fields)
    nodes = np.arange(len(sketch.fields))
    groups = [
        (nodes[:, None], unary.astype(np.float64), nodes),
        (sketch.edges, tables.astype(np.float64), len(nodes) + np.arange(len(sketch.edges))),
    ]
    return GraphArrays(np.full(len(nodes), 2), groups, tuple(nodes.tolist()))


def words_of(sketch: Sketch, taken: Iterable[str]) -> list[str] | None:
    """The words that make a sketch again; None where it was drawn, edited or read from a file."""
    if sketch.source not in SOURCES or sketch.source == DRAWN:
        return None
    source = SOURCES[sketch.source]
    made = make_source(sketch.source, dict(sketch.parameters))
    if not made.sketch(sketch.strengths).same_graph(sketch):
        return None
    sizes = "x".join(str(getattr(made, field.name)) for field in size_fields(source))
    word = f"{sketch.source}:{sizes}" if sizes else sketch.source
    words = [word]
    for option, field in option_fields(word, taken).items():
        owner: Any = sketch.strengths if field.name in {each.name for each in Strengths.fields()} else made
        value = getattr(owner, field.name)
        usual = getattr(made.first, field.name) if owner is sketch.strengths else field.default
        if value != usual:
            words += [option, repr(value) if isinstance(value, float) else str(value)]
    return words


def observed_words(hints: np.ndarray, strength: np.ndarray, none: int, labels: tuple[int, ...]) -> list[str]:
    """`--observe 3=1,4=0@0.5` for hints (n,) and their strengths (n,); nothing where there are none."""
    known = np.flatnonzero(hints != none).tolist()
    said = [
        f"{labels[node]}={hints[node]}" + ("" if strength[node] >= 1 else LEANING + str(np.float32(strength[node])))
        for node in known
    ]
    return ["--observe", ",".join(said)] if said else []


def evidence_of(words: str, graph: FactorGraph) -> Evidence:
    """What `--observe` says of a graph."""
    from mrfstudio.engine.graphs.evidence import Evidence

    return Evidence(graph.pack(observed_vectors(words, graph.cardinalities, graph.labels, graph.names)))
