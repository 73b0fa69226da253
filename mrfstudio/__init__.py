"""MRF Studio: a desktop laboratory for Markov random fields. See `mrfstudio.api` for use in notebooks."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mrfstudio.api import (
        Answer,
        Cut,
        FactorGraph,
        Names,
        Repaired,
        StudioError,
        Viewer,
        from_networkx,
        from_pgmax,
        from_pgmpy,
        infer,
        inpaint,
        ising_grid,
        open_model,
        read_graph,
        segment,
        to_networkx,
        to_pgmax,
        to_pgmpy,
        view,
        write_graph,
    )

# Before torch is imported anywhere: OpenMP threads that spin make every other process on the machine crawl.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

__version__ = "1.0.0"
__all__ = [
    "Answer",
    "Cut",
    "FactorGraph",
    "Names",
    "Repaired",
    "StudioError",
    "Viewer",
    "from_networkx",
    "from_pgmax",
    "from_pgmpy",
    "infer",
    "inpaint",
    "ising_grid",
    "open_model",
    "read_graph",
    "segment",
    "to_networkx",
    "to_pgmax",
    "to_pgmpy",
    "view",
    "write_graph",
]


def __getattr__(name: str) -> Any:
    """The library's names, loaded when first used: `import mrfstudio` alone must not load torch."""
    if name in __all__:
        from mrfstudio import api

        return getattr(api, name)
    raise AttributeError(f"module 'mrfstudio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
