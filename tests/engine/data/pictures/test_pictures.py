"""Grey pictures as data: generated faces, and folders of any pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.engine.data.dataset import DataError, parse_data
from mrfstudio.engine.data.drawn.face_drawing import TRAITS, draw_faces
from mrfstudio.engine.data.drawn.faces import Faces
from mrfstudio.engine.files.images import fitted


def plain_face(**changes: float) -> np.ndarray:
    traits = {name: trait.mean for name, trait in TRAITS.items()} | changes
    return draw_faces(np.array([list(traits.values())], np.float32))[0].astype(int)


def test_a_face_depends_on_seed_split_and_index_alone() -> None:
    few, many = (parse_data("faces").open(count=count, validation=3, test=2) for count in (3, 70))
    assert few["train"]["images"].shape == (3, 28, 20)
    assert few["train"]["images"].dtype == np.uint8
    assert np.array_equal(few["train"]["images"], many["train"]["images"][:3])
    assert np.array_equal(few["val"]["images"], many["val"]["images"])
    assert not np.array_equal(few["train"]["images"][:2], few["test"]["images"])
    other = Faces(count=3, seed=1, validation=0, test=0).open()
    assert not np.array_equal(other["train"]["images"], few["train"]["images"])
    assert many.constants["mean"] == pytest.approx(many["train"]["images"].mean())


def test_faces_differ_everywhere_but_share_their_eyes() -> None:
    images = Faces(count=200, validation=0, test=0).open()["train"]["images"].astype(float)
    assert images.std(0).min() > 15
    mean = images.mean(0)
    eyes, cheeks = mean[10:13, 4:16].min(), mean[16:18, 5:15].min()
    assert eyes < cheeks - 20


def test_a_plain_face_is_symmetric_and_light_comes_from_its_side() -> None:
    face = plain_face()
    assert np.abs(face - face[:, ::-1]).max() <= 1
    lit = plain_face(light_x=1.0)
    assert lit[:, 10:].mean() > lit[:, :10].mean() + 10


def test_expressions_move_the_mouth_and_leave_the_forehead() -> None:
    smile, sad = plain_face(smile=1.2), plain_face(smile=-0.7)
    assert np.abs(smile - sad)[18:24].max() > 40
    assert np.array_equal(smile[:8], sad[:8])
    assert plain_face(open_eyes=1.0)[10:13].sum() != plain_face(open_eyes=0.4)[10:13].sum()


def test_a_turned_head_shows_its_features_to_the_side() -> None:
    def darkest_column(face: np.ndarray) -> float:
        weights = np.clip(150 - face[19:23, 3:17], 0, None)
        return float((weights.sum(0) * np.arange(14)).sum() / weights.sum())

    assert (
        darkest_column(plain_face(yaw=0.4))
        > darkest_column(plain_face()) + 1
        > darkest_column(plain_face(yaw=-0.4)) + 2
    )


def test_a_folder_of_any_pictures_becomes_one_size(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    generator = np.random.default_rng(0)
    for index in range(10):
        side = 20 + 7 * index
        colours = generator.integers(0, 256, (side, 40, 3)).astype(np.uint8)
        Image.fromarray(colours).save(
            tmp_path / ("deep" if index % 2 else "") / f"{index}.{'jpg' if index % 3 else 'png'}"
        )
    (tmp_path / "notes.txt").write_text("no picture")
    data = parse_data(f"images:{tmp_path}").open(height=6, width=8)
    assert data.sizes == {"train": 8, "val": 1, "test": 1}
    assert data["train"]["images"].shape == (8, 6, 8)
    again = parse_data(f"images:{tmp_path}").open(height=6, width=8)
    assert np.array_equal(data["train"]["images"], again["train"]["images"])


def test_pictures_are_cut_in_the_middle_and_averaged() -> None:
    wide = np.zeros((4, 8), np.float32)
    wide[:, 2:6] = np.repeat([[0.2, 0.4, 0.6, 0.8]], 4, 0)
    assert fitted(wide, (2, 2)) == pytest.approx(np.array([[0.3, 0.7], [0.3, 0.7]]))
    assert fitted(wide, (4, 8)) == pytest.approx(wide)
    assert fitted(np.full((2, 2), 0.5, np.float32), (6, 5)) == pytest.approx(np.full((6, 5), 0.5))


def test_folders_without_pictures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no pictures"):
        parse_data(f"images:{tmp_path}").open()
    (tmp_path / "broken.png").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"broken\.png .* Take it out of"):
        parse_data(f"images:{tmp_path}").open()
    with pytest.raises(DataError, match="is no folder"):
        parse_data(f"images:{tmp_path / 'broken.png'}").open()


def test_varied_faces_fill_the_picture_in_any_light_and_go_with_their_seed() -> None:
    plain, varied, again = (
        Faces(count=60, validation=0, test=0, varied=kind).open()["train"]["images"].astype(float)
        for kind in (False, True, True)
    )
    assert (varied == again).all()
    assert varied.shape == plain.shape
    spread = [images.reshape(60, -1).std(1) for images in (plain, varied)]
    assert spread[1].std() / spread[1].mean() > 0.2  # contrast by a factor
    sides = [
        np.abs(images[:, :, :6].mean((1, 2)) - images[:, :, 14:].mean((1, 2))).mean() for images in (plain, varied)
    ]
    assert sides[1] > 1.2 * sides[0]  # light comes from a side
