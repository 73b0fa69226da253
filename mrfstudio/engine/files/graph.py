"""Graph files by the ending of their names."""

from __future__ import annotations

from pathlib import Path

from mrfstudio.engine.files.fg import read_fg, write_fg
from mrfstudio.engine.files.text import AnyPath, GraphFileError, is_compressed
from mrfstudio.engine.files.uai import read_uai, write_uai
from mrfstudio.engine.models.factor_graph import FactorGraph

FORMATS = {".uai": (read_uai, write_uai), ".fg": (read_fg, write_fg)}


def read_graph(path: AnyPath) -> FactorGraph:
    """Read a `.uai` or `.fg` file, also one compressed as `.uai.gz` or `.fg.gz`."""
    return FORMATS[_ending(path)][0](path)


def write_graph(path: AnyPath, graph: FactorGraph) -> None:
    """Write a `.uai` or `.fg` file, compressed where the name ends in `.gz`."""
    FORMATS[_ending(path)][1](path, graph)


def _ending(path: AnyPath) -> str:
    name = Path(path)
    ending = (Path(name.stem) if is_compressed(name) else name).suffix.lower()
    if ending not in FORMATS:
        given = f'the ending "{ending}"' if ending else "no ending"
        known = " or ".join(FORMATS)
        raise GraphFileError(f"{path}: the name has {given}, where a graph file's is {known}, perhaps followed by .gz.")
    return ending
