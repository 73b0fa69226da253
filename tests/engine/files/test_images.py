"""Pictures of any kind are read, contours found in them, and label images written and read again."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.engine.files import images
from mrfstudio.engine.files.images import (
    CONTOUR_PALETTE,
    ImageError,
    label_palette,
    read_colour,
    read_grey,
    read_labels,
    to_contours,
    write_image,
    write_labels,
)


def gradient(height: int = 6, width: int = 9) -> np.ndarray:
    return np.linspace(0, 255, height * width).reshape(height, width).astype(np.uint8)


def save(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)  # type: ignore[arg-type]
    return path


# Reading ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "pgm", "gif", "tga", "pcx", "webp"])
def test_grey_pictures_keep_their_levels_and_shape(tmp_path: Path, suffix: str) -> None:
    options = {"lossless": True} if suffix == "webp" else {}
    path = save(tmp_path / f"g.{suffix}", Image.fromarray(gradient()), **options)
    grey = read_grey(path)
    assert grey.dtype == np.float32
    assert grey == pytest.approx(gradient() / 255, abs=1e-6)


def test_colour_becomes_luminance(tmp_path: Path) -> None:
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    path = save(tmp_path / "c.png", Image.fromarray(colours))
    assert read_grey(path)[0] == pytest.approx([0.299, 0.587, 0.114, 1.0])
    assert read_colour(path) == pytest.approx(colours / 255)
    assert read_grey(save(tmp_path / "cmyk.jpg", Image.new("CMYK", (8, 8), (0, 0, 0, 0)))) == pytest.approx(1.0)


def test_transparency_shows_white_paper(tmp_path: Path) -> None:
    black = np.zeros((1, 3, 4), np.uint8)
    black[0, :, 3] = (0, 255, 51)
    assert read_grey(save(tmp_path / "rgba.png", Image.fromarray(black)))[0] == pytest.approx([1.0, 0.0, 0.8], abs=1e-6)
    grey = Image.merge("LA", [Image.new("L", (3, 1)), Image.fromarray(black[:, :, 3])])
    assert read_grey(save(tmp_path / "la.png", grey))[0] == pytest.approx([1.0, 0.0, 0.8], abs=1e-6)
    indexed = Image.frombytes("P", (3, 1), bytes((0, 1, 2)))
    indexed.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 0])
    path = save(tmp_path / "p.png", indexed, transparency=0)
    assert read_colour(path)[0] == pytest.approx(np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0]]))
    keyed = save(tmp_path / "key.png", Image.fromarray(np.array([[0, 7]], np.uint8)), transparency=7)
    assert read_grey(keyed)[0] == pytest.approx([0.0, 1.0])


def test_palette_pictures_have_the_colours_of_their_palette(tmp_path: Path) -> None:
    indexed = Image.frombytes("P", (2, 1), bytes((1, 0)))
    indexed.putpalette([10, 20, 30, 200, 100, 50])
    path = save(tmp_path / "p.png", indexed)
    assert read_colour(path)[0] == pytest.approx(np.array([[200, 100, 50], [10, 20, 30]]) / 255)


def test_sixteen_bits_are_kept(tmp_path: Path) -> None:
    levels = np.array([[0, 1, 40000, 65535]], np.uint16)
    for suffix in ("png", "tif"):
        grey = read_grey(save(tmp_path / f"deep.{suffix}", Image.fromarray(levels)))
        assert grey[0] == pytest.approx(levels[0] / 65535, rel=1e-5)
    assert read_colour(tmp_path / "deep.png").shape == (1, 4, 3)


def test_wide_integers_and_floats_are_scaled(tmp_path: Path) -> None:
    for values, expected in (
        (np.array([[0, 65535]], np.int32), [0, 1]),
        (np.array([[0.25, 1.0]], np.float32), [0.25, 1]),
        (np.array([[0.0, 51.0]], np.float32), [0, 0.2]),
        (np.array([[-2.0, 0.0, 2.0]], np.float32), [0, 0.5, 1]),
    ):
        assert read_grey(save(tmp_path / "w.tif", Image.fromarray(values)))[0] == pytest.approx(expected)
    path = save(tmp_path / "nan.tif", Image.fromarray(np.array([[np.nan, 1.0]], np.float32)))
    with pytest.raises(ImageError, match="not finite"):
        read_grey(path)


def test_one_bit_and_one_pixel(tmp_path: Path) -> None:
    assert read_grey(save(tmp_path / "bit.png", Image.new("1", (3, 2), 1))).tolist() == [[1.0] * 3] * 2
    assert read_grey(save(tmp_path / "dot.png", Image.new("RGB", (1, 1)))).tolist() == [[0.0]]


def test_the_camera_s_orientation_is_followed(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the top of the scene is at the right: turn a quarter clockwise to see it upright
    path = save(tmp_path / "turned.png", Image.fromarray(gradient()), exif=exif)
    assert read_grey(path) == pytest.approx(np.rot90(gradient(), -1) / 255, abs=1e-6)


def test_a_damaged_exif_note_is_no_obstacle(tmp_path: Path) -> None:
    path = save(tmp_path / "odd.png", Image.fromarray(gradient()), exif=b"Exif\0\0MM\0*\0\0\0\x08\0\xff\x01\x12")
    assert read_grey(path).shape == (6, 9)


def test_an_animation_shows_its_first_frame(tmp_path: Path) -> None:
    frames = [Image.new("L", (4, 4), level) for level in (0, 128, 255)]
    path = save(tmp_path / "a.gif", frames[0], save_all=True, append_images=frames[1:])
    assert (read_grey(path) == 0).all()


def test_too_many_pixels_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    for side, said in ((10_000, "in 65 bytes: it is damaged"), (15_000, "at most 200"), (100_000, "at most 200")):
        header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
        (tmp_path / "bomb.png").write_bytes(data)
        with pytest.raises(ImageError, match=said):
            read_grey(tmp_path / "bomb.png")


def test_large_pictures_open_smaller_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_PIXELS", 1000)
    for name in ("a.png", "a.jpg"):
        Image.fromarray(np.full((60, 80), 128, np.uint8)).save(tmp_path / name)
        assert read_grey(tmp_path / name).shape in ((20, 27), (15, 20))  # a JPEG halves by itself, and is halved again
        assert images.what_was_reduced(tmp_path / name) == (
            f"{name} has 80×60 pixels and was opened at 1/3 of that, to fit into memory."
        )
    Image.fromarray(np.zeros((20, 20), np.uint8)).save(tmp_path / "small.png")
    assert images.what_was_reduced(tmp_path / "small.png") == ""


def encoded(kind: str, seed: int = 0) -> bytes:
    noise = np.random.default_rng(seed).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"])
def test_truncated_pictures_are_refused_with_a_sentence(tmp_path: Path, kind: str) -> None:
    content = encoded(kind)
    for part in (0.02, 0.3, 0.9):
        path = tmp_path / f"cut.{kind.lower()}"
        path.write_bytes(content[: int(part * len(content))])
        with pytest.raises(ImageError, match=r"cut\.") as caught:
            read_grey(path)
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"])
def test_damaged_pictures_are_read_or_refused_but_never_crash(tmp_path: Path, kind: str) -> None:
    content = bytearray(encoded(kind))
    generator = np.random.default_rng(1)
    path = tmp_path / "damaged"
    refused = 0
    for _ in range(60):
        damaged = content.copy()
        for place in generator.integers(0, min(len(content), 400), 8):
            damaged[place] = generator.integers(256)
        path.write_bytes(damaged)
        try:
            assert np.isfinite(read_grey(path)).all()
        except ImageError:
            refused += 1
    assert refused > 0


def test_what_is_not_a_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "empty.png").touch()
    (tmp_path / "drawing.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.png")
    else:
        (tmp_path / "pipe.png").mkdir()
    for name, sentence in (
        ("text.png", "no picture that can be read"),
        ("empty.png", "no picture that can be read"),
        ("drawing.eps", "no picture that can be read"),
        ("missing.png", "does not exist"),
        ("pipe.png", "is not a file"),
        (".", "is not a file"),
    ):
        with pytest.raises(ImageError, match=sentence):
            read_grey(tmp_path / name)


# Contours -----------------------------------------------------------------------------------------------------------


def line_on_paper(paper: float, ink: float) -> np.ndarray:
    picture = np.full((12, 12), paper, np.float32)
    picture[3, 2:10] = ink
    return picture


@pytest.mark.parametrize(
    ("paper", "ink", "kind"), [(1, 0, "dark"), (0, 1, "light"), (0.9, 0.6, "dark"), (0.4, 0.9, "light")]
)
def test_ink_is_the_smaller_side(paper: float, ink: float, kind: str) -> None:
    contours = to_contours(line_on_paper(paper, ink))
    assert contours.ink == kind
    assert np.array_equal(contours.seen, line_on_paper(0, 1) == 1)
    assert contours.threshold is not None
    assert min(paper, ink) < contours.threshold < max(paper, ink)


def test_a_picture_with_two_levels_may_have_any_contrast() -> None:
    assert to_contours(line_on_paper(1 / 255, 0)).seen.sum() == 8  # noisy contour images stored as 0 and 1


@pytest.mark.parametrize("ink", ["auto", "dark", "light"])
@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_a_uniform_picture_has_no_contour(ink: images.Ink, level: float) -> None:
    for shape in ((1, 1), (7, 3)):
        contours = to_contours(np.full(shape, level), ink)
        assert contours.seen.shape == shape
        assert not contours.seen.any()
        assert contours.ink is None


def test_noise_alone_is_no_contour_but_noise_on_a_drawing_does_not_hide_it() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, (12, 12)).astype(np.float32)
    assert to_contours(np.clip(0.97 + noise, 0, 1)).ink is None
    assert np.array_equal(to_contours(line_on_paper(0.9, 0.2) + noise).seen, line_on_paper(0, 1) == 1)


def test_the_ink_and_the_threshold_can_be_given() -> None:
    levels = np.array([[0.0, 0.2, 0.5, 0.7, 1.0]])
    assert to_contours(levels, "dark", 0.5).seen.tolist() == [[True, True, True, False, False]]
    assert to_contours(levels, "light", 0.5).seen.tolist() == [[False, False, False, True, True]]
    assert to_contours(levels, "auto", 0.5).ink == "light"
    assert to_contours(np.zeros((2, 2)), "dark", 0.5).seen.all()  # who gives a threshold means it
    for arguments, sentence in (
        ((levels[0],), "shape"),
        ((levels, "blue"), "auto, dark or light"),
        ((levels, "dark", 2.0), "0 .black. to 1"),
    ):
        with pytest.raises(ImageError, match=sentence):
            to_contours(*arguments)  # type: ignore[arg-type]


# Label images -------------------------------------------------------------------------------------------------------


def some_labels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 3, (5, 8), dtype=np.uint8)


def test_labels_survive_a_file_that_is_indexed_with_eight_bits(tmp_path: Path) -> None:
    path = tmp_path / "l.png"
    write_labels(path, some_labels())
    assert np.array_equal(read_labels(path), some_labels())
    content = path.read_bytes()
    assert content[24:26] == b"\x08\x03"  # bit depth 8, colour type 3: indexed
    with Image.open(path) as image:
        assert np.array_equal(np.asarray(image.convert("RGB")), np.array(CONTOUR_PALETTE, np.uint8)[some_labels()])


def test_labels_can_be_read_from_grey_pictures(tmp_path: Path) -> None:
    assert np.array_equal(read_labels(save(tmp_path / "g.png", Image.fromarray(some_labels()))), some_labels())
    deep = Image.fromarray(some_labels().astype(np.uint16))
    assert np.array_equal(read_labels(save(tmp_path / "d.png", deep)), some_labels())


def test_up_to_256_labels_of_photographs(tmp_path: Path) -> None:
    labels = np.arange(256).reshape(16, 16)
    write_labels(tmp_path / "many.png", labels, label_palette(9))
    assert np.array_equal(read_labels(tmp_path / "many.png", labels=256), labels)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Image.fromarray(gradient()), "values from 0 to 255: expected labels from 0 to 2"),
        (lambda: Image.new("RGB", (3, 3)), "colour picture .RGB."),
    ],
)
def test_other_pictures_are_no_label_images(tmp_path: Path, make: Callable[[], Image.Image], sentence: str) -> None:
    with pytest.raises(ImageError, match=sentence):
        read_labels(save(tmp_path / "x.png", make()))


def test_labels_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    for path, labels, sentence in (
        (tmp_path / "x.jpg", some_labels(), "does not end in .png"),
        (tmp_path / "x.png", some_labels() * 1.5, "float64"),
        (tmp_path / "x.png", np.full((2, 2), 256), "0 to 255"),
        (tmp_path / "no" / "x.png", some_labels(), "cannot be written"),
    ):
        with pytest.raises(ImageError, match=sentence):
            write_labels(path, labels)
    assert list(tmp_path.iterdir()) == []


# Writing ------------------------------------------------------------------------------------------------------------


def test_written_pictures_read_back(tmp_path: Path) -> None:
    colours = np.random.default_rng(0).integers(0, 256, (4, 5, 3)) / 255
    for suffix in (".png", ".bmp", ".tif"):
        write_image(tmp_path / f"c{suffix}", colours)
        assert read_colour(tmp_path / f"c{suffix}") == pytest.approx(colours, abs=1e-6)
    write_image(tmp_path / "g.png", np.array([[-1.0, 0.2, 7.0]]))
    assert read_grey(tmp_path / "g.png")[0] == pytest.approx([0.0, 0.2, 1.0], abs=1e-6)
    with pytest.raises(ImageError, match=r"ends in '\.doc'"):
        write_image(tmp_path / "x.doc", colours)


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "l.png"
    write_labels(path, some_labels())

    def fail(self: Image.Image, file: io.BufferedWriter, format: str) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", fail)
    with pytest.raises(ImageError, match="No space left on device"):
        write_labels(path, 2 - some_labels())
    assert np.array_equal(read_labels(path), some_labels())
    assert [found.name for found in tmp_path.iterdir()] == ["l.png"]
