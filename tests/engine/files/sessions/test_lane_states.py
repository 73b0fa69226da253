"""States that come from a file: what is no number is computed again."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.files.sessions.session_file import load_session, session_image
from mrfstudio.engine.protocol.commands import Step
from mrfstudio.engine.session.session import Session
from tests.engine.helpers.sessions import assert_same_point, graph_session, run, segment_session


def spoil_messages(path: Path, value: float) -> None:
    """Write a session file again with one value in place of every message."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    messages = dict(np.load(io.BytesIO(members["messages.npz"])))
    for array in messages.values():
        if array.dtype.kind == "f":
            array[...] = value
    buffer = io.BytesIO()
    np.savez(buffer, **messages)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, "messages.npz": buffer.getvalue()}.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("make", "value"), [(graph_session, np.nan), (segment_session, np.nan), (segment_session, np.inf)]
)
def test_messages_that_are_no_numbers_are_computed_again(
    make: Callable[[], Session], value: float, tmp_path: Path
) -> None:
    session, path = make(), tmp_path / "a.mrfs"
    session.apply(Step(3))
    run(session)
    session_image(session).write(path)
    spoil_messages(path, value)
    again = load_session(path, {session.workspace.name: session.workspace})
    frames = run(again)
    assert "are no numbers: messages are being computed again" in frames[0].message
    assert_same_point(again.point, session.point)
