"""Small grey faces from a handful of numbers: an ellipsoid head that turns, with features painted on it and light on
both.

Coordinates: x from -1 (left) to 1 (right), y downwards in the same unit, z towards the viewer. A point of the head is
turned back into the head's own frame, and there (X, Y) say which feature it lies on; so features foreshorten and
wander to the side as the head turns. Everything is smooth: edges are logistic steps about as wide as a pixel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

HEIGHT, WIDTH = 28, 20
FINER = 3  # rays a pixel and axis; their mean is the pixel
EDGE = 0.035
ZOOM = 1.28  # how large a head is in the picture


@dataclass(frozen=True)
class Range:
    """A number with a mean and a spread, kept within two spreads."""

    mean: float
    spread: float


TRAITS = {
    # pose, in radians and in the unit of the coordinates
    "yaw": Range(0.0, 0.28), "pitch": Range(0.02, 0.13), "roll": Range(0.0, 0.07),
    "shift_x": Range(0.0, 0.05), "shift_y": Range(0.0, 0.05), "size": Range(1.0, 0.05),
    # expression
    "smile": Range(0.25, 0.6), "open_mouth": Range(0.12, 0.3), "open_eyes": Range(0.8, 0.2), "brows": Range(0.0, 0.5),
    "frown": Range(0.0, 0.4), "gaze": Range(0.0, 0.4), "mouth_width": Range(1.0, 0.1),
    # light
    "light_x": Range(0.0, 0.6), "light_y": Range(-0.35, 0.25), "ambient": Range(0.5, 0.07),
    "exposure": Range(1.0, 0.09), "background": Range(0.45, 0.16), "slope": Range(0.0, 0.1),
    # who it is
    "skin": Range(0.8, 0.08), "hair": Range(0.24, 0.1), "hairline": Range(0.0, 0.08), "hair_length": Range(0.2, 0.45),
    "jaw": Range(0.0, 0.05), "eye_distance": Range(0.0, 0.02), "brow_weight": Range(1.0, 0.25),
    "nose": Range(0.0, 0.04), "lips": Range(1.0, 0.2),
}  # fmt: skip


def draw_traits(generator: np.random.Generator, ranges: Mapping[str, Range] = TRAITS) -> Array:
    """One face: a number for each trait, in their order."""
    draws = np.clip(generator.standard_normal(len(ranges)), -2, 2)
    return np.array([r.mean + r.spread * d for r, d in zip(ranges.values(), draws, strict=True)], np.float32)


def draw_faces(traits: Array) -> NDArray[np.uint8]:
    """Faces (n, 28, 20) of traits (n, traits)."""
    t = {name: traits[:, [column]][:, :, None] for column, name in enumerate(TRAITS)}
    x, y = _rays(t)
    head, turned, shade = _head(t, x, y)
    X, Y, front = turned
    skin = t["skin"] * shade
    face = _features(t, skin, X, Y, front)
    backdrop = t["background"] + t["slope"] * x + 0.06 * y
    picture = _mix(backdrop, _body(t, x, y), _step(y - 0.93 - 0.55 * x**2))
    picture = _mix(picture, t["skin"] * (0.62 + 0.1 * t["light_x"] * x), _neck(t, x, y))
    locks = _step(1 - (x / 0.8) ** 2 - ((y + 0.16) / (1.02 + 0.25 * t["hair_length"])) ** 2, 0.1)
    below = _step(0.05 + 0.55 * t["hair_length"] - y, 0.08)
    picture = _mix(picture, t["hair"] * (0.75 + 0.35 * shade), locks * below)
    picture = _mix(picture, face, head)
    picture = np.clip(t["exposure"] * picture, 0, 1)
    n = len(traits)
    pixels = picture.reshape(n, HEIGHT, FINER, WIDTH, FINER).mean((2, 4))
    return np.rint(255 * pixels).astype(np.uint8)


def _rays(t: dict[str, Array]) -> tuple[Array, Array]:
    """Where each ray meets the picture, after shift, size and roll, (n, rows, columns) each."""
    columns = (np.arange(WIDTH * FINER, dtype=np.float32) + 0.5) / (WIDTH * FINER) * 2 - 1
    rows = ((np.arange(HEIGHT * FINER, dtype=np.float32) + 0.5) / (HEIGHT * FINER) * 2 - 1) * HEIGHT / WIDTH
    x, y = columns[None, None, :] - t["shift_x"], rows[None, :, None] - t["shift_y"] - 0.05
    scale = t["size"] * ZOOM
    cos, sin = np.cos(t["roll"]) / scale, np.sin(t["roll"]) / scale
    return cos * x + sin * y, cos * y - sin * x


def _head(t: dict[str, Array], x: Array, y: Array) -> tuple[Array, tuple[Array, Array, Array], Array]:
    """How much of each ray is head; the point in the head's own frame; how bright the light makes it."""
    half_width = 0.66 + t["jaw"] - 0.2 * np.clip(y, 0, None) ** 2
    half_height, depth = 0.98, 0.72
    inside = 1 - (x / half_width) ** 2 - (y / half_height) ** 2
    z = depth * np.sqrt(np.clip(inside, 0, None))
    cos, sin = np.cos(t["yaw"]), np.sin(t["yaw"])
    X, Z = cos * x - sin * z, sin * x + cos * z
    cos, sin = np.cos(t["pitch"]), np.sin(t["pitch"])
    Y, Z = cos * y - sin * Z, sin * y + cos * Z
    nose = np.exp(-(((X) / 0.1) ** 2) - ((Y - 0.1) / 0.2) ** 2)
    normal = np.stack([x / half_width**2 + 1.1 * nose * X / 0.1, y / half_height**2 - 0.6 * nose, z / depth**2 + 1e-3])
    normal /= np.sqrt((normal**2).sum(0))
    light = np.stack(np.broadcast_arrays(t["light_x"], t["light_y"], np.ones_like(t["light_x"])))
    light /= np.sqrt((light**2).sum(0))
    lambert = np.clip((normal * light).sum(0), 0, None)
    shade = t["ambient"] + (1 - t["ambient"]) * 1.15 * lambert
    return _step(inside, 0.08), (X, Y, Z), shade


def _features(t: dict[str, Array], skin: Array, X: Array, Y: Array, front: Array) -> Array:
    """Skin with hair, eyes, brows, nose and mouth painted on it."""
    face = skin
    hairline = -0.62 + t["hairline"] + 0.35 * X**2
    temples = _step(np.abs(X) - 0.58 + 0.12 * np.clip(-Y, 0, None), 0.08) * _step(0.02 - Y, 0.12)
    top = np.maximum(_step(hairline - Y, 0.1), temples)
    for side in (-1.0, 1.0):
        eye_x = side * (0.27 + t["eye_distance"])
        dx, dy = X - eye_x, Y + 0.14
        face = face * (1 - 0.22 * _bump(dx, dy - 0.01, 0.2, 0.13))  # the socket
        opening = 0.028 + 0.065 * np.clip(t["open_eyes"], 0, 1.2)
        eye = _step(1 - (dx / 0.15) ** 2 - (dy / opening) ** 2, 0.35)
        face = _mix(face, 0.95 * np.clip(skin + 0.1, 0, 1), 0.9 * eye)
        face = _mix(face, np.full_like(face, 0.08), eye * _step(0.078 - np.hypot(dx - 0.09 * t["gaze"], dy), 0.02))
        face = face * (1 - 0.45 * _bump(dx, dy + opening, 0.14, 0.02))  # the lid's shadow
        slant = 0.09 * t["frown"] * side * dx / 0.15
        arch = -0.29 - 0.05 * t["brows"] + slant + 1.0 * dx**2
        brow = 0.8 * t["brow_weight"] * _bump(dx, Y - arch, 0.16, 0.038)
        face = _mix(face, 0.8 * t["hair"] + 0.03, np.clip(brow, 0, 0.9))
    face = face * (1 + 0.14 * _bump(X, Y - 0.06, 0.05, 0.2))
    wing = 0.2 + t["nose"]
    face = face * (
        1 - 0.4 * (_bump(X - 0.09, Y - wing - 0.03, 0.05, 0.03) + _bump(X + 0.09, Y - wing - 0.03, 0.05, 0.03))
    )
    face = face * (1 - 0.18 * _bump(X, Y - wing - 0.07, 0.12, 0.035))
    face = _mouth(t, face, X, Y)
    return _mix(
        face,
        t["hair"] * (0.6 + 0.5 * skin / t["skin"]),
        np.maximum(top, _step(-0.12 - front, 0.1) * _step(0.1 + 0.4 * t["hair_length"] - Y, 0.2)),
    )


def _mouth(t: dict[str, Array], face: Array, X: Array, Y: Array) -> Array:
    wide = (0.26 + 0.06 * np.clip(t["smile"], -1, 1)) * t["mouth_width"]
    line = 0.5 - 0.16 * t["smile"] * ((X / 0.25) ** 2 - 0.35)
    gap = 0.012 + 0.11 * np.clip(t["open_mouth"], 0, None)
    across = X / wide
    lips = _step(1 - across**2 - ((Y - line) / (gap + 0.065 * t["lips"])) ** 2, 0.3)
    face = _mix(face, 0.62 * face, lips)
    inner = _step(1 - (across / 0.92) ** 2 - ((Y - line) / gap) ** 2, 0.4)
    face = _mix(face, np.full_like(face, 0.1), 0.9 * inner)
    teeth = inner * _step(line - 0.2 * gap - Y, 0.03) * np.clip(4 * t["open_mouth"], 0, 1)
    face = _mix(face, np.full_like(face, 0.82), 0.8 * teeth)
    return face * (1 - 0.12 * _bump(X, Y - line - gap - 0.11, 0.15, 0.03))


def _neck(t: dict[str, Array], x: Array, y: Array) -> Array:
    return _step(0.36 - np.abs(x), 0.04) * _step(y - 0.55) * _step(1.12 - 0.5 * np.abs(x) - y)


def _body(t: dict[str, Array], x: Array, y: Array) -> Array:
    return np.broadcast_to(0.55 * t["background"] + 0.1 + 0 * x, np.broadcast_shapes(x.shape, y.shape))


def _step(distance: Array, width: float = EDGE) -> Array:
    """0 below, 1 above, smoothly over about `width`."""
    return 1 / (1 + np.exp(-np.clip(4 * distance / width, -30, 30)))


def _bump(dx: Array, dy: Array, wide: float, high: float) -> Array:
    return np.exp(-((dx / wide) ** 2) - (dy / high) ** 2)


def _mix(under: Array, over: Array, amount: Array) -> Array:
    return under + amount * (over - under)
