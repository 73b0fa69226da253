"""Session files that may go anywhere: small, without paths, and open where their model is gone."""

from __future__ import annotations

import itertools
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.files.sessions.session_file import load_session, save_session, seconds_again
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.protocol.commands import AddLane, NewGraph, Paint, SetImage, SetModel, Step
from mrfstudio.engine.session import lane_runner
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace
from tests.engine.helpers.sessions import assert_same_point, run, segment_session, small_grid_model


def described(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("session.json"))


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    model = small_grid_model(5)
    path = tmp_path / "secret place" / "mine.safetensors"
    path.parent.mkdir()
    return save_model(path, "grid", model.tensors(), {"hyperparameters": model.hyperparameters()})


def drawn_with(model_file: Path) -> Session:
    session = segment_session()
    session.apply(SetModel(0, str(model_file)))
    session.apply(Paint("hints", 2, ((4.5, 4.5),), 1.0))
    session.apply(Step(3))
    run(session)
    return session


def test_a_session_names_no_path_and_finds_its_model_by_checksum(tmp_path: Path, model_file: Path) -> None:
    session = drawn_with(model_file)
    save_session(session, tmp_path / "a.mrfs")
    with zipfile.ZipFile(tmp_path / "a.mrfs") as archive:
        assert b"secret place" not in b"".join(archive.read(name) for name in archive.namelist())
    again = load_session(tmp_path / "a.mrfs", {"segment": session.workspace})
    assert again.point.lanes[0].model_name == str(model_file)  # opened by hand before
    assert_same_point(again.point, session.point)


def test_a_session_opens_though_its_model_is_gone(tmp_path: Path, model_file: Path) -> None:
    session = drawn_with(model_file)
    save_session(session, tmp_path / "a.mrfs")
    model_file.unlink()
    again = load_session(tmp_path / "a.mrfs", {"segment": SegmentWorkspace({"other": small_grid_model(3)})})
    assert again.document.same(session.document)
    assert "is not here, so other stands in for it: open" in run(again)[0].message


@pytest.mark.parametrize("name", ["/etc/passwd", "/proc/self/environ", "../a.safetensors", "~/a.safetensors"])
def test_no_path_in_a_file_is_followed(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = segment_session()
    session.apply(SetModel(0, "b"))
    save_session(session, tmp_path / "a.mrfs")
    text = json.dumps(described(tmp_path / "a.mrfs")).replace('"model": "b"', f'"model": "{name}"')
    with zipfile.ZipFile(tmp_path / "a.mrfs") as archive:
        arrays = archive.read("arrays.npz")
    with zipfile.ZipFile(tmp_path / "b.mrfs", "w") as archive:
        archive.writestr("session.json", text)
        archive.writestr("arrays.npz", arrays)
    monkeypatch.setattr(SegmentWorkspace, "load", _in_memory)
    again = load_session(tmp_path / "b.mrfs", {"segment": session.workspace})
    assert "is not here" in run(again)[0].message


def _in_memory(workspace: SegmentWorkspace, asked: str) -> Any:
    assert asked in workspace._models, "a file was opened"
    return workspace._models[asked]


def test_a_graph_that_was_replaced_is_not_in_the_file(tmp_path: Path) -> None:
    workspace = GraphWorkspace({"huge.uai": ising_grid(60, 60, coupling=0.3)})
    session = Session(workspace, "huge.uai", document=workspace.of_file("huge.uai"), playing=False)
    save_session(session, tmp_path / "file.mrfs")
    assert load_session(tmp_path / "file.mrfs").document.same(session.document)
    session.apply(NewGraph("ring", {}))
    session.apply(Step(3))
    run(session)
    save_session(session, tmp_path / "a.mrfs")
    assert (tmp_path / "a.mrfs").stat().st_size < 20_000
    session.apply(AddLane("huge.uai", "bp", {}))
    save_session(session, tmp_path / "a.mrfs")
    with zipfile.ZipFile(tmp_path / "a.mrfs") as archive:
        assert b"huge" not in b"".join(archive.read(name) for name in archive.namelist())
    again = load_session(tmp_path / "a.mrfs")
    assert [lane.model_name for lane in again.point.lanes] == ["graph"] * 2
    before = tuple(replace(lane, model_name="graph") for lane in session.point.lanes)
    assert_same_point(again.point, replace(session.point, lanes=before))


def test_a_drawing_of_fifteen_iterations_takes_little(tmp_path: Path) -> None:
    session = segment_session()
    observed = np.ones((128, 128), np.uint8)
    observed[30:90, 40] = 0
    session.apply(SetImage(observed, None, "drawing"))
    session.apply(Step(15))
    run(session)
    save_session(session, tmp_path / "a.mrfs")
    assert (tmp_path / "a.mrfs").stat().st_size < 300_000
    assert "messages.npz" not in zipfile.ZipFile(tmp_path / "a.mrfs").namelist()
    again = load_session(tmp_path / "a.mrfs", {"segment": session.workspace})
    run(again)
    assert_same_point(again.point, session.point)


def test_a_generated_graph_is_saved_though_it_has_no_model_file(tmp_path: Path) -> None:
    from mrfstudio.engine.workspaces.studio import Studio

    studio = Studio()
    studio.service("graph").begin()
    session = studio.session("graph")
    save_session(session, tmp_path / "a.mrfs")
    assert load_session(tmp_path / "a.mrfs").document.same(session.document)
    studio.close()


def test_a_busy_machine_does_not_make_the_file_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    session = segment_session()
    clock = itertools.count(0.0, 100.0)
    monkeypatch.setattr(lane_runner.time, "perf_counter", lambda: next(clock))
    session.apply(Step(3))
    run(session)
    lane = session.point.lanes[0]
    assert session.timeline.runner.pace(lane) == 100.0
    assert seconds_again(session) < 100.0
