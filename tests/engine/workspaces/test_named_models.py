"""Workspaces whose models are files: no file is opened that nobody chose, and what is gone has a stand-in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.files.photographs import as_content
from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.protocol.commands import SetModel, SetPhotograph
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces import named_models
from mrfstudio.engine.workspaces.inpaint.workspace import InpaintWorkspace
from mrfstudio.engine.workspaces.named_models import NamedModels
from mrfstudio.engine.workspaces.photograph.workspace import MODEL, PhotographWorkspace
from mrfstudio.engine.workspaces.repair.workspace import RepairWorkspace
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace
from tests.engine.helpers.pictures import small_grbm
from tests.engine.helpers.sessions import small_grid_model
from tests.engine.helpers.windows import striped_mixture

STRANGE = ("/etc/passwd", "../secret.safetensors", "gone")


def photographed(workspace: PhotographWorkspace, model: str, algorithm: str) -> Session:
    document = workspace.photographed(SetPhotograph(as_content(np.full((24, 24, 3), 90, np.uint8)), "grey"))
    return Session(workspace, model, algorithm, document=document, playing=False)


MADE: dict[str, Callable[[], Session]] = {
    "segment": lambda: Session(SegmentWorkspace({"known": small_grid_model()}), "known", playing=False),
    "inpaint": lambda: Session(InpaintWorkspace({"known": small_grbm()}), "known", playing=False),
    "photograph": lambda: photographed(PhotographWorkspace(), MODEL, "cutout"),
    "repair": lambda: photographed(RepairWorkspace({"known": striped_mixture()}), "known", "windows"),
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("workspace", MADE)
def test_a_session_that_names_a_strange_model_opens_with_one_that_is_known(
    workspace: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = MADE[workspace]()
    known = session.point.lanes[0].model_name
    assert isinstance(session.workspace, NamedModels)
    session.workspace._models[name] = session.workspace._models[known]
    session.apply(SetModel(0, name))
    save_session(session, tmp_path / "a.mrfs")

    def opened(path: Any, *_: Any) -> Any:
        raise AssertionError(f"{path} was opened")

    monkeypatch.setattr(named_models, "open_fitting", opened)
    session.workspace.forget(name)
    again = load_session(tmp_path / "a.mrfs", {workspace: session.workspace})
    assert again.point.lanes[0].model_name == known


@pytest.mark.parametrize("workspace", MADE)
def test_a_model_that_was_opened_is_found_by_its_name_and_read_once(
    workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = MADE[workspace]().workspace
    assert isinstance(place, NamedModels)
    read: list[str] = []
    monkeypatch.setattr(named_models, "open_fitting", lambda name, _: read.append(name) or object())
    monkeypatch.setattr(type(place), "made", lambda _, name, trained: trained)
    assert not place.knows("/my/own.safetensors")
    model = place.load("/my/own.safetensors")
    assert place.load("/my/own.safetensors") is model
    assert read == ["/my/own.safetensors"]
    assert place.name_of(model) == "/my/own.safetensors"
    assert place.knows("/my/own.safetensors")
