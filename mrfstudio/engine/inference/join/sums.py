"""Several sums of one product of tables: what a cluster or an edge of a join tree says to whom.

A table is a vector of values with what was taken out of it. Products are linear where the spans of all that is
multiplied cannot underflow together, else logarithmic: nothing possible is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfstudio.engine.inference.join.blocks import Total, ends_of, total_of
from mrfstudio.engine.inference.join.nests import LEAST, Nest, nest
from mrfstudio.engine.inference.join.tables import (
    SPAN,
    Axes,
    Contraction,
    Floats,
    all_summed,
    contraction,
    log_summed,
    logarithm,
    span,
)

FAR = 1e100
"""How far from 1 the product of scales may be before tables are scaled themselves."""


@dataclass(eq=False)
class Said:
    """A message (entries,): linear with `top` as its largest entry and `low` as its smallest but 0, or logarithmic with
    0 as the largest. `taken` is the logarithm of what a message with 1 as its largest entry must be multiplied by.
    """

    values: Floats
    taken: float
    top: float = 1.0
    low: float = 1.0
    logarithmic: bool = False

    @property
    def span(self) -> float:
        return span(self.values) if self.logarithmic else math.log(self.top / self.low)

    def linear(self) -> Floats:
        """Of any scale."""
        return np.exp(self.values) if self.logarithmic else self.values

    def logarithm(self) -> Floats:
        return self.values if self.logarithmic else logarithm(self.values) - math.log(self.top)

    def scaled(self) -> None:
        """To 1 as the largest entry, in place."""
        if not self.logarithmic:
            self.values /= self.top
            self.top, self.low = 1.0, self.low / self.top


def linear_said(total: Total) -> Said | None:
    """A sum as a message; None where nothing is possible."""
    return Said(total.values, math.log(total.top), total.top, total.low) if total.top > 0 else None


def logarithmic_said(log: Floats) -> Said | None:
    """The same of logarithms."""
    top = float(log.max())
    if math.isinf(top):
        return None
    log -= top
    if span(log) >= SPAN / 2:
        return Said(log, top, logarithmic=True)
    values = np.exp(log)
    return Said(values, top, *ends_of(values))


class Sum:
    """One sum over tables with given axes: in blocks, or two tables at a time, whatever is less work."""

    def __init__(self, axes: Axes, masks: Sequence[int], kept: int) -> None:
        self.axes, self.kept = axes, kept
        self.blocks: Nest | None = nest(axes, masks, kept)
        self.pairs: Contraction | None = None
        if self.blocks is None or self.blocks.work > axes.size(kept):
            pairs = contraction(axes, masks, kept)
            if self.blocks is None or pairs.work < self.blocks.work:
                self.blocks, self.pairs = None, pairs

    @property
    def work(self) -> float:
        chosen = self.blocks or self.pairs
        assert chosen is not None
        return chosen.work

    @property
    def peak(self) -> int:
        """Entries of the largest table on the way, beside the result."""
        return 0 if self.pairs is None else self.pairs.peak

    def of(self, tables: Sequence[Floats], out: Floats, scale: float, threads: int) -> Total:
        """The sum of tables that are laid into the axes, times a scale; it may lie in `out` (entries,)."""
        if self.blocks is not None:
            return total_of(self.blocks, tables, out, scale, threads)
        assert self.pairs is not None
        values = np.ascontiguousarray(self.pairs(tables)).reshape(-1)
        if scale != 1.0:
            values = values * scale
        return Total(values, *ends_of(values))


@dataclass(frozen=True, eq=False)
class Place:
    """A cluster, or an edge: its axes, the log-tables of its factors with their axes and at most how far their entries
    are apart, and the axes of the messages that meet there.
    """

    axes: Axes
    logs: tuple[Floats, ...]
    masks: tuple[int, ...]
    span: float
    ways: tuple[int, ...]

    @cached_property
    def linear(self) -> tuple[Floats, ...]:
        return tuple(np.exp(log) for log in self.logs)

    @property
    def whole(self) -> int:
        return (1 << len(self.axes.shape)) - 1

    def sum(self, kept: int, without: int = -1) -> Sum:
        """How it is summed to some axes, without one of the messages."""
        return Sum(self.axes, [*self.masks, *(way for at, way in enumerate(self.ways) if at != without)], kept)

    def said(self, plan: Sum, heard: Sequence[Said], out: Floats, threads: int = 1, without: int = -1) -> Said | None:
        """The sum of all but one of the messages to the axes that the plan keeps; None where nothing is possible."""
        used = [(way, said) for at, (way, said) in enumerate(zip(self.ways, heard, strict=True)) if at != without]
        if self.span + sum(said.span for _, said in used) > SPAN:
            joint = self._joint(used)
            return logarithmic_said(log_summed(joint, self.axes.of(self.whole & ~plan.kept)).reshape(-1))
        scale = _scale([said for _, said in used])
        tables = [*self.linear, *(said.linear().reshape(self.axes.laid(way)) for way, said in used)]
        return linear_said(plan.of(tables, out, scale, threads))

    def _joint(self, used: Sequence[tuple[int, Said]]) -> Floats:
        """The logarithm of the product of all tables."""
        joint = np.zeros(self.axes.shape)
        with np.errstate(over="ignore"):  # the lowest numbers there are stand for what is forbidden
            for log in (*self.logs, *(said.logarithm().reshape(self.axes.laid(way)) for way, said in used)):
                joint += log
        return joint


def _scale(heard: Sequence[Said]) -> float:
    """What the product of linear messages is multiplied by, so that each has 1 as its largest entry."""
    found = 1.0
    for said in heard:
        if not said.logarithmic:
            if not 1 / FAR < found / said.top < FAR:
                said.scaled()
            found /= said.top
    return found


class Sums:
    """Sums of one product to several small sets of axes: by way of a few larger sums that these share."""

    def __init__(self, place: Place, wanted: Sequence[int]) -> None:
        self.place, self.wanted = place, list(dict.fromkeys(wanted))
        self.groups = [(place.sum(union), members) for union, members in self._unions()]

    def _unions(self) -> list[tuple[int, list[int]]]:
        """Sets of axes with those that lie in them; all in one where the whole table is small."""
        place, wanted = self.place, self.wanted
        if not wanted:
            return []
        if place.axes.size(place.whole) <= LEAST:
            return [(place.whole, wanted)]
        most = max(len(place.axes.shape) // 2 + 1, *(kept.bit_count() for kept in wanted))
        unions: list[tuple[int, list[int]]] = []
        for kept in sorted(wanted, key=lambda mask: -mask.bit_count()):
            for at, (union, members) in enumerate(unions):
                if (union | kept).bit_count() <= most:
                    unions[at] = (union | kept, [*members, kept])
                    break
            else:
                unions.append((kept, [kept]))
        return unions

    @property
    def work(self) -> float:
        return sum(plan.work + self.place.axes.size(plan.kept) for plan, _ in self.groups)

    @property
    def peak(self) -> int:
        return max((plan.peak + self.place.axes.size(plan.kept) for plan, _ in self.groups), default=0)

    def of(self, heard: Sequence[Said], threads: int = 1) -> dict[int, Said] | None:
        """Each as a message, of any scale; None where nothing is possible."""
        axes, found = self.place.axes, dict[int, Said]()
        for plan, members in self.groups:
            said = self.place.said(plan, heard, np.empty(axes.size(plan.kept)), threads)
            if said is None:
                return None
            table = said.values.reshape(axes.laid(plan.kept))
            if said.logarithmic:
                for kept in members:
                    log = log_summed(table, axes.of(plan.kept & ~kept)).reshape(-1)
                    found[kept] = Said(log - log.max(), 0.0, logarithmic=True)
                continue
            sums = all_summed(axes, table, plan.kept, members) if len(members) > 1 else None
            for kept in members:
                values = table if sums is None and kept == plan.kept else None
                if values is None:
                    values = all_summed(axes, table, plan.kept, [kept])[kept] if sums is None else sums[kept]
                flat = values.reshape(-1)
                found[kept] = Said(flat, 0.0, *ends_of(flat))
        return found
