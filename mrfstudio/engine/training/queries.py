"""Query distributions: which nodes are asked for and which are given; and how much of the answers has settled.

A query distribution is a frozen value that draws masks, True where a node is unknown and asked for. It is written as

    uniform:P               each node with probability P
    one                     a single node, given all others
    patch:HxW               a rectangle of H rows and W columns, anywhere in the picture
    half:left|right|top|bottom
    mask:FILE               the white part of a picture, such as one painted by a person
    uniform:0.5+patch:7x7   a mixture: each item draws one of the parts, all equally likely

`parse_queries(text)` reads that, `str(queries)` writes it again, `queries.sentence` says it in words. Learners draw
with `queries.draw_batch(shape, context)`, so that a resumed run asks what the first one would have asked; everything
else with `queries.draw(count, shape, generator)`. `shape` is (height, width), or (nodes,) for data that are no
pictures.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.learner import BatchContext

SIDES = ("left", "right", "top", "bottom")
SPELLING = "uniform:P, one, patch:HxW, half:left|right|top|bottom, mask:FILE, or several joined by +"
_PARTS = re.compile(r"\+(?=(?:uniform|patch|half|mask):|one(?:\+|$))")  # a file's name may hold a plus


class QueryError(StudioError):
    """Queries that cannot be read or do not fit the data. The message is one sentence for a person."""


class Queries:
    """Base of all query distributions."""

    @property
    def sentence(self) -> str:
        """What is asked, in words."""
        raise NotImplementedError

    def draw(self, count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Masks (count, *shape), True where a node is unknown. Depends on the generator and the arguments alone."""
        raise NotImplementedError

    def draw_batch(self, shape: tuple[int, ...], context: BatchContext) -> Tensor:
        """The masks of this process's rows of a training batch, cut from those of the whole batch."""
        return self.draw(context.batch_size, shape, context.generator("queries"))[context.rows]


@dataclass(frozen=True)
class Uniform(Queries):
    """Every node by itself."""

    probability: float

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise QueryError(f"The queries {self} have probability {self.probability:g}: expected one in (0, 1].")

    def __str__(self) -> str:
        return f"uniform:{self.probability:g}"

    @property
    def sentence(self) -> str:
        return f"each node is unknown with probability {self.probability:g}"

    def draw(self, count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return torch.rand(count, *shape, generator=generator, device="cpu") < self.probability


@dataclass(frozen=True)
class One(Queries):
    """One node, all equally likely, given all others.

    Without hidden variables, or in an RBM at temperature 1, messages about it are exact, so that the loss of query
    training is on average the pseudolikelihood (Besag 1975; [QT21], *Connection with Pseudo-likelihood*).
    """

    def __str__(self) -> str:
        return "one"

    @property
    def sentence(self) -> str:
        return "one node is unknown, given all others"

    def draw(self, count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        nodes = math.prod(shape)
        asked = torch.randint(0, nodes, (count, 1), generator=generator, device="cpu")
        return (torch.arange(nodes, device="cpu") == asked).reshape(count, *shape)


@dataclass(frozen=True)
class PatchQuery(Queries):
    """A rectangle at a uniformly random place, whole inside the picture."""

    height: int
    width: int

    def __post_init__(self) -> None:
        if min(self.height, self.width) < 1:
            raise QueryError(f"The queries {self} are empty: expected at least one row and one column.")

    def __str__(self) -> str:
        return f"patch:{self.height}x{self.width}"

    @property
    def sentence(self) -> str:
        return f"a patch of {self.height} rows and {self.width} columns is unknown"

    def draw(self, count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        height, width = _picture(self, shape)
        if self.height > height or self.width > width:
            raise QueryError(f"The queries {self} do not fit a picture of {height} rows and {width} columns.")
        top = torch.randint(0, height - self.height + 1, (count, 1), generator=generator, device="cpu")
        left = torch.randint(0, width - self.width + 1, (count, 1), generator=generator, device="cpu")
        row, column = torch.arange(height, device="cpu"), torch.arange(width, device="cpu")
        rows = (row >= top) & (row < top + self.height)
        columns = (column >= left) & (column < left + self.width)
        return rows[:, :, None] & columns[:, None, :]


@dataclass(frozen=True)
class Half(Queries):
    """One half of the picture; of an odd number of rows or columns, the smaller part."""

    side: str

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise QueryError(f"The queries {self} name no half: expected half:left, right, top or bottom.")

    def __str__(self) -> str:
        return f"half:{self.side}"

    @property
    def sentence(self) -> str:
        return f"the {self.side} half is unknown"

    def draw(self, count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        height, width = _picture(self, shape)
        mask = torch.zeros(height, width, dtype=torch.bool, device="cpu")
        if self.side == "left":
            mask[:, : width // 2] = True
        elif self.side == "right":
            mask[:, width - width // 2 :] = True
        elif self.side == "top":
            mask[: height // 2] = True
        else:
            mask[height - height // 2 :] = True
        return mask.expand(count, -1, -1)


@dataclass(frozen=True)
class Mask(Queries):
    """The same nodes for every item: those that are white in a picture."""

    path: str
    unknown: Tensor = field(repr=False, compare=False)

    @classmethod
    def of_file(cls, path: str) -> Mask:
        from mrfstudio.engine.files.images import read_grey  # Pillow: later than the first picture of the window

        return cls(path, torch.from_numpy(read_grey(Path(path).expanduser()) >= 0.5))

    def __str__(self) -> str:
        return f"mask:{self.path}"

    @property
    def sentence(self) -> str:
        return f"what is white in {self.path} is unknown"

    def draw(self, count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        if math.prod(shape) != self.unknown.numel() or (len(shape) == 2 and shape != tuple(self.unknown.shape)):
            found = "×".join(map(str, reversed(self.unknown.shape)))
            raise QueryError(f"{self.path} has {found} pixels: expected {'×'.join(map(str, reversed(shape)))}.")
        if not bool(self.unknown.any()):
            raise QueryError(f"{self.path} has no white pixel: expected white where something is unknown.")
        return self.unknown.reshape(shape).expand(count, *shape)


@dataclass(frozen=True)
class Mixture(Queries):
    """Each item draws from one of the parts, all equally likely."""

    parts: tuple[Queries, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))

    @property
    def sentence(self) -> str:
        return "; or ".join(part.sentence for part in self.parts)

    def draw(self, count: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        drawn = torch.stack([part.draw(count, shape, generator) for part in self.parts])
        return drawn[
            torch.randint(0, len(self.parts), (count,), generator=generator, device="cpu"),
            torch.arange(count, device="cpu"),
        ]


def parse_queries(text: str) -> Queries:
    """Read a query distribution as the command line and the forms write it."""
    parts = tuple(_parse_one(part.strip()) for part in _PARTS.split(text.strip()))
    return parts[0] if len(parts) == 1 else Mixture(parts)


def _parse_one(text: str) -> Queries:
    kind, _, rest = text.partition(":")
    if text == "one":
        return One()
    if kind == "uniform" and _is_number(rest):
        return Uniform(float(rest))
    if kind == "patch" and (size := re.fullmatch(r"(\d+)[x×](\d+)", rest)):
        return PatchQuery(int(size[1]), int(size[2]))
    if kind == "half" and rest:
        return Half(rest)
    if kind == "mask" and rest:
        return Mask.of_file(rest)
    raise QueryError(f"{text!r} is no query distribution: expected {SPELLING}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _picture(queries: Queries, shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise QueryError(f"The queries {queries} need pictures, but the data are rows of {shape[0]}: use uniform:P.")
    return shape[0], shape[1]


# Whether answers have settled -----------------------------------------------------------------------------------------


SETTLED = 0.001
"""A variable is settled when no probability in its belief changed by more than this in the last iteration."""


def settled_share(log_beliefs: Tensor) -> float:
    """The share of settled variables, from log-beliefs (readouts, variables, states) of consecutive iterations.

    NaN with fewer than two readouts. The same for every learner that unrolls: its name among the scalars of a batch is
    `converged`.
    """
    if len(log_beliefs) < 2:
        return math.nan
    change = (log_beliefs[-1].exp() - log_beliefs[-2].exp()).abs().amax(-1)
    return _share(change)


def settled_targets(beliefs: list[Tensor], owner: Tensor, asked: Tensor) -> float:
    """The same for packed beliefs (B, size) of consecutive iterations, over the variables asked for, (B, variables).

    `owner` (size,) is the variable that an entry belongs to.
    """
    if len(beliefs) < 2:
        return math.nan
    change = (beliefs[-1].detach() - beliefs[-2].detach()).abs()
    largest = change.new_zeros(asked.shape).scatter_reduce(1, owner.expand_as(change), change, "amax")
    return _share(largest[asked])


def settled_gaussians(information: Tensor, precision: Tensor) -> float:
    """The same for Gaussian beliefs (readouts, variables): the mean moved by less than `SETTLED` of its deviation."""
    if len(information) < 2:
        return math.nan
    moved = information[-1] / precision[-1] - information[-2] / precision[-2]
    return _share(moved.abs() * precision[-1].sqrt())


def _share(change: Tensor) -> float:
    """The share of changes (n,) that are small."""
    # Where nothing is asked for, nothing moves: several processes must all have a number, or none.
    return float((change <= SETTLED).float().mean()) if change.numel() else 1.0
