"""Files from strangers: how much they take is known before it is taken."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import subprocess
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.data.dataset import DataError, dataset_class
from mrfstudio.engine.data.npz_file import read_npz
from mrfstudio.engine.files.atomic import atomic_path, sweep
from mrfstudio.engine.files.distrust import Distrusted, array_of, member_bytes, parsed, unpacked_arrays
from mrfstudio.engine.files.graphs.graph import read_graph
from mrfstudio.engine.files.graphs.text import GraphFileError
from mrfstudio.engine.files.lesson_file import LessonFileError, read_lesson
from mrfstudio.engine.files.model_file import ModelFileError, save_model
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.files.sessions.typed import made
from mrfstudio.engine.protocol.commands import Paint
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS
from mrfstudio.engine.training.runs.store import RunStore


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[1e999]", b"[NaN]", b"[" + b"[]," * 3_000_000 + b"0]"])
def test_json_that_takes_too_much_is_refused_before_it_is_parsed(text: bytes) -> None:
    with pytest.raises(Distrusted):
        parsed(text)


def packed(**members: bytes) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return out


def npy(shape: tuple[int, ...], body: bytes, kind: str = "<f4") -> bytes:
    header = str({"descr": kind, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def test_arrays_are_compared_with_their_bytes() -> None:
    assert array_of(npy((2,), bytes(8)), "a").tolist() == [0, 0]
    for wrong in (npy((10**12,), bytes(8)), npy((2,), bytes(8), "|O"), npy((2,), bytes(7))):
        with pytest.raises(Distrusted):
            array_of(wrong, "a")


def lying(archive: io.BytesIO, promised: int = 100) -> io.BytesIO:
    """The same archive, whose only part promises to unpack to fewer bytes than it does."""
    content = bytearray(archive.getvalue())
    for at in (22, content.index(b"PK\x01\x02") + 24):
        content[at : at + 4] = struct.pack("<I", promised)
    return io.BytesIO(bytes(content))


def peak_of(action: Callable[[], Any]) -> int:
    """The most bytes that were taken at once, as far as Python and numpy count them."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_part_that_unpacks_to_more_than_it_promises_takes_no_memory() -> None:
    """40 kB that unpack to 40 MB: `ZipFile.read` unpacks all of them before it cuts them to what was promised."""
    bomb = lying(packed(a=npy((10 << 20,), bytes(40 << 20))))
    with zipfile.ZipFile(bomb) as archive:
        info = archive.infolist()[0]

        def read() -> None:
            for reader in (lambda: member_bytes(archive, info), lambda: unpacked_arrays(bomb)):
                with pytest.raises((zipfile.BadZipFile, Distrusted)):
                    reader()

        assert peak_of(read) < 4 << 20


def test_an_array_is_unpacked_where_it_stays() -> None:
    content = packed(a=npy((5 << 20,), bytes(20 << 20)))
    assert peak_of(lambda: unpacked_arrays(content)) < 30 << 20
    found = unpacked_arrays(packed(a=npy((2, 3), np.arange(6, dtype="<f4").tobytes()), b=npy((0, 4), b"", "<i8")))
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["a"].flags.writeable
    assert found["b"].shape == (0, 4)
    for body in (bytes(4), bytes(12)):  # shorter and longer than the header says
        with pytest.raises(Distrusted):
            unpacked_arrays(packed(a=npy((2,), body)))


def test_names_beside_a_graph_are_weighed_before_they_are_parsed(tmp_path: Path) -> None:
    (tmp_path / "a.uai").write_text("MARKOV\n1\n2\n1\n1 0\n2 1 1\n")
    (tmp_path / "a.uai.names.json").write_text("[" + "[]," * 4_000_000 + "0]")

    def refused() -> None:
        with pytest.raises(GraphFileError):
            read_graph(tmp_path / "a.uai")

    assert peak_of(refused) < 100 << 20


def test_an_archive_that_unpacks_to_too_much_or_in_odd_ways_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Distrusted, match="would unpack to"):
        unpacked_arrays(packed(a=npy((1 << 20,), bytes(4 << 20))), most=1 << 20)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", npy((2,), bytes(8)))
    with pytest.raises(DataError, match="packed in another way"):
        read_npz(tmp_path / "a.npz", "numbers")


def test_a_command_of_other_types_is_refused() -> None:
    good = {"layer": "hints", "value": 1, "points": ((1.0, 2.0),), "radius": 1}
    assert made(Paint, good).radius == 1
    for name, wrong in (
        ("radius", "wide"),
        ("points", ((1.0,),)),
        ("value", 1e300),
        ("value", True),
        ("colour", "red"),
    ):
        with pytest.raises(TypeError):
            made(Paint, {**good, name: wrong})


def test_a_card_is_compared_with_the_tensors_before_anything_is_made(tmp_path: Path) -> None:
    card = {"visible": 4, "hidden": 3, "second": 0, "image_shape": [2, 2]}
    model = MODELS["rbm"].restore(card)
    lies = {**card, "visible": 30_000, "hidden": 30_000, "image_shape": None}
    save_model(tmp_path / "a.safetensors", "rbm", model.tensors(), {"hyperparameters": lies})
    with pytest.raises(ModelFileError, match="its card speaks of"):
        open_model(tmp_path / "a.safetensors")


def test_a_few_bytes_of_a_graph_take_no_gigabyte(tmp_path: Path) -> None:
    (tmp_path / "a.fg").write_text("1\n\n1\n0\n16777216\n1\n0 1\n")
    with pytest.raises(GraphFileError, match="far more than"):
        read_graph(tmp_path / "a.fg")
    (tmp_path / "a.uai.gz").write_bytes(gzip.compress(b"MARKOV 1 2 0 " + b" " * (20 << 20)))
    with pytest.raises(GraphFileError, match="more than 16 MB"):
        read_graph(tmp_path / "a.uai.gz")


def test_an_idx_file_is_asked_what_it_promises_first(tmp_path: Path) -> None:
    head = bytes((0, 0, 8, 3)) + struct.pack(">3I", 60_000, 5000, 5000)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + bytes(1000)))
    with pytest.raises(DataError, match="far more than a file of its size"):
        dataset_class("mnist")().open(tmp_path)


def test_a_lesson_of_anything_is_no_lesson(tmp_path: Path) -> None:
    for number, content in enumerate((b"[" * 100_000, b"null", b'{"steps": [{}]}', b'{"steps": 3}', b"\xff")):
        (tmp_path / f"{number}.json").write_bytes(content)
        with pytest.raises(LessonFileError):
            read_lesson(tmp_path / f"{number}.json")


@pytest.mark.parametrize("content", [b"[" * 100_000, b"null", b'{"format_version": 1e999}', b"\xff", b"{}"])
def test_one_damaged_run_hides_no_other(tmp_path: Path, content: bytes) -> None:
    plan = {"model": "rbm", "learner": "pcd", "data": "mnist"}
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps({"format_version": 1, "name": name, "plan": plan}))
    (tmp_path / "bad" / "run.json").write_bytes(content)
    states = {note.run: note.state for note in RunStore(tmp_path).all()}
    assert states == {"good": "planned", "bad": "damaged"}


def test_what_a_killed_writer_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead, fresh, mine, other = (
        tmp_path / name
        for name in (f".a.txt.{gone.pid}-0123456789ab.tmp", f".b.txt.{gone.pid}-0123456789ab.tmp",
                     f".a.txt.{os.getpid()}-0123456789ab.tmp", ".notes.tmp")
    )  # fmt: skip
    for path in (dead, fresh, mine, other):
        path.touch()
    long_ago = time.time() - 3600
    for path in (dead, mine, other):
        os.utime(path, (long_ago, long_ago))
    with atomic_path(tmp_path / "a.txt") as temporary:
        temporary.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.txt", fresh.name, mine.name, other.name])
    sweep(tmp_path / "nowhere")


def test_the_size_of_a_document_is_looked_at_before_layers_are_made() -> None:
    from mrfstudio.engine.session.document import Document
    from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace

    wide = np.broadcast_to(np.zeros((), np.uint8), (10**6, 10**6))  # takes one byte
    with pytest.raises(StudioError, match="a size"):
        SegmentWorkspace().check(Document({"observed": wide}, None, "wide"))
