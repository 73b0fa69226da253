"""Small sessions of every workspace, with every kind of edit in their logs: opening one takes milliseconds."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.protocol import commands as do
from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.errors import StudioError

SMALL = "grid-border-16"
SIDE = 12
TICKS = 6
"""Times that a session goes on after each edit."""


def small_sessions() -> Iterator[Any]:
    """A session of every workspace that has some, worked on."""
    from mrfstudio.engine.registry import SERVICES
    from mrfstudio.engine.workspaces.studio import Studio

    studio = Studio()
    for service in SERVICES:
        if service.restores is None:
            continue
        try:
            studio.service(service.name).begin()
        except StudioError:
            continue  # its models or pictures are not installed
        session = studio.session(service.name)
        for command in _edits(session):
            _tried(session, command)
        yield session


def _edits(session: Any) -> Iterator[Command]:
    """Something small first, then one of every edit; a workspace that has no use for one refuses it."""
    yield from _openings(session.workspace.name)
    layer = session.workspace.layers[-1].name
    first = session.point.lanes[0]
    corners = ((1.0, 1.0), (5.0, 1.0), (3.0, 5.0))
    yield do.Step(2)
    yield do.Paint(layer, 1, ((1.5, 1.5), (4.5, 3.5)), 0.6, 0.5, 7)
    yield do.SetParameter(0, "damping", 0.1)
    yield do.Step(1)
    yield do.AddLane(first.model_name, "mean-field", name="second")
    yield do.RenameLane(0, "first")
    yield do.PaintLasso(layer, 1, corners)
    yield do.Undo()
    yield do.PaintRectangle(layer, 1, (1, 1, 3, 4), outline=True)
    yield do.PaintEllipse(layer, 1, (2, 2, 4, 4), outside=True)
    yield do.Fill(layer, 1, 2, 2)
    yield do.Invert(layer)
    yield do.SetLimits(50, 1e-4)
    yield from _graph_edits() if session.workspace.name == "graph" else _picture_edits(session.workspace.name)
    yield do.Step(1)


def _openings(workspace: str) -> Iterator[Command]:
    if workspace == "segment":
        picture = np.ones((SIDE, SIDE), np.uint8)
        picture[3:9, 3] = picture[3:9, 8] = picture[3, 3:9] = picture[8, 3:9] = 0
        yield do.SetModel(0, SMALL)
        yield do.SetImage(picture, (picture == 0).astype(np.uint8), "square")
    elif workspace == "graph":
        yield do.NewGraph("grid", {"rows": 3, "columns": 4})
    elif workspace in ("photograph", "repair"):
        strokes = np.zeros((SIDE, SIDE), np.uint8)
        strokes[2, 2:6], strokes[9, 2:6] = 1, 2 if workspace == "photograph" else 1
        yield do.SetPhotograph(_photograph(), "small", strokes)


def _graph_edits() -> Iterator[Command]:
    yield do.SetStrength("coupling", 0.7)
    yield do.SetEvidence((0, 3), 1)
    yield do.AddNode(0.5, 0.5)
    yield do.Connect(0, 12, 0.5)
    yield do.MoveNode(2, 0.1, 0.2)
    yield do.SetPart("edge", 1, -0.5)
    yield do.SetTable(2, (1.0, 0.5, 0.5, 2.0))
    yield do.PinMessage(3, 0, (0.2, 0.8))
    yield do.Forbid(4, 1)
    yield do.DeleteParts((1,))
    yield do.SetLayout("circle")


def _picture_edits(workspace: str) -> Iterator[Command]:
    yield do.SetLabels(((1, "one", "#102030"), (2, "two", "#405060"), (3, "three", "#708090")))
    yield do.ClearLayer("hints")
    if workspace == "segment":
        yield do.AddNoise(2, 0.1, 1)
        yield do.Thin()
        yield do.CloseGaps(3)
    if workspace == "repair":
        yield do.FindDamage(6.0)
    if workspace == "inpaint":
        yield do.ClampUnit("rbm-mnist", 2, 1)


def _tried(session: Any, command: Command) -> None:
    try:
        session.apply(command)
    except StudioError:
        return
    for _ in range(TICKS):
        session.advance(0.0)


def _photograph() -> np.ndarray:
    from PIL import Image

    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    rgb = np.stack((20 * rows, 20 * columns, 10 * (rows + columns)), -1).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(rgb).save(out, "PNG")
    return np.frombuffer(out.getvalue(), np.uint8)


def session_files(folder: Path) -> tuple[dict[str, list[bytes]], list[bytes]]:
    """Two files of each, by workspace, as a person saves it and as it is kept for a crash, with its messages; links."""
    from mrfstudio.engine.files.links import LinkError, link_of
    from mrfstudio.engine.files.sessions.session_file import save_session, session_image

    found, links = {}, []
    for session in small_sessions():
        name = session.workspace.name
        saved, kept = folder / f"{name}.mrfs", folder / f"{name}-kept.mrfs"
        save_session(session, saved)
        session_image(session).write(kept)
        found[name] = [saved.read_bytes(), kept.read_bytes()]
        with suppress(LinkError):  # too long for one
            links.append(link_of(session).encode())
    return found, links
