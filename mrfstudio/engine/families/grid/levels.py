"""Coarse to fine on the cloned grid: smaller copies of the canvas say what lies inside of large figures.

The model is the same at every scale: a figure on the canvas halved is a figure of half the size. So news that would
need hundreds of iterations to cross a large canvas crosses a small copy of it in a few. One *pass* goes down and up:

    1. `FIRST` iterations on the canvas itself: they clean it, because short edges that belong to nothing go and small
       gaps close within a few pixels;
    2. down: what is contour then is halved, cleaned, halved again …, while the longer side is twice `SMALLEST_SIDE`;
       Lines that run side by side, nearer than `NARROW` pixels, would be one line there, with the wrong side filled.
       What lies on both their other sides is the same, so they are left out, and what lies between them is decided
       on the finer canvas alone;
    3. up: `ITERATIONS` on the smallest copy; where it says IN and the next finer one says OUT, or the other way
       round, the finer one takes over its messages, each repeated to four pixels. Regions that lines say lie on the
       other side of them are turned (`regions`); and so on up to the canvas itself.

A second pass follows after some iterations on the canvas, because what is inside says which contours are meant: it is
cleaned better then. Some more iterations on the canvas end them; a canvas too small for copies has those alone.

All of this only finds first messages. A model may have walls between IN and OUT that stay where they are, so that
iterations after the answer is there change nothing; but walls must move to fill a figure. So passes use the model's
`loose_potentials`, which ease them; after the passes the canvas iterates alone with the model's own potentials. Without
all this (`flat`) the grid equals its factor graph iteration by iteration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import max_pool2d, pad

from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT
from mrfstudio.engine.families.contours import SEEN, UNSEEN
from mrfstudio.engine.families.grid.kernel import run_messages
from mrfstudio.engine.families.grid.regions import agreed
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.families.grid.steps import LEAN, label_beliefs, prepared_for, products, run
from mrfstudio.engine.runtime.device import from_host, to_host
from mrfstudio.engine.runtime.recycling import recycled

if TYPE_CHECKING:
    from mrfstudio.engine.families.grid.model import GridMRF

SMALLEST_SIDE = 24
"""Copies are made while the longer side is at least twice this: smaller ones lose what thin figures look like."""
FIRST = 16
"""Iterations that clean a canvas before it is halved; after eight, much of a noisy one is still undecided."""
BELIEVED = 0.2
"""The belief from which on a pixel counts as contour when a canvas is cleaned: a line lost leaks, an edge kept is
asked about again."""
ITERATIONS = 40
"""Iterations of each copy on the way up."""
BEFORE = (FIRST, 20)
"""Iterations on the canvas before each pass."""
AT_ONCE = (1, 2)
"""Of these in one step: in the first pass each one shows more."""
AFTER = 60
"""Iterations on the canvas after the last pass, of a model that eases walls."""
ALONE = 120
"""Such iterations on a canvas without copies."""
LAST_ITERATIONS = 6
"""Such iterations in one step."""
AT_REST = 1e-3
"""The change of a message's entry, as a probability, below which the rest of such iterations is left out."""
NARROW = 3
"""Pixels between two lines from which on both stay apart when the canvas is halved."""
_CERTAIN = 1e4  # nats that stand for certainty: inf - inf has no value
_ELSEWHERE = 1e-3  # first messages of turned regions for states of other labels, beside 1
_SAME = 1e-3  # nats: evidence that differs by less from what the emission gives is the emission's


class LevelMessages(NamedTuple):
    """One copy of the canvas: messages (directions, S, N) and the log-evidence of labels (labels, N)."""

    messages: Tensor
    labels: Tensor


class PassStep(NamedTuple):
    """What one step of a pass does: iterations on the canvas, on the way down or on the way up."""

    way: Literal["canvas", "down", "up"]
    level: int = 0
    iterations: int = 1
    last: bool = False
    """Whether the next finer level takes over what this one found; on the canvas, whether all copies were asked."""


def level_count(shape: GridShape, smallest: int = SMALLEST_SIDE) -> int:
    """How often a canvas is halved."""
    count, longest = 0, max(shape.height, shape.width)
    while longest >= 2 * smallest:
        longest, count = (longest + 1) // 2, count + 1
    return count


def plan(levels: int, eased: bool = False) -> list[PassStep]:
    """The steps of all passes, each of about as much work as an iteration on the canvas, or two."""
    steps: list[PassStep] = []
    for before, at_once in zip(BEFORE, AT_ONCE, strict=True) if levels else ():
        steps += [PassStep("canvas", 0, at_once)] * (before // at_once)
        steps += [PassStep("down", level, FIRST) for level in range(1, levels + 1)]
        for level in range(levels, 0, -1):
            each = min(ITERATIONS, 2 * 4**level)
            parts = [min(each, ITERATIONS - done) for done in range(0, ITERATIONS, each)]
            steps += [PassStep("up", level, part, k == len(parts) - 1) for k, part in enumerate(parts)]
    last = last_iterations(levels) // LAST_ITERATIONS if eased else 0
    return steps + [PassStep("canvas", 0, LAST_ITERATIONS, True)] * last


def last_iterations(levels: int) -> int:
    """Iterations on the canvas that end the passes of a model that eases walls."""
    return AFTER if levels else ALONE


def plan_for(model: GridMRF, shape: GridShape) -> list[PassStep]:
    """The steps of a coarse start of a model on a canvas of this shape."""
    return plan(level_count(shape), model.eased > 0)


def in_first_pass(steps: list[PassStep], done: int) -> bool:
    """Whether a pass is under way after so many steps, and it is the first: then the canvas itself knows little."""
    end = next(number for number, step in enumerate(steps, 1) if step.level == 1 and step.last)
    return done < end


def halved_shape(shape: GridShape, times: int = 1) -> GridShape:
    """The canvas with half as many rows and columns, rounded up, so many times."""
    for _ in range(times):
        shape = GridShape(shape.batch, (shape.height + 1) // 2, (shape.width + 1) // 2, shape.connectivity)
    return shape


def halved_evidence(labels: Tensor, shape: GridShape) -> Tensor:
    """Evidence of labels (labels, N) for the canvas halved: of each four pixels the one that says most.

    A pixel that speaks for the first label (a contour seen) comes before all others, because contours must stay
    closed; then the one with the strongest hint, which is the largest difference between the other labels.
    """
    image = labels.reshape(len(labels), shape.batch, shape.height, shape.width)
    odd = (0, shape.width % 2, 0, shape.height % 2)
    image = pad(image, odd, mode="replicate") if any(odd) else image
    blocks = image.unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2)  # (labels, batch, rows, columns, 4)
    finite = blocks.clamp_min(-1e4)  # -inf - -inf has no value
    contour = finite[0] - finite[1:].amax(0)
    hint = finite[1:].amax(0) - finite[1:].amin(0)
    says = torch.where(contour > 0, 1e6 + contour, hint)
    chosen = says.argmax(-1, keepdim=True)[None].expand(len(labels), *says.shape[:-1], 1)
    return blocks.gather(-1, chosen).reshape(len(labels), -1)


def doubled(image: Tensor, fine: GridShape) -> Tensor:
    """What the canvas halved has, (…, pixels of it), at each of its four pixels, (…, N)."""
    coarse = halved_shape(fine)
    rows = image.reshape(*image.shape[:-1], coarse.batch, coarse.height, coarse.width)
    large = rows.repeat_interleave(2, -2)[..., : fine.height, :].repeat_interleave(2, -1)[..., : fine.width]
    return large.reshape(*image.shape[:-1], fine.pixels)


def label_beliefs_at(model: GridMRF, at: LevelMessages) -> Tensor:
    """Beliefs of labels (labels, N) at one level."""
    return label_beliefs(products(at.messages, prepared_for(model)).log_weight, at.labels)


def narrow(contour: Tensor, width: int = NARROW) -> Tensor:
    """Pixels (B, H, W) between lines that leave no room for a square of `width` pixels without `contour` (B, H, W)."""
    ahead, back = (0, width - 1, 0, width - 1), (width - 1, 0, width - 1, 0)
    lines = pad(contour[:, None].float(), (width,) * 4)  # beyond the border there is room
    room = 1.0 - max_pool2d(pad(lines, ahead), width, 1)
    covered = max_pool2d(pad(room, back), width, 1)[:, 0, width:-width, width:-width]
    return (covered < 0.5) & ~contour


def around(pixels: Tensor, reach: int) -> Tensor:
    """Those pixels (B, H, W) and all within `reach` of one."""
    return max_pool2d(pixels[:, None].float(), 2 * reach + 1, 1, reach)[:, 0] > 0.5


def narrow_places(model: GridMRF, at: LevelMessages, shape: GridShape) -> tuple[Tensor, Tensor]:
    """Where the cleaned canvas has a contour, and what is narrow between, each (B, H, W)."""
    labels = cleaned(model, at)
    contour = (labels[CONTOUR] > labels[CONTOUR + 1 :].amax(0)).reshape(shape.batch, shape.height, shape.width)
    return contour, narrow(contour)


def without_double_lines(model: GridMRF, at: LevelMessages, shape: GridShape) -> Tensor:
    """Evidence (labels, N) of the cleaned canvas for its copy: nothing is seen where lines would merge."""
    labels = cleaned(model, at)
    contour, between = narrow_places(model, at, shape)
    gone = (contour & around(between, 1)).reshape(-1)
    return torch.where(gone, model.log_emission[UNSEEN].to(labels.dtype)[:, None], labels)


def cleaned(model: GridMRF, at: LevelMessages) -> Tensor:
    """Evidence (labels, N) as if a contour had been seen just where one is believed to be.

    Evidence that a picture alone does not give, such as hints, stays.
    """
    table = model.log_emission.to(at.labels.dtype)[..., None]
    is_seen, is_unseen, is_unknown, is_short = (((at.labels - row).abs() < _SAME).all(0) for row in table)
    believed = label_beliefs_at(model, at)[CONTOUR] > BELIEVED
    found = torch.where(believed & (is_unseen | is_unknown | is_short), table[SEEN], at.labels)
    return torch.where((is_seen | is_short) & ~believed, table[UNSEEN], found)


def halved_level(model: GridMRF, at: LevelMessages, shape: GridShape, iterations: int = FIRST) -> LevelMessages:
    """The next coarser level of a canvas of this shape, after its own first iterations from uniform messages."""
    labels = halved_evidence(without_double_lines(model, at, shape), shape)
    return iterated(model, LevelMessages(at.messages[:0], labels), halved_shape(shape), iterations)


def iterated(model: GridMRF, at: LevelMessages, shape: GridShape, iterations: int) -> LevelMessages:
    """Some iterations further; without messages, from uniform ones."""
    if shape.connectivity * model.states * shape.pixels < LEAN:
        states, start = at.labels.index_select(0, model.label_of_state), at.messages if len(at.messages) else None
        messages = run_messages(model.loose_potentials.detach(), states, shape, iterations, start)
    else:
        messages = run(at.messages, prepared_for(model, loose=True), at.labels, shape, iterations)
    return LevelMessages(messages, at.labels)


def taken_over(model: GridMRF, fine: LevelMessages, coarse: LevelMessages, shape: GridShape) -> Tensor:
    """Messages (directions, S, N) of the finer level, the coarser ones where both disagree on inside and outside.

    In narrow places the finer level knows better: its copy lacks their lines. Regions that are turned then get messages
    in which their new label rules.
    """
    mine = label_beliefs_at(model, fine).argmax(0)
    theirs = doubled(label_beliefs_at(model, coarse).argmax(0), shape)
    _, between = narrow_places(model, fine, shape)
    differ = (mine != CONTOUR) & (theirs != CONTOUR) & (mine != theirs) & ~between.reshape(-1)
    joined, labels = with_doubled(fine.messages, coarse.messages, differ, shape), torch.where(differ, theirs, mine)
    size = shape.batch, shape.height, shape.width
    pictures = zip(to_host(labels.reshape(size)), to_host(hints_of(model, fine.labels).reshape(size)), strict=True)
    found = from_host(np.stack([agreed(*picture) for picture in pictures])).to(labels).reshape(-1)
    turned = found != labels
    if turned.any():
        states = model.label_of_state[:, None] == found[turned]
        ruling = torch.where(states, 1.0, _ELSEWHERE).to(joined)
        joined[:, :, turned] = ruling / ruling.mean(0)
        for direction in range(shape.connectivity):
            shape.fill_border(joined[direction], direction, 1.0)
    return joined


def hints_of(model: GridMRF, labels: Tensor) -> Tensor:
    """Nats for IN beside OUT, (N,), of evidence (labels, N) that a picture alone does not give."""
    given = labels.clamp_min(-_CERTAIN)
    table = model.log_emission.to(labels.dtype)[..., None]
    plain = ((given - table).abs() < _SAME).all(1).any(0)
    return torch.where(plain, 0.0, given[IN] - given[OUT])


def with_doubled(fine: Tensor, coarse: Tensor, chosen: Tensor, shape: GridShape) -> Tensor:
    """Messages (directions, S, N) of the finer level, the coarser ones to chosen pixels (N,)."""
    pixels = chosen.nonzero()[:, 0]
    parents = doubled(torch.arange(coarse.shape[2], device=chosen.device), shape)[pixels]
    found = recycled(fine.shape, fine).copy_(fine)
    found.index_copy_(2, pixels, coarse.index_select(2, parents))
    for direction in range(shape.connectivity):  # what comes from outside the image stays uniform
        shape.fill_border(found[direction], direction, 1.0)
    return found


@torch.no_grad()
def whole_pass(model: GridMRF, at: LevelMessages, shape: GridShape, levels: int, before: int = FIRST) -> LevelMessages:
    """The canvas after one pass over so many levels; `before` iterations on it come first, from uniform messages."""
    fine = iterated(model, at, shape, before)
    if not levels:
        return fine
    small, nothing = halved_shape(shape), at.messages[:0]
    copied = halved_evidence(without_double_lines(model, fine, shape), shape)
    coarse = whole_pass(model, LevelMessages(nothing, copied), small, levels - 1)
    found = taken_over(model, fine, iterated(model, coarse, small, ITERATIONS), shape)
    return LevelMessages(found, at.labels)


def all_passes(model: GridMRF, labels: Tensor, shape: GridShape) -> Tensor | None:
    """Messages (directions, S, N) after all passes for label evidence (labels, N); None where there is no step."""
    levels = level_count(shape)
    at, last = LevelMessages(labels.new_empty(0), labels), last_iterations(levels) if model.eased else 0
    for before in BEFORE if levels else ():
        at = whole_pass(model, at, shape, levels, before)
    at = iterated(model, at, shape, last) if last else at
    return at.messages if levels or last else None
