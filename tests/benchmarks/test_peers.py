"""Peers: the same inputs for both, answers compared, ratios of one run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio import bench

RIVAL = """
import sys, numpy as np
_, rival, task, given, made = sys.argv
x = np.load(given)["x"]
np.savez(made, answers=x * 2 + {wrong}, seconds=0.5)
"""


@pytest.fixture
def rivals() -> Any:
    assert bench.peers()
    return sys.modules["rivals"]


def compared(rivals: Any, folder: Path, wrong: float) -> dict[str, Any]:
    script = folder / "rival.py"
    script.write_text(RIVAL.format(wrong=wrong), encoding="ascii")

    class Here(rivals.Peer):  # type: ignore[misc, name-defined]
        python = Path(sys.executable)

    task = rivals.Task("twice", "twice", lambda: {"x": np.arange(3.0)}, lambda i: (2 * i["x"], 0.25), 1e-6)
    return rivals.compare(Here("fake", ("numpy",), str(script), (task,)), task)


def test_answers_that_agree_give_a_ratio(rivals: Any, tmp_path: Path) -> None:
    found = compared(rivals, tmp_path, 0.0)
    assert found["agree"]
    assert found["ratio"] == pytest.approx(2.0)
    assert "2.00×" in rivals.in_words({"version": "1", "machine": {"studio": "2"}, "rows": [found]})


def test_answers_that_differ_are_said_to(rivals: Any, tmp_path: Path) -> None:
    found = compared(rivals, tmp_path, 0.1)
    assert not found["agree"]
    assert "DIFFER by 1.0e-01" in rivals.in_words({"version": "1", "machine": {"studio": "2"}, "rows": [found]})


def test_a_peer_that_fails_is_named(rivals: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="fake, twice"):
        compared(rivals, tmp_path, "nonsense")  # type: ignore[arg-type]
