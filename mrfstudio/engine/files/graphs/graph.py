"""Graph files of any format, by their ending; and numbers beside a graph: an α for each edge, priors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.files.graphs.bif import read_bif
from mrfstudio.engine.files.graphs.fg import read_fg, write_fg
from mrfstudio.engine.files.graphs.sidecar import with_sidecar, write_sidecar
from mrfstudio.engine.files.graphs.text import AnyPath, GraphFileError, is_compressed, read_numbers
from mrfstudio.engine.files.graphs.uai import read_uai, write_uai
from mrfstudio.engine.files.graphs.xml_networks import read_xdsl, read_xmlbif

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

FORMATS = {".uai": (read_uai, write_uai), ".fg": (read_fg, write_fg)}
NETWORKS: dict[str, Callable[[AnyPath], FactorGraph]] = {
    ".bif": read_bif,
    ".xmlbif": read_xmlbif,
    ".xml": read_xmlbif,
    ".xdsl": read_xdsl,
}
"""Formats with names, which are only read."""


def read_graph(path: AnyPath) -> FactorGraph:
    """Read a `.uai`, `.fg`, `.bif`, `.xmlbif` or `.xdsl` file, also one compressed as `.uai.gz` and so on.

    Names for `.uai` and `.fg`, which have none, are read from `NAME.uai.names.json` beside them.
    """
    ending = ending_of(path)
    return NETWORKS[ending](path) if ending in NETWORKS else with_sidecar(path, FORMATS[ending][0](path))


def write_graph(path: AnyPath, graph: FactorGraph) -> None:
    """Write a `.uai` or `.fg` file, compressed where the name ends in `.gz`, and names beside it where it has some."""
    FORMATS[_ending(path, tuple(FORMATS))][1](path, graph)
    write_sidecar(path, graph)


def ending_of(path: AnyPath) -> str:
    """The ending of a graph's file, without `.gz`. Raises `GraphFileError` where it is none."""
    return _ending(path, (*FORMATS, *NETWORKS))


def _ending(path: AnyPath, known: Sequence[str]) -> str:
    name = Path(path)
    ending = (Path(name.stem) if is_compressed(name) else name).suffix.lower()
    if ending not in known:
        given = f'the ending "{ending}"' if ending else "no ending"
        listed = f"{', '.join(known[:-1])} or {known[-1]}"
        raise GraphFileError(
            f"{path}: the name has {given}, where a graph file's is {listed}, perhaps followed by .gz."
        )
    return ending


def read_edge_alphas(path: AnyPath, graph: FactorGraph) -> tuple[float, ...]:
    """One α for each factor of two variables, in the order of the graph's file."""
    file = read_numbers(path)
    if len(file) != graph.factors:
        raise file.error(f"{len(file)} numbers were found where one α for each of {graph.factors} edges was expected")
    bad = np.flatnonzero(~((file.values > 0) & (file.values <= 2)))
    if len(bad):
        raise file.error(f"an α is {file.found(int(bad[0]))}, and one in (0, 2] was expected", int(bad[0]))
    return tuple(file.values.tolist())


def read_priors(path: AnyPath, graph: FactorGraph) -> list[np.ndarray]:
    """Log-priors (states,) of all variables; the file has a probability for each state, up to a factor a variable."""
    file = read_numbers(path)
    sizes = graph.cardinalities
    if len(file) != sizes.sum():
        raise file.error(f"{len(file)} numbers were found where one for each of {sizes.sum()} states was expected")
    if (file.values < 0).any():
        place = int((file.values < 0).argmax())
        raise file.error(f"a prior is {file.found(place)}, and a probability was expected", place)
    priors = np.split(file.values, np.cumsum(sizes)[:-1])
    empty = next((number for number, prior in enumerate(priors) if not prior.any()), None)
    if empty is not None:
        place = int(sizes[:empty].sum())
        raise file.error(f"the prior of variable {graph.labels[empty]} forbids every state", place)
    with np.errstate(divide="ignore"):
        return [np.log(prior) for prior in priors]
