"""Names for formats that have none: `NAME.uai.names.json` beside `NAME.uai`.

{"variables": [{"name": "Rain", "states": ["no", "yes"]}, …]}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mrfstudio.engine.files.distrust import parsed
from mrfstudio.engine.files.graphs.text import AnyPath, GraphFileError, read_text, write_text
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.protocol.errors import StudioError

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

ENDING = ".names.json"


def with_sidecar(path: AnyPath, graph: FactorGraph) -> FactorGraph:
    """The graph with the names of the file beside it, if there is one."""
    names = names_beside(path, graph.cardinalities.tolist())
    return graph if names is None else graph.named(names)


def names_beside(path: AnyPath, cardinalities: Sequence[int]) -> Names | None:
    """What the file beside a graph calls its variables and states; None where there is none."""
    beside = Path(f"{path}{ENDING}")
    if not beside.is_file():
        return None
    try:
        told = parsed(read_text(beside))
        variables = told["variables"]
        names, states = [str(each["name"]) for each in variables], [list(each["states"]) for each in variables]
        return Names.checked(names, states, cardinalities)
    except (ValueError, TypeError, KeyError):
        raise GraphFileError(
            f'{beside}: expected {{"variables": [{{"name": …, "states": […]}}, …]}}, one for each variable.'
        ) from None
    except GraphFileError:
        raise
    except StudioError as error:
        raise GraphFileError(f"{beside}: {error}") from None


def write_sidecar(path: AnyPath, graph: FactorGraph) -> None:
    """Write the names of a graph beside its file, where it has some."""
    if graph.names is not None:
        write_text(f"{path}{ENDING}", json.dumps({"variables": graph.names.described()}, ensure_ascii=False, indent=1))
