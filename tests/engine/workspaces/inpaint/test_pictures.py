"""Pictures to inpaint: cut and scaled, from data sets, drawn by a model; and what the window asks of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.files.images import largest_part, read_grey, write_image
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.workspaces.inpaint.pictures import grey_picture, hole, picture_gallery, picture_sources
from mrfstudio.engine.workspaces.inpaint.service import DRAWN, InpaintService, drawn_by
from mrfstudio.engine.workspaces.studio import Studio
from tests.engine.helpers.pictures import models, small_grbm, small_rbm
from tests.engine.helpers.sessions import run


def ramp(height: int = 40, width: int = 60) -> np.ndarray:
    """Grey levels that grow to the right."""
    return np.broadcast_to(np.linspace(0, 1, width, dtype=np.float32), (height, width))


def test_the_largest_part_of_the_right_proportions_lies_in_the_middle() -> None:
    assert largest_part((40, 60), (8, 6)) == (0.0, 15.0, 40.0, 30.0)
    assert largest_part((40, 10), (8, 8)) == (15.0, 0.0, 10.0, 10.0)


def test_a_part_is_scaled_to_the_mean_over_each_pixel() -> None:
    picture = grey_picture(ramp(), (8, 6), rectangle=(0, 0, 40, 30))
    expected = ramp()[:, :30].reshape(8, 5, 6, 5).mean((1, 3)) * 255
    np.testing.assert_allclose(picture.picture, expected, atol=0.51)
    assert (picture.full_size, picture.rectangle) == ((40, 60), (0, 0, 40, 30))


def test_a_small_picture_is_enlarged() -> None:
    picture = grey_picture(np.full((3, 3), 0.5), (12, 12)).picture
    assert (picture == 128).all()


def test_brightness_and_contrast_can_be_matched() -> None:
    picture = grey_picture(ramp(), (8, 6), brightness=(0.6, 0.1)).picture / 255
    assert picture.mean() == pytest.approx(0.6, abs=0.005)
    assert picture.std() == pytest.approx(0.1, abs=0.005)


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    write_image(path, np.zeros((9, 9)))
    assert grey_picture(path, (3, 3)).picture.max() == 0
    path.unlink()
    write_image(path, np.ones((9, 9)))
    assert grey_picture(path, (3, 3)).picture.min() == 255
    assert grey_picture(path, (3, 3)).name == "a.png"


@pytest.mark.parametrize("part", [(-1, 0, 10, 10), (0, 0, 41, 10), (0, 55, 10, 10), (0, 0, 0.5, 0.5)])
def test_a_part_outside_the_picture_is_refused(part: tuple[float, float, float, float]) -> None:
    with pytest.raises(StudioError, match="expected a part inside it"):
        grey_picture(ramp(), (8, 6), rectangle=part)


def test_generated_faces_need_no_data_and_pages_differ() -> None:
    sources = picture_sources((28, 20))
    assert (sources[0].name, sources[0].missing) == ("faces", "")
    first, second = picture_gallery("faces"), picture_gallery("faces", 1)
    assert first.pictures.shape == (24, 28, 20)
    assert first.pictures.dtype == np.uint8
    assert second.numbers[0] == 24
    assert not np.array_equal(first.pictures, second.pictures)
    np.testing.assert_array_equal(first.pictures, picture_gallery("faces").pictures)


def test_silhouettes_become_white_on_black() -> None:
    assert set(np.unique(picture_gallery("glyphs").pictures)) == {0, 255}


def test_a_model_draws_pictures_that_depend_on_the_seed_alone() -> None:
    model = small_grbm()
    pictures = drawn_by(model, 4, 0)
    assert pictures.shape == (4, 8, 6)
    np.testing.assert_array_equal(pictures, drawn_by(model, 4, 0))
    assert not np.array_equal(pictures, drawn_by(model, 4, 1))
    assert set(np.unique(drawn_by(small_rbm(), 4, 0))) == {0, 255}


def test_what_a_model_draws_has_its_mean() -> None:
    model = small_grbm()
    drawn = drawn_by(model, 600, 3) / 255
    by_hand = model.to_grey(model.visible_bias + model.weights.sum(0) / model.precision / 2)
    # Every unit is on about half of the time: its bias is 0 and its field is small.
    assert np.abs(drawn.mean(0) - by_hand.numpy()).mean() < 0.06


def test_the_hole_is_inside_the_picture() -> None:
    for shape in ((28, 20), (5, 5), (3, 2)):
        mask = hole(shape)
        assert mask.shape == shape
        assert 0 < mask.sum() < mask.size


# The service----------------------------------------------------------------------------------------------------------


def inpainting() -> InpaintService:
    service = Studio(models()).service("inpaint")
    assert isinstance(service, InpaintService)
    return service


def test_the_first_session_is_a_picture_with_a_hole() -> None:
    service = inpainting()
    assert service.begin() == "model 0"
    session = service.session()
    assert not session.modified
    assert session.document.layers["mask"].any()
    frames = run(session)
    assert frames[-1].lanes[0].scalars[-1].nce_bits is not None


def test_every_model_of_pictures_is_offered_with_its_size() -> None:
    service = inpainting()
    notes = {note.name: note for note in service.models()}
    assert list(notes)[:3] == ["grey", "other", "digits"]
    assert notes["grey"].shape == (8, 6)
    assert notes["digits"].title == "5×5 pixels, 4 hidden units"
    assert all(note.kind in ("grbm", "rbm", "dbm", "crbm") for note in notes.values())
    assert [source.name for source in service.sources("grey")] == [DRAWN.name]


def test_pictures_and_masks_are_written_for_the_command(tmp_path: Path) -> None:
    service = inpainting()
    service.begin()
    session = service.session()
    paths = service.save_query(str(tmp_path / "query"))
    assert paths is not None
    np.testing.assert_allclose(read_grey(paths[0]) * 255, session.document.layers["picture"], atol=0.01)
    np.testing.assert_array_equal(read_grey(paths[1]) > 0.5, session.document.layers["mask"] == 1)


def test_fields_have_units() -> None:
    service = inpainting()
    grey = service.units("grey")
    assert (grey.fields.shape, grey.unit) == ((5, 8, 6), "grey levels")
    assert service.units("digits").unit == "log-odds of white"
