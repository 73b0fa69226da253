"""A few damaged files of every kind, in this process: the long run is `mrfstudio bench fuzz`."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrfstudio.bench.fuzz.child import judged, kind_of, shrunk
from mrfstudio.bench.fuzz.model_files import model_files
from mrfstudio.bench.fuzz.reader import Reader, case
from mrfstudio.bench.fuzz.readers import all_readers
from mrfstudio.engine.files.graphs.graph import FORMATS, NETWORKS
from mrfstudio.engine.files.model_file import read_card
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS

CASES = 6


def test_readers_open_or_refuse_damaged_files(tmp_path: Path) -> None:
    for reader in all_readers(tmp_path):
        if reader.title == "session":  # seconds a case: the long run has it
            continue
        seeds = reader.seeds()
        place = tmp_path / reader.title.replace(" ", "-") / reader.name
        for number in range(CASES):
            finding = judged(reader, place, case(reader, seeds, number))
            assert not finding, f"{reader.title} {number}: {finding}"


def test_the_same_number_makes_the_same_file(tmp_path: Path) -> None:
    reader = next(each for each in all_readers(tmp_path) if each.title == "fg")
    assert case(reader, reader.seeds(), 5) == case(reader, reader.seeds(), 5)


def test_what_breaks_a_reader_is_found_and_made_smaller(tmp_path: Path) -> None:
    def fragile(path: Path) -> None:
        if b"!" in path.read_bytes():
            raise LookupError("a mark")

    reader = Reader("fragile", "a.txt", fragile, (ValueError,), lambda: [b"abc"])
    data = b"x" * 300 + b"!" + b"y" * 300
    finding = judged(reader, tmp_path / "a.txt", data)
    assert finding.startswith("raises LookupError")
    assert kind_of(finding) == "raises LookupError"
    assert shrunk(reader, tmp_path / "a.txt", data, finding) == b"!"


def test_every_kind_of_file_has_a_reader(tmp_path: Path) -> None:
    titles = {reader.title for reader in all_readers(tmp_path)}
    assert {ending.removeprefix(".") for ending in (*FORMATS, *NETWORKS)} <= titles
    kinds = []
    for data in model_files(tmp_path):
        path = tmp_path / "one.safetensors"
        path.write_bytes(data)
        kinds.append(read_card(path).kind)
    assert sorted(kinds) == sorted(MODELS.names())


def test_a_small_model_cannot_promise_many_hidden_spins() -> None:
    described = {"edges": [[0, 1], [1, 2]], "nodes": 3, "sharing": "none", "shape": None, "hidden": 2**31}
    with pytest.raises(StudioError, match="of 3 spins are hidden"):
        MODELS["ising"].shapes(described)
