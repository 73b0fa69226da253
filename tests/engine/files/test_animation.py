"""Animations read back as what was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.engine.files.animation import write_animation
from mrfstudio.engine.files.images import ImageError


def pictures(count: int = 5) -> list[np.ndarray]:
    """A blue square that moves over a yellow sheet."""
    made = []
    for number in range(count):
        picture = np.full((30, 40, 3), (255, 200, 0), np.uint8)
        picture[10:20, 5 * number : 5 * number + 10] = (20, 40, 200)
        made.append(picture)
    return made


@pytest.mark.parametrize("ending", [".gif", ".webp", ".GIF"])
def test_every_picture_is_there_in_order_for_its_time(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    write_animation(path, pictures(), 120, 1500)
    with Image.open(path) as film:
        assert film.n_frames == 5
        assert film.info["loop"] == 0
        times = []
        for number, picture in enumerate(pictures()):
            film.seek(number)
            film.load()
            times.append(film.info["duration"])
            assert np.abs(np.asarray(film.convert("RGB")).astype(int) - picture).max() <= 8
    assert times == [120, 120, 120, 120, 1500]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_written_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"film\.mp4 does not end in \.gif or \.webp"):
        write_animation(tmp_path / "film.mp4", pictures(), 100)
    with pytest.raises(ImageError, match="choose another place"):
        write_animation(tmp_path / "nowhere" / "film.gif", pictures(), 100)
    with pytest.raises(ImageError, match="at least one picture"):
        write_animation(tmp_path / "film.gif", [], 100)
