"""A window beside a running notebook: a process of its own, so that the next cell can run at once."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.graphs.graph import write_graph
from mrfstudio.engine.graphs.factor_graph import FactorGraph


class Viewer:
    """A window that shows a graph; it stays open when the notebook goes on."""

    def __init__(self, process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
        self._process, self._folder = process, folder

    @classmethod
    def of(cls, graph: FactorGraph, name: str = "graph") -> Viewer:
        """Write the graph where the window finds it, and open the window."""
        folder = tempfile.TemporaryDirectory(prefix="mrfstudio-view-", ignore_cleanup_errors=True)
        path = Path(folder.name, (re.sub(r"[^\w.-]+", "-", name).strip(".-") or "graph") + ".uai")
        write_graph(path, graph)
        nothing: Any = subprocess.DEVNULL
        process = subprocess.Popen(
            [sys.executable, "-m", "mrfstudio", str(path)], stdin=nothing, stdout=nothing, stderr=nothing
        )
        return cls(process, folder)

    @property
    def is_open(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float | None = None) -> int:
        """Wait until the window is closed; its exit status."""
        return self._process.wait(seconds)

    def close(self) -> None:
        """Close the window."""
        if self.is_open:
            self._process.terminate()
            self._process.wait(10)
        self._folder.cleanup()

    def __repr__(self) -> str:
        return f"<Viewer, {'open' if self.is_open else 'closed'}>"


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, which a window must not block."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and hasattr(running, "kernel")
