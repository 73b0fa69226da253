"""What a plot shows of the plane: density in hues of components, with lines of equal height; points, samples, plan."""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QColor

from mrfstudio.engine.protocol.training import PlanePicture
from mrfstudio.ui.plots.content import Dots, PlotPicture, PlotShapes
from mrfstudio.ui.style.colours import Colours, faded, rgb

FINER = 4
"""Pixels for each cell in each direction."""
LEVELS = (0.01, 0.05, 0.15, 0.35, 0.65)
"""Where lines of equal density lie, as parts of the highest."""
LOWEST = 1e-9
"""Densities below this part of the highest are all the same."""
HUES = (2, 0, 3, 4, 6, 5, 7)
"""Colours of labels that are told apart easily, in order; the grey one is left out."""
SHADES = 6
"""How many strengths the lines of a plan have."""
STEP = 16
"""Colours of points are as far apart as this: thousands of points then share a few dozen small pictures."""


def density_map(picture: PlanePicture) -> PlotPicture:
    """The density as a map that says, cell by cell, how high it is and who claims it."""
    left, bottom, right, top = picture.window
    rows, columns = picture.density.shape

    def describe(row: int, column: int, value: float) -> str:
        x, y = left + (column + 0.5) / columns * (right - left), bottom + (row + 0.5) / rows * (top - bottom)
        said = f"({x:.2f}, {y:.2f}): density <b>{value:.6g}</b>"
        if len(picture.shares):
            most = int(picture.shares[:, row, column].argmax())
            said += f"<br>component {most + 1} has {picture.shares[most, row, column]:.0%} of it"
        return said

    return PlotPicture(
        picture.density, (left, right), (bottom, top), lambda _, colours: plane_image(picture, colours), describe
    )


def contours(picture: PlanePicture) -> PlotShapes:
    """Lines of equal density."""
    left, bottom, right, top = picture.window
    lines = level_lines(picture.density)
    x, y = left + (right - left) * lines[:, [0, 2]].ravel(), bottom + (top - bottom) * lines[:, [1, 3]].ravel()
    return PlotShapes(x, y, lambda colours: faded(colours.text, 0.45))


def level_lines(density: np.ndarray) -> np.ndarray:
    """Lines of equal density of (rows, columns) cells: (n, 4) from x, y to x, y, as parts of the window.

    Between the middles of four cells lie two triangles, in each of which the logarithm of the density is flat: where
    one corner is on the other side of a level than the two others, a line cuts it off. Without the logarithm the lines
    around a narrow ridge would be stairs.
    """
    rows, columns = density.shape
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    height = np.log(np.maximum(density / max(float(density.max()), 1e-30), LOWEST))
    corners = np.stack([x, y, height], -1)
    here, right, above, across = corners[:-1, :-1], corners[:-1, 1:], corners[1:, :-1], corners[1:, 1:]
    triangles = np.concatenate(
        [np.stack(three, 2).reshape(-1, 3, 3) for three in ((here, right, across), (here, above, across))]
    )
    return np.concatenate([_cut(triangles, float(np.log(level))) for level in LEVELS])


def _cut(triangles: np.ndarray, level: float) -> np.ndarray:
    """(m, 4) where a level cuts triangles (n, 3 corners, 3: x, y and height)."""
    higher = triangles[..., 2] > level
    some = higher.any(1) & ~higher.all(1)
    cut, higher = triangles[some], higher[some]
    alone = np.where(higher.sum(1) == 1, higher.argmax(1), (~higher).argmax(1))
    ends = []
    for turn in (1, 2):
        one, other = (cut[np.arange(len(cut)), index] for index in (alone, (alone + turn) % 3))
        part = (level - one[:, 2]) / (other[:, 2] - one[:, 2])
        ends.append(one[:, :2] + part[:, None] * (other[:, :2] - one[:, :2]))
    return np.concatenate(ends, 1)


def plan_lines(picture: PlanePicture) -> list[PlotShapes]:
    """Where mass is carried: lines in a few strengths, darker for more."""
    lines = picture.lines
    shade = np.clip((lines[:, 4] * SHADES).astype(int), 0, SHADES - 1)
    return [_plan(lines[shade == number], (number + 0.5) / SHADES) for number in np.unique(shade)]


def _plan(lines: np.ndarray, share: float) -> PlotShapes:
    x, y = lines[:, [0, 2]].ravel(), lines[:, [1, 3]].ravel()
    return PlotShapes(x, y, lambda colours: faded(colours.text, 0.15 + 0.7 * share))


def point_dots(picture: PlanePicture) -> Dots:
    """The data, in the colours of the components that claim them."""

    def each(colours: Colours) -> np.ndarray:
        claimed = mixed(picture.responsibilities, colours, len(picture.points))
        return np.clip(np.round(claimed / STEP) * STEP, 0, 255).astype(np.uint8)

    return Dots(
        0,
        "points",
        picture.points[:, 0],
        picture.points[:, 1],
        lambda colours: QColor(colours.text),
        4.0 if len(picture.points) > 400 else 6.0,
        each=each,
        edge=lambda colours: faded(colours.paper, 0.8),
    )


def fresh_dots(points: list[tuple[float, float]]) -> list[Dots]:
    """What was painted and is not yet among the data."""
    if not points:
        return []
    x, y = np.array(points).T
    return [Dots(1, "painted", x, y, lambda colours: QColor(colours.highlight), 6.0)]


def sample_dots(picture: PlanePicture) -> Dots:
    """What the model draws: crosses, darker than the hue of their component."""

    def each(colours: Colours) -> np.ndarray:
        hues = component_colours(max(len(picture.shares), 1), colours)
        return (hues[picture.sample_components.astype(np.intp)] * 0.7).astype(np.uint8)

    x, y = picture.samples[:, 0], picture.samples[:, 1]
    return Dots(2, "samples", x, y, lambda colours: QColor(colours.text), 7.0, each=each, symbol="+")


def component_colours(count: int, colours: Colours) -> np.ndarray:
    """(count, 3) uint8; more than seven components use colours again."""
    return np.array([rgb(colours.labels[HUES[number % len(HUES)]]) for number in range(count)], np.uint8)


def mixed(responsibilities: np.ndarray, colours: Colours, count: int) -> np.ndarray:
    """(count, 3): the colours of components, mixed by how much of a point each claims; darker than the density."""
    if responsibilities.shape[1] == 0:
        return np.tile(np.array(rgb(colours.text), np.float64), (count, 1))
    hues = component_colours(responsibilities.shape[1], colours)
    text = np.array(rgb(colours.text))
    return 0.6 * (responsibilities @ hues) + 0.4 * text


def finer(cells: np.ndarray) -> np.ndarray:
    """(rows, columns) at the middles of cells → FINER times as many pixels in each direction, interpolated."""
    for axis in (0, 1):
        old = np.arange(cells.shape[axis])
        new = (np.arange(cells.shape[axis] * FINER) + 0.5) / FINER - 0.5
        low = np.clip(np.floor(new).astype(int), 0, len(old) - 1)
        high = np.minimum(low + 1, len(old) - 1)
        part = np.clip(new - low, 0, 1).astype(cells.dtype)
        part = part[:, None] if axis == 0 else part
        cells = np.take(cells, low, axis) * (1 - part) + np.take(cells, high, axis) * part
    return cells


def plane_image(picture: PlanePicture, colours: Colours) -> np.ndarray:
    """(height, width, 3) uint8, the lowest row first, as a plot has it."""
    density = finer(np.asarray(picture.density, np.float32))
    highest = max(float(density.max()), 1e-30)
    share = density / highest
    paper = np.array(rgb(colours.paper), np.float32)
    if len(picture.shares):
        hues = component_colours(len(picture.shares), colours).astype(np.float32)
        hue = np.einsum("kij,kc->ijc", picture.shares.astype(np.float32), hues)
        hue = np.stack([finer(hue[..., channel]) for channel in range(3)], -1)
    else:
        hue = np.broadcast_to(np.array(rgb(colours.accent), np.float32), (*density.shape, 3))
    strength = 0.8 * np.sqrt(share)[..., None]
    image = paper * (1 - strength) + hue * strength
    return np.clip(image + 0.5, 0, 255).astype(np.uint8)
