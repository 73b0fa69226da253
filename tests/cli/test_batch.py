"""`batch` as a person calls it: the same files for any number of workers, and after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.helpers import answer, refusal

Capture = pytest.CaptureFixture[str]
PAIR = "MARKOV\n2\n2 2\n1\n2 0 1\n4\n{} 1 1 {}\n"


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    folder = tmp_path / "graphs"
    folder.mkdir()
    for number in range(4):
        (folder / f"g{number}.uai").write_text(PAIR.format(number + 2, number + 2), encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_any_number_of_workers_writes_the_same_files_and_a_second_start_nothing(
    graphs: Path, tmp_path: Path, capsys: Capture
) -> None:
    (graphs / "g1.uai").write_text("nonsense", encoding="utf-8")
    words = ["batch", "infer", graphs, "--algorithm", "exact", "--json", "-"]
    from mrfstudio.cli import main

    for workers, out in ((1, tmp_path / "one"), (2, tmp_path / "two")):
        assert main([str(word) for word in [*words, "--out", out, "--workers", workers]]) == 2
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert set(contents(tmp_path / "one")) == {"g0.json", "g2.json", "g3.json"}
    capsys.readouterr()
    (graphs / "g1.uai").write_text(PAIR.format(3, 3), encoding="utf-8")
    before = (tmp_path / "one" / "g0.json").stat().st_mtime_ns
    result = answer(capsys, *words, "--out", tmp_path / "one")
    assert (result["items"], result["computed"], result["done_before"], result["failed"]) == (4, 1, 3, {})
    assert (tmp_path / "one" / "g0.json").stat().st_mtime_ns == before


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_killed_batch_goes_on_where_it_was(graphs: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    words = ["batch", "infer", str(graphs), "--algorithm", "exact", "--out", str(out), "--workers", "1"]
    process = subprocess.Popen([sys.executable, "-m", "mrfstudio", *words], stdout=subprocess.DEVNULL)
    while not list(out.glob("g*.json")) and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    found = len(list(out.glob("g*.json")))
    assert found >= 1
    result = answer(capsys, *words, "--json", "-")
    assert result["done_before"] >= found
    assert result["done_before"] + result["computed"] == result["items"] == 4
    assert len(list(out.glob("g*.json"))) == 4


def test_what_a_command_does_not_know_is_said_for_each_item(graphs: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "is no folder" in refusal(capsys, "batch", "segment", tmp_path / "none", "--out", tmp_path / "out")
    assert "--shard" in refusal(capsys, "batch", "infer", graphs, "--out", tmp_path / "out", "--shard", "5/4")
