"""Sessions as files: what comes back, and what is refused in one sentence."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.sessions import session_file, zipped
from mrfstudio.engine.files.sessions.session_file import SessionFileError, load_session, save_session
from mrfstudio.engine.protocol.commands import (
    AddLane,
    AddNoise,
    CloseGaps,
    Fill,
    Paint,
    PaintEllipse,
    PaintLasso,
    PaintRectangle,
    RemoveLane,
    Scrub,
    SetAlgorithm,
    SetImage,
    SetLimits,
    SetParameter,
    SetSpeed,
    SetView,
    Step,
    Thin,
    Undo,
)
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import replayed
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace
from tests.engine.helpers.sessions import assert_same_point, fixed_grid_model, graph_session, run, segment_session
from tests.places import SESSIONS


@pytest.fixture(autouse=True)
def _messages_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """However soon they could be computed again: `test_portable.py` is about that."""
    monkeypatch.setattr(session_file, "SOON", -1.0)


def worked(session: Session, *commands: Any) -> Session:
    for command in commands:
        session.apply(command)
        run(session)
    return session


def a_graph_session() -> Session:
    return worked(
        graph_session(tolerance=0.0),
        Step(3),
        Paint("hints", 1, ((1.5, 1.5), (3.5, 1.5)), 0.4, 0.5, 3),
        SetParameter(0, "damping", 0.25),
        AddLane("strong", "mean-field", {"damping": 0.1}, limit=4),
        AddLane("weak", "exact"),
        AddLane("weak", "gibbs", {"chains": 8, "burn_in": 2}),
        RemoveLane(1),
        Fill("hints", 0, 0, 0),
        Undo(),
        SetLimits(30, 1e-6),
        SetSpeed(5.0),
        Step(4),
        Paint("hints", 0, ((4.5, 3.5),), 0.4),
        Step(3),
    )


def a_segment_session() -> Session:
    truth = np.ones((9, 10), np.uint8)
    truth[2:7, 2:7], truth[3:6, 3:6] = 0, 2
    return worked(
        segment_session(),
        SetImage(np.where(truth == 0, 0, 1), truth, "square"),
        AddNoise(1, 0.2, 3),
        Step(5),
        PaintRectangle("hints", 2, (4, 4, 2, 2), 0.5),
        PaintEllipse("observed", 2, (1, 1, 4, 5), outside=True),
        PaintEllipse("observed", 0, (1, 1, 9, 9), outline=True),
        CloseGaps(2),
        Thin(),
        PaintLasso("hints", 1, ((0.5, 0.5), (3.5, 0.5), (2.0, 3.5))),
        SetImage(np.ones((6, 6), int)),
        Undo(),
        Step(4),
    )


def models_of(session: Session) -> dict[str, Any]:
    return {} if session.workspace.name == "graph" else {session.workspace.name: session.workspace}


@pytest.mark.parametrize("make", [a_graph_session, a_segment_session])
def test_a_session_comes_back_with_its_messages_and_its_past(make: Callable[[], Session], tmp_path: Path) -> None:
    session = worked(make(), SetView(("strip",)))
    save_session(session, tmp_path / "a.mrfs")
    again = load_session(tmp_path / "a.mrfs", models_of(session))
    assert_same_point(again.point, session.point)
    assert again.timeline.newest == session.timeline.newest
    assert again.speed == session.speed
    frame = again.advance(0.0)
    assert frame is not None
    assert (frame.message, frame.modified, frame.playing) == ("", False, False)
    for lane in frame.lanes:
        numbers = session.measurements.by_lane[lane.lane]
        assert list(lane.scalars) == numbers.scalars
        assert [iteration for iteration, _ in lane.strip] == [iteration for iteration, _ in numbers.strip] != []
        assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(lane.strip, numbers.strip, strict=True))
    for iteration in (2, 4, 3):
        worked(session, Scrub(iteration))
        worked(again, Scrub(iteration))
        assert_same_point(again.point, session.point)
    log = again.timeline.log
    assert_same_point(replayed(again.timeline.runner, again.timeline.origin, log, 3), session.point)


def test_a_session_saved_in_its_past_opens_there(tmp_path: Path) -> None:
    session = worked(a_graph_session(), Scrub(5))
    save_session(session, tmp_path / "a.mrfs")
    again = load_session(tmp_path / "a.mrfs")
    assert_same_point(again.point, session.point)
    worked(again, Scrub(7))
    worked(session, Scrub(7))
    assert_same_point(again.point, session.point)


def test_large_messages_are_left_out_and_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_file, "LARGEST_MESSAGES", 100)
    session = a_graph_session()
    save_session(session, tmp_path / "a.mrfs")
    assert "were not stored" in run(session)[-1].message
    assert zipfile.ZipFile(tmp_path / "a.mrfs").namelist() == ["session.json", "arrays.npz"]
    again = load_session(tmp_path / "a.mrfs")
    frames = run(again)
    assert "computed again" in frames[0].message
    assert frames[-1].iteration == session.point.iteration
    assert_same_point(again.point, session.point)


def test_messages_of_another_model_are_computed_again(tmp_path: Path) -> None:
    session = a_segment_session()
    save_session(session, tmp_path / "a.mrfs")
    other = SegmentWorkspace({"a": fixed_grid_model()})
    again = load_session(tmp_path / "a.mrfs", {"segment": other})
    frames = run(again)
    assert "The model a is not the one" in frames[0].message
    assert frames[-1].iteration == session.point.iteration
    assert again.document.same(session.document)


@pytest.mark.parametrize("change", ["fewer numbers", "a field less"])
def test_a_state_in_another_layout_is_computed_again_and_said_to_be(tmp_path: Path, change: str) -> None:
    session = worked(graph_session(), SetAlgorithm(0, "renn", {"embedding": 8}), AddLane("weak", "bp", {}), Step(3))
    path = save_session(session, tmp_path / "a.mrfs")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    messages = dict(np.load(io.BytesIO(members["messages.npz"])))
    if change == "fewer numbers":
        messages |= {name: messages[name][:-40] for name in ("0 parameters", "0 first", "0 second")}
    else:
        del messages["0 offset"]
    buffer = io.BytesIO()
    np.savez(buffer, **messages)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, "messages.npz": buffer.getvalue()}.items():
            archive.writestr(name, content)
    again = load_session(path)
    frames = run(again)
    assert "another version of MRF Studio" in frames[0].message
    assert "Region-based energy network" in frames[0].message
    assert "computed again" in frames[0].message
    assert_same_point(again.point, session.point)


def test_a_session_without_a_step_is_stored_too(tmp_path: Path) -> None:
    session = worked(graph_session(), SetAlgorithm(0, "mean-field"))
    save_session(session, tmp_path / "a.mrfs")
    assert_same_point(load_session(tmp_path / "a.mrfs").point, session.point)


@pytest.mark.parametrize("make", [a_graph_session, a_segment_session])
def test_nothing_in_a_file_is_pickled(make: Callable[[], Session], tmp_path: Path) -> None:
    save_session(make(), tmp_path / "a.mrfs")
    archive = zipfile.ZipFile(tmp_path / "a.mrfs")
    assert json.loads(archive.read("session.json"))["version"] == 1
    for name in ("arrays.npz", "messages.npz"):
        arrays = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
        assert all(arrays[member].dtype.kind in "biuf" for member in arrays.files)


def test_the_old_file_stays_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mrfs"
    save_session(graph_session(), path)
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipped.np, "savez_compressed", full)
    with pytest.raises(SessionFileError, match="No space left"):
        save_session(a_graph_session(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# Files that are not right ---------------------------------------------------------------------------------------------


def rewritten(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the description inside a session file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    described = json.loads(members["session.json"])
    change(described)
    members["session.json"] = json.dumps(described).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def one_sentence(path: Path) -> str:
    with pytest.raises(SessionFileError) as raised:
        load_session(path)
    message = str(raised.value)
    assert "\n" not in message
    assert str(path) in message
    assert message.endswith(".")
    return message


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return save_session(a_graph_session(), tmp_path / "a.mrfs")


def test_a_newer_version_is_refused(stored: Path) -> None:
    rewritten(stored, lambda described: described.update(version=2))
    assert "format version 2 and this program reads up to 1" in one_sentence(stored)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format="something"), "no session file"),
        (lambda d: d.pop("log"), "damaged"),
        (lambda d: d.update(log=[1, 2]), "damaged"),
        (lambda d: d["log"][0].update(do="Explode"), "damaged"),
        (lambda d: d["log"][0].update(after=10**12), "damaged"),
        (lambda d: d["log"][0].update(after=5), "damaged"),
        (lambda d: d["log"][0].update(points="no"), "damaged"),
        (lambda d: d["log"][0].update(surprise=1), "damaged"),
        (lambda d: d.update(iteration="many"), "damaged"),
        (lambda d: d.update(iteration=500), "damaged"),
        (lambda d: d["workspace"].update(name="Dreams"), "workspace 'Dreams'"),
        (lambda d: d["origin"]["lanes"][0].update(model="gone"), "no graph 'gone'"),
        (lambda d: d["origin"]["lanes"][0].update(algorithm="bpp"), "did you mean 'bp'"),
        (lambda d: d["origin"]["limits"].update(iterations=-5), "iterations is -5"),
        (lambda d: d["origin"].update(lanes=[]), "damaged"),
        (lambda d: d["lanes"].pop(), "damaged"),
        (lambda d: d["lanes"][0].update(done="many"), "damaged"),
        (lambda d: d["lanes"][0].update(status="asleep"), "damaged"),
        (lambda d: d["lanes"][0]["state"].update(iteration=None), "damaged"),
        (lambda d: d.update(speed=-3), "speed is -3"),
        (lambda d: d["workspace"]["graphs"][0].update(groups=9), "damaged"),
    ],
)
def test_a_file_with_a_wrong_description_is_refused(stored: Path, change: Callable[[Any], Any], words: str) -> None:
    rewritten(stored, change)
    assert words in one_sentence(stored)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_refused(stored: Path, part: float) -> None:
    content = stored.read_bytes()
    stored.write_bytes(content[: int(part * len(content))])
    assert str(stored) in one_sentence(stored)


def test_flipped_bytes_never_crash_the_reader(stored: Path) -> None:
    content = bytearray(stored.read_bytes())
    random = np.random.default_rng(0)
    opened = 0
    for place in random.integers(0, len(content), 60):
        damaged = content.copy()
        damaged[place] ^= 0xFF
        stored.write_bytes(damaged)
        with suppress(SessionFileError):
            load_session(stored)
            opened += 1  # a byte that nobody reads, such as a date
    assert opened < 30


def test_a_file_that_unpacks_to_too_much_is_refused(stored: Path) -> None:
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("session.json", "w") as member:
        for _ in range(65):
            member.write(b" " * 2**20)
    assert "would unpack to 65 MB" in one_sentence(stored)


def bomb(header: dict[str, Any], content: bytes) -> bytes:
    packed, array = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(array, header)
    array.write(content)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", array.getvalue())
    return packed.getvalue()


@pytest.mark.parametrize("dtype", ["<f4", "|O"])
def test_an_array_that_promises_too_much_takes_no_memory(stored: Path, dtype: str) -> None:
    with zipfile.ZipFile(stored) as archive:
        text = archive.read("session.json")
    promised = {"descr": dtype, "fortran_order": False, "shape": (10**9, 1000)}
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("session.json", text)
        archive.writestr("arrays.npz", bomb(promised, b"abcd"))
    assert "x.npy" in one_sentence(stored)


def test_a_missing_file_or_a_folder_is_named(tmp_path: Path) -> None:
    assert "does not exist" in one_sentence(tmp_path / "nothing.mrfs")
    assert "cannot be read" in one_sentence(tmp_path)


# Files of every version -----------------------------------------------------------------------------------------------


def test_stored_sessions_of_version_1_open() -> None:
    graph = load_session(SESSIONS / "version-1-graph.mrfs")
    assert graph.point.iteration == 7
    assert [(lane.number, lane.algorithm.name) for lane in graph.point.lanes] == [
        (0, "bp"), (2, "exact"), (3, "gibbs"),
    ]  # fmt: skip
    assert graph.document.layers["hints"][1, 1:4].tolist() == [1, 1, 1]
    frame = graph.advance(0.0)
    assert frame is not None
    assert frame.message == ""
    assert [s.iteration for s in frame.lanes[0].scalars] == list(range(1, 8))
    segment = load_session(
        SESSIONS / "version-1-segment.mrfs", {"segment": SegmentWorkspace({"a": fixed_grid_model()})}
    )
    assert segment.document.name == "square"
    assert segment.point.iteration == 4
    frame = segment.advance(0.0)
    assert frame is not None
    assert frame.message == ""
    # Messages are those that the file's commands give on this machine too, as far as rounding allows.
    timeline = segment.timeline
    again = replayed(timeline.runner, timeline.origin, timeline.log, 4)
    mine, theirs = (point.lanes[0].state for point in (segment.point, again))
    torch.testing.assert_close(mine.messages, theirs.messages, rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]


def store_version_1() -> None:
    """How the files in `tests/sessions` were made; run once, then never changed."""
    save_session(a_graph_session(), SESSIONS / "version-1-graph.mrfs")
    session = a_segment_session()
    origin = session.timeline.origin
    assert origin.lanes
    workspace = SegmentWorkspace({"a": fixed_grid_model(), "b": fixed_grid_model()})
    workspace.shape = (9, 11)
    again = Session(workspace, "a", document=origin.document, playing=False, limits=replace(origin.limits))
    for stamped in session.timeline.log:
        worked(again, stamped.command)
    worked(again, Step(4))
    save_session(again, SESSIONS / "version-1-segment.mrfs")
