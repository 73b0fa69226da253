"""Peers: the same inputs for both, answers compared, ratios of one run."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio import bench

RIVAL = """
import sys, time, numpy as np
_, rival, task, given, made = sys.argv
print("stage: compiling", file=sys.stderr, flush=True)
time.sleep({asleep})
x = np.load(given)["x"]
np.savez(made, answers=x * 2 + {wrong}, seconds=0.5)
"""


@pytest.fixture
def rivals() -> Any:
    assert bench.peers()
    return sys.modules["rivals"]


def compared(rivals: Any, folder: Path, wrong: float, asleep: float = 0.0) -> dict[str, Any]:
    script = folder / "rival.py"
    script.write_text(RIVAL.format(wrong=wrong, asleep=asleep), encoding="ascii")

    class Here(rivals.Peer):  # type: ignore[misc, name-defined]
        python = Path(sys.executable)

    task = rivals.Task("twice", "twice", lambda: {"x": np.arange(3.0)}, lambda i: (2 * i["x"], 0.25), 1e-6)
    return rivals.compare(Here("fake", ("numpy",), str(script), (task,)), task)


def test_answers_that_agree_give_a_ratio(rivals: Any, tmp_path: Path) -> None:
    found = compared(rivals, tmp_path, 0.0)
    assert found["agree"]
    assert found["ratio"] == pytest.approx(2.0)
    assert "2.00×" in in_words(rivals, found)


def in_words(rivals: Any, row: dict[str, Any]) -> str:
    words: str = rivals.in_words({"version": "fake 3.1", "machine": asdict(rivals.machine()), "rows": [row]})
    assert words.startswith("fake 3.1 beside the studio ")
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}." in words
    return words


def test_answers_that_differ_are_said_to(rivals: Any, tmp_path: Path) -> None:
    found = compared(rivals, tmp_path, 0.1)
    assert not found["agree"]
    assert "DIFFER by 1.0e-01" in in_words(rivals, found)


def test_a_peer_that_fails_is_named(rivals: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="fake, twice"):
        compared(rivals, tmp_path, "nonsense")  # type: ignore[arg-type]


def test_a_peer_that_takes_too_long_has_no_ratio(rivals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "PATIENCE", 2.0)
    found = compared(rivals, tmp_path, 0.0, asleep=600.0)
    assert found == {"task": "twice", "studio_seconds": 0.25, "no_answer": "no answer in 2 s, still compiling"}
    assert in_words(rivals, found).endswith("250 ms here; no answer in 2 s, still compiling there")


def test_a_slow_peer_takes_fewer_turns(rivals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []
    monkeypatch.setattr(rivals, "rival_answers", lambda *_: turns.append(1) or (2 * np.arange(3.0), 0.5))
    assert compared(rivals, tmp_path, 0.0)["agree"]
    assert len(turns) == rivals.ROUNDS
    monkeypatch.setattr(rivals, "PATIENCE", 0.0)
    assert compared(rivals, tmp_path, 0.0)["agree"]
    assert len(turns) == rivals.ROUNDS + 1
