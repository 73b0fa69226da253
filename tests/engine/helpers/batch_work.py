"""Work of a batch that other processes import: some of it dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mrfstudio.engine.tasks.batch import BatchItem


def write_name(item: BatchItem) -> str:
    """Write the item's name as its answer. `dies` kills its process the first time, `hopeless` every time."""
    target = Path(item.answer)
    marker = target.with_suffix(".began")
    if item.name == "hopeless" or (item.name == "dies" and not marker.exists()):
        marker.write_text("", encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
    if item.name == "refused":
        return "no."
    target.write_text(item.name, encoding="utf-8")
    return ""
