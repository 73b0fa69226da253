"""Photographs as people have them: every odd kind gives upright colours of 8 bits, or one sentence."""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.engine.files import images, photographs
from mrfstudio.engine.files.images import ImageError
from mrfstudio.engine.files.photographs import as_content, decode, looks_like_a_photograph, read_content

RED, BLUE = (220, 30, 20), (10, 40, 230)


def picture() -> Image.Image:
    """Red at the left, blue at the right: 6×4."""
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, :3], pixels[:, 3:] = RED, BLUE
    return Image.fromarray(pixels)


def content(image: Image.Image, kind: str, **options: object) -> np.ndarray:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def test_a_camera_that_was_held_sideways_is_turned() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the top of the picture is at the right of the file
    found = decode(content(picture(), "JPEG", exif=exif, quality=100, subsampling=0)).rgb
    assert found.shape == (6, 4, 3)
    np.testing.assert_allclose(found[0, 0], RED, atol=12)
    np.testing.assert_allclose(found[-1, -1], BLUE, atol=12)


def test_print_colours_and_palettes_become_colours() -> None:
    printed = decode(content(picture().convert("CMYK"), "TIFF"))
    np.testing.assert_allclose(printed.rgb[0, 0], RED, atol=2)
    assert "CMYK" in printed.said
    few = decode(content(picture().convert("P", palette=Image.Palette.ADAPTIVE), "PNG"))
    np.testing.assert_array_equal(few.rgb[0, -1], BLUE)
    assert few.said == ""


def test_sixteen_bits_keep_their_levels() -> None:
    levels = np.array([[0, 32768, 65535]], np.uint16)
    found = decode(content(Image.fromarray(levels), "PNG")).rgb
    assert found[0].tolist() == [[0] * 3, [128] * 3, [255] * 3]


def test_what_is_transparent_is_shown_on_white_and_said() -> None:
    clear = picture().convert("RGBA")
    clear.putpixel((0, 0), (0, 0, 0, 0))
    found = decode(content(clear, "PNG"), "leaf.png")
    assert found.rgb[0, 0].tolist() == [255] * 3
    assert found.said == "leaf.png is transparent in places: it is shown on white."
    assert decode(content(picture().convert("RGBA"), "PNG"), "leaf.png").said == ""


def test_of_an_animation_the_first_picture_is_shown_and_said() -> None:
    frames = [picture(), picture().transpose(Image.Transpose.FLIP_LEFT_RIGHT)]
    found = decode(content(frames[0], "GIF", save_all=True, append_images=frames[1:]), "wave.gif")
    assert found.rgb[0, 0, 0] > 150
    assert found.said == "wave.gif holds 2 pictures: the first one is shown."


def test_the_colour_profile_is_kept() -> None:
    assert decode(content(picture(), "PNG", icc_profile=b"a profile")).profile == b"a profile"
    assert decode(content(picture(), "PNG")).profile is None


def test_a_huge_picture_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = content(picture(), "PNG")
    monkeypatch.setattr(photographs, "LARGEST", 6)
    smaller = decode(whole, "a.png")
    assert smaller.rgb.shape == (2, 3, 3)
    assert smaller.said == "a.png has 6×4 pixels and was opened at 1/2 of that, to fit into memory."
    monkeypatch.setattr(images, "LARGEST", 20)
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("it was unpacked"))
    with pytest.raises(ImageError, match="6×4 pixels: expected at most"):
        decode(whole)


def test_broken_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    whole = content(picture().resize((200, 200)), "PNG")
    with pytest.raises(ImageError, match="damaged or cut short"):
        decode(whole[: len(whole) // 2], "half.png")
    with pytest.raises(ImageError, match="no picture that can be read"):
        decode(np.frombuffer(b"hello, this is a letter", np.uint8), "letter.png")
    with pytest.raises(ImageError, match="does not exist"):
        read_content(tmp_path / "nowhere.jpg")


def test_telephones_pictures_need_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)  # importing it fails, installed or not
    photographs._knows_heif.cache_clear()
    with pytest.raises(ImageError, match="install pillow-heif"):
        decode(np.frombuffer(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", np.uint8), "IMG_1.HEIC")
    photographs._knows_heif.cache_clear()


def test_colours_without_a_file_get_one() -> None:
    pixels = np.asarray(picture())
    np.testing.assert_array_equal(decode(as_content(pixels)).rgb, pixels)


def test_photographs_are_told_from_drawings() -> None:
    rng = np.random.default_rng(0)
    smooth = np.linspace(0, 1, 120)
    hills = np.stack([np.outer(smooth, 1 - smooth), np.outer(smooth, smooth), np.outer(1 - smooth, smooth)], -1)
    photo = np.clip(hills * 255 + rng.normal(0, 6, hills.shape), 0, 255).astype(np.uint8)
    drawing = np.full((120, 120, 3), 255, np.uint8)
    drawing[30:90, 30:34] = 0
    crayons = drawing.copy()
    crayons[60:64] = RED
    grey = np.repeat(photo[..., :1], 3, 2)
    assert looks_like_a_photograph(photo)
    for other in (drawing, crayons, grey):
        assert not looks_like_a_photograph(other)


def test_a_second_picture_that_is_damaged_is_refused_in_one_sentence() -> None:
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save(buffer, "TIFF")
    data = bytearray(buffer.getvalue())
    first = int.from_bytes(data[4:8], "little")
    following = first + 2 + 12 * int.from_bytes(data[first : first + 2], "little")
    data[following : following + 4] = len(data).to_bytes(4, "little")
    data += bytes(6)  # a directory without entries
    with pytest.raises(ImageError, match="damaged"):
        decode(np.frombuffer(bytes(data), np.uint8), "two.tiff")


def test_a_huge_photograph_under_a_few_strokes_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mrfstudio.engine.files.sessions.session_file import SessionFileError, load_session, save_session
    from mrfstudio.engine.protocol.commands import SetPhotograph
    from mrfstudio.engine.session.session import Session
    from mrfstudio.engine.workspaces.photograph.workspace import MODEL, PhotographWorkspace

    small = content(Image.new("RGB", (20, 15), RED), "PNG")
    space = PhotographWorkspace()
    document = space.photographed(SetPhotograph(small, "small"))
    session = Session(space, MODEL, "cutout", document=document)
    path = save_session(session, tmp_path / "a.mrfs")
    with zipfile.ZipFile(path) as archive:
        described, arrays = archive.read("session.json"), dict(np.load(io.BytesIO(archive.read("arrays.npz"))))
    arrays["photograph"] = content(Image.new("RGB", (900, 800), RED), "PNG")
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("session.json", described)
        archive.writestr("arrays.npz", buffer.getvalue())

    monkeypatch.setattr(photographs, "decode", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(SessionFileError, match="strokes do not fit its photograph"):
        load_session(path)
