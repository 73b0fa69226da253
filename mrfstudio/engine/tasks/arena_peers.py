"""Other libraries in the arena: which are there, and the command that prints what one answers.

`pgmpy` lives in an environment of its own, in the folder of peers (`benchmarks/peers/rivals.py` makes it); `libdai` is
a built checkout that the variable MRFSTUDIO_LIBDAI names. Nothing of either is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from mrfstudio.engine.protocol.errors import StudioError

NAMES = ("pgmpy", "libdai")
SOLVER = "uai2010-aie-solver"


def peers_folder() -> Path:
    """Where environments of peers lie."""
    from platformdirs import user_cache_path

    named = os.environ.get("MRFSTUDIO_PEERS")
    return Path(named) if named else user_cache_path("mrfstudio") / "peers"


def installed() -> list[str]:
    """The peers that can answer on this machine."""
    return [name for name in NAMES if _program(name) is not None]


def require(name: str) -> Path:
    """What runs a peer; says where it is looked for if it is not there."""
    found = _program(name)
    if found is None:
        where = {
            "pgmpy": f"it is not in {peers_folder() / name}: run benchmarks/peers/beside_pgmpy.py --install first",
            "libdai": f"set MRFSTUDIO_LIBDAI to the folder of a built checkout, with examples/{SOLVER} in it",
        }
        raise StudioError(f"{name} cannot answer here: {where[name]}.")
    return found


def _program(name: str) -> Path | None:
    if name == "libdai":
        solver = Path(os.environ.get("MRFSTUDIO_LIBDAI", ""), "examples", SOLVER)
        return solver if solver.is_file() else None
    environment = peers_folder() / name
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return python if python.exists() and (environment / "ready").exists() else None


def command(name: str, graph: Path, observed: Mapping[int, int], seconds: float) -> list[str]:
    """Prints an answer as `mrfstudio infer --json -` does: `marginals`, `ending`, `log_partition` …"""
    program, words = require(name), [f"{variable}={state}" for variable, state in observed.items()]
    if name == "libdai":
        script = Path(__file__).with_name("answers_of_libdai.py")
        return [sys.executable, "-I", str(script), str(program), str(graph), str(seconds), *words]
    return [str(program), "-I", str(Path(__file__).with_name("answers_of_pgmpy.py")), str(graph), *words]
