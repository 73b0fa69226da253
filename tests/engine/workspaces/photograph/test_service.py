"""What the Photograph workspace answers: examples, guesses, and files that the command takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.engine.files.images import read_labels
from mrfstudio.engine.protocol.answers import ModelNote
from mrfstudio.engine.protocol.commands import AddLane, SetPhotograph, SetView
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Background
from mrfstudio.engine.protocol.requests.photograph import KeepModel, SaveScribbles
from mrfstudio.engine.workspaces.photograph import examples
from mrfstudio.engine.workspaces.photograph.service import example_photograph, look_at, read_photograph
from mrfstudio.engine.workspaces.studio import Studio
from tests.cli.helpers import answer
from tests.engine.helpers.photographs import disc, disc_strokes, inside


def test_every_example_has_strokes_of_all_its_labels() -> None:
    for number, example in enumerate(examples.EXAMPLES):
        found = example_photograph(number)
        assert found.strokes is not None
        assert found.strokes.shape == found.shape
        assert set(np.unique(found.strokes).tolist()) == {0, *(label for label, _, _ in example.labels)}


def test_without_scikit_image_the_workspace_still_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(example: examples.Example) -> np.ndarray:
        raise StudioError(examples.MISSING)

    monkeypatch.setattr("mrfstudio.engine.workspaces.photograph.service.example_rgb", missing)
    session = Studio().session("photograph")
    frame = session.advance(0.0)
    assert frame is not None
    assert "pip install scikit-image" in frame.message
    session.apply(SetPhotograph(read_photograph(disc()).content, "own"))
    assert session.document.shape == (72, 96)


def test_a_guess_tells_photographs_from_drawings(tmp_path: Path) -> None:
    photo, sketch = tmp_path / "photo.png", tmp_path / "sketch.png"
    Image.fromarray(examples.example_rgb(examples.EXAMPLES[2])).save(photo)
    lines = np.full((50, 50, 3), 255, np.uint8)
    lines[20:22] = (200, 0, 0)
    Image.fromarray(lines).save(sketch)
    assert look_at(str(photo)).photograph
    assert look_at(str(photo)).coloured
    assert not look_at(str(sketch)).photograph


def test_the_command_computes_what_the_window_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    studio = Studio()
    session = studio.session("photograph")
    session.apply(SetView(("overlay",)))
    session.apply(SetPhotograph(read_photograph(disc()).content, "disc", disc_strokes()))
    frame = None
    while session.wait == 0.0:
        frame = session.advance(0.1) or frame
    assert frame is not None
    photo, strokes, labels = studio.answer("photograph", SaveScribbles(str(tmp_path)))  # type: ignore[misc]
    out = tmp_path / "labels.png"
    answer(capsys, "segment", photo, "--scribbles", strokes, "--labels", labels, "--out", out, "--json", "-")
    np.testing.assert_array_equal(read_labels(out) - 1, frame.lanes[0].pictures["overlay"][..., 0])


def settled_studio() -> Studio:
    """A disc with strokes, cut out."""
    studio = Studio()
    session = studio.session("photograph")
    session.apply(SetView(("overlay",)))
    session.apply(SetPhotograph(read_photograph(disc()).content, "disc", disc_strokes()))
    while session.wait == 0.0:
        session.advance(0.1)
    return studio


def test_what_strokes_taught_is_kept_for_other_photographs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a lane of another photograph without strokes, and by the command on a folder, one file of which is broken."""
    monkeypatch.setenv("MRFSTUDIO_HOME", str(tmp_path / "home"))
    studio = settled_studio()
    kept = studio.answer("photograph", KeepModel("my disc"))
    assert isinstance(kept, Background)
    note = kept.work()
    assert isinstance(note, ModelNote)
    other, place = np.ascontiguousarray(np.roll(disc(), 12, 1)), np.roll(inside(), 12, 1)
    session = studio.session("photograph")
    session.apply(SetPhotograph(read_photograph(other).content, "other"))
    session.apply(AddLane(note.name, "cutout"))
    frame = None
    while session.wait == 0.0:
        frame = session.advance(0.1) or frame
    assert frame is not None
    assert "overlay" not in frame.lanes[0].pictures
    assert ((frame.lanes[1].pictures["overlay"][..., 0] == 0) == place).mean() > 0.97
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.fromarray(other).save(folder / "other.png")
    (folder / "broken.png").write_bytes(b"no picture")
    found = answer(capsys, "segment", folder, "--model", "my disc", "--out", tmp_path / "out", "--json", "-")
    assert list(found["images"][0]["pixels"]) == ["Object", "Background"]
    assert "broken.png" in next(iter(found["failed"]))
    assert ((read_labels(tmp_path / "out" / "other-labels.png") == 1) == place).mean() > 0.97


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden"])
def test_a_model_needs_a_name_that_a_file_can_have(name: str) -> None:
    with pytest.raises(StudioError, match="cannot be called"):
        Studio().answer("photograph", KeepModel(name))
