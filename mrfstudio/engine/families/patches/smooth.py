"""The smoothest picture through what is known, and how rough a picture is: where a repair starts, and its doubt.

A thin plate: the unknown colours that make Σ (Δx)² smallest, where Δ is the difference of a pixel from the mean of its
neighbours. It goes on with slopes and curvatures that windows alone would level out, and is exact where a picture is
smooth; how wrong it is elsewhere goes with the roughness around.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

MOST = 30_000
"""Unknown pixels up to which the plate is computed: more are scattered, and known ones lie beside each."""
AROUND = 12
"""Half the side of the part over which roughness is a mean."""
NEIGHBOURS = 2
"""Known neighbours that a pixel must have to be compared with their mean."""
UNKNOWN_ROUGHNESS = 0.03
"""Where no pixel has so many."""
DEEPEST = 12


def thin_plate(colours: Tensor, unknown: Tensor, start: Tensor) -> Tensor:
    """Colours (height, width, channels) with the unknown ones smooth; `start` where there are too many or no known."""
    count = int(unknown.sum())
    if not 0 < count <= MOST or count == unknown.numel():
        return start
    from scipy.sparse.linalg import spsolve  # loaded with the first repair, not with the window

    hole = unknown.numpy()
    plate = _laplacian(_grown(hole))
    inside, outside = plate[:, hole.ravel()], plate[:, ~hole.ravel()]
    known = colours.flatten(0, 1).numpy()[~hole.ravel()].astype(np.float64)
    system = (inside.T @ inside).tocsc()
    system = system + 1e-9 * _identity(count)  # an unknown pixel far from all that is known
    found = spsolve(system, -(inside.T @ (outside @ known)))
    answer = colours.flatten(0, 1).clone()
    answer[unknown.flatten()] = torch.from_numpy(found.reshape(count, -1)).float().clamp(-0.2, 1.2)
    return answer.view_as(colours)


def _grown(hole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A hole and the pixels beside it: those whose Δ changes with it."""
    grown = hole.copy()
    grown[1:] |= hole[:-1]
    grown[:-1] |= hole[1:]
    grown[:, 1:] |= hole[:, :-1]
    grown[:, :-1] |= hole[:, 1:]
    return grown


def _identity(size: int) -> NDArray:
    from scipy import sparse

    return sparse.identity(size, format="csc")


def _laplacian(rows: NDArray[np.bool_]) -> NDArray:
    """The sparse matrix of Δ at the pixels of `rows`, (pixels of rows, all pixels)."""
    from scipy import sparse

    height, width = rows.shape
    y, x = np.nonzero(rows)
    number = np.arange(len(y))
    parts, degree = [], np.zeros(len(y))
    for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        there_y, there_x = y + down, x + right
        inside = (there_y >= 0) & (there_y < height) & (there_x >= 0) & (there_x < width)
        degree += inside
        parts.append((number[inside], (there_y * width + there_x)[inside]))
    first, second = (np.concatenate(each) for each in zip(*parts, strict=True))
    values = np.concatenate([np.ones(len(y)), -1 / np.maximum(degree, 1)[first]])
    places = np.concatenate([number, first]), np.concatenate([y * width + x, second])
    return sparse.csr_matrix((values, places), shape=(len(y), height * width))


def roughness(colours: Tensor, unknown: Tensor) -> Tensor:
    """How far pixels around lie from the mean of their neighbours, as a root of a mean square, (height, width)."""
    known = (~unknown).to(torch.float32)
    beside = _of_neighbours(known[..., None])
    whole = known * (beside[..., 0] >= NEIGHBOURS)
    seen = colours * known[..., None]
    around = _of_neighbours(seen) / beside.clamp_min(1)
    apart = (seen - around).square().mean(-1) * whole
    count, squares = _around(whole), _around(apart)
    total = float(whole.sum())
    usual = float(apart.sum()) / total if total else UNKNOWN_ROUGHNESS**2
    return torch.where(count > 0, squares / count.clamp_min(1), usual).clamp_min(0).sqrt()


def _of_neighbours(values: Tensor) -> Tensor:
    """The sum of the four neighbours of each pixel of (height, width, channels)."""
    total = torch.zeros_like(values)
    total[1:] += values[:-1]
    total[:-1] += values[1:]
    total[:, 1:] += values[:, :-1]
    total[:, :-1] += values[:, 1:]
    return total


def _around(values: Tensor) -> Tensor:
    """Sums over squares of 2·`AROUND` + 1 pixels, (height, width)."""
    sums = functional.pad(values.double(), (AROUND + 1, AROUND, AROUND + 1, AROUND)).cumsum(0).cumsum(1)
    step = 2 * AROUND + 1
    return (sums[step:, step:] - sums[:-step, step:] - sums[step:, :-step] + sums[:-step, :-step]).float()


def depth_of(unknown: Tensor) -> Tensor:
    """How many pixels lie between an unknown pixel, of (height, width), and what is known.

    From 1 to `DEEPEST`; 0 where it is known.
    """
    from scipy import ndimage  # loaded with the first repair

    if bool(unknown.all()):
        return torch.full(unknown.shape, DEEPEST, dtype=torch.int64)
    depth = ndimage.distance_transform_cdt(unknown.numpy(), "chessboard")
    return torch.from_numpy(np.minimum(depth, DEEPEST).astype(np.int64))


def unknown_share(unknown: Tensor) -> Tensor:
    """The part of 5×5 pixels around each one that is unknown, (height, width)."""
    whole = unknown.to(torch.float32)[None, None]
    return functional.avg_pool2d(whole, 5, 1, 2, count_include_pad=False)[0, 0]
