"""What fits into the time, by counting: how many table entries a tree touches, at a rate that a slow machine keeps.

Without torch: a small graph is answered before that would be imported (`engine/tasks/quick.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mrfstudio.engine.inference.join.clusters import whole_buckets
from mrfstudio.engine.inference.join.layout import Layout
from mrfstudio.engine.inference.join.orders import Order
from mrfstudio.engine.inference.join.reduction import Reduced
from mrfstudio.engine.inference.join.solved import JunctionTree
from mrfstudio.engine.protocol.catalogue import Parameters, choice, integer, number
from mrfstudio.engine.runtime.memory import available_bytes

RATE = 6.0e7
"""Table entries that join graphs touch in a second, at least …"""
TREE_RATE = 1.5e8
"""… and join trees, which take no fresh memory for most of them. Two quick cores touch 5e8."""
MESSAGE = 5e-5
"""Seconds that the bookkeeping of one message takes …"""
LOOKING = 2e-4
"""… and to find an elimination order and clusters, for each variable and each factor."""
WIDEST = 32.0
"""Bits of a cluster beyond which an exact way is not looked at: what is made of it may be smaller."""
SURE = 1.25
"""Times of the whole time that an exact stage may take as counted: one that is ended by the clock leaves nothing …"""
TREE_SURE = 1.6
"""… and a tree, which is given up where it is too slow …"""
WATCHED = 0.15
"""… after this part of the time …"""
SLOWER = 2.0
"""… where at its pace it would take so many times longer than what is left: it becomes up to twice as quick on its way,
once its memory is there."""
QUICK = 1.0
"""Seconds that an exact stage may take without a quicker answer in front of it …"""
BEFORE = 0.1
"""… for which this part of the time is used."""
SHARE = 0.25
"""Part of the free memory that a join graph may take …"""
MOST = 1.8e9
"""… and no more bytes than these; a tree, which keeps its messages once, may take twice that part …"""
TREE_MOST = 6.5e9
"""… and no more bytes than these."""
HOPE = 3.0
"""How many times longer than counted a plan may take where a clock ends it anyway: most machines are that quick."""
SEARCHED = 0.2
"""Part of the time after which no further order is drawn, by a clock …"""
ANSWERED = 0.3
"""… and after which something quick goes first, whatever is under way."""
SEARCH = 4.0
"""Seconds of the whole in which elimination orders are looked for with the usual effort."""
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.monotonic, "processor": time.process_time}


def clock_of(given: Mapping[str, Any]) -> Callable[[], float]:
    """By which clock the time of a command with these parameters goes: that on the wall, unless another is named."""
    return CLOCKS.get(given.get("clock", ""), time.monotonic)


class OutOfTime(Exception):
    """The time was over before a stage was found, or had ended."""


class TooSlow(Exception):
    """A tree will not end in its time."""


class Budget(Parameters):
    """Parameters of `auto`."""

    name = "auto"
    title = "The best in the time"
    summary = "Exact where that fits into the time, else join graphs of growing size; says what it picked and why."

    seconds: float = number(20.0, "About how long it may take.", low=0.1, high=86_400.0, unit="s", logarithmic=True)
    seed: int = integer(0, "Draws ties of the elimination order.", low=0, advanced=True)
    clock: str = choice(
        "counted",
        ("counted", "wall", "processor"),
        "What ends the work: steps counted beforehand, which gives the same answer on every machine; the clock on the "
        "wall; or the time of the processor, for a machine that is busy otherwise.",
        advanced=True,
    )
    spent: float = number(
        0.0, "Seconds of the time that are over already, such as those it took to read the graph.", low=0, advanced=True
    )

    @property
    def clocked(self) -> bool:
        return self.clock in CLOCKS

    def now(self) -> float:
        return CLOCKS[self.clock]() if self.clocked else 0.0

    def searched(self) -> Callable[[], bool]:
        """Whether orders have been looked for long enough, the time counted from when this is asked for."""
        until = self.now() - self.spent + SEARCHED * self.seconds
        return lambda: self.clocked and self.now() > until

    @property
    def hoped(self) -> float:
        """Seconds by counting: a clock ends what takes longer."""
        return self.seconds * (HOPE if self.clocked else 1.0)

    @property
    def effort(self) -> float:
        """Good orders are looked for in about a tenth of the time."""
        return min(max(self.seconds / SEARCH, 1.0), 20.0)


def looks_long(variables: int, factors: int, seconds: float) -> bool:
    """Whether looking for an exact way takes so long that something quicker goes first."""
    return LOOKING * (variables + factors) > BEFORE * seconds


def most_for_exact(counted: float, seconds: float) -> float:
    """Seconds that an exact stage may take as counted."""
    return min(counted, SURE * seconds)


def most_for_a_tree(counted: float, seconds: float) -> float:
    """Seconds that a join tree may take as counted."""
    return min(counted, TREE_SURE * seconds)


def at_once(whole: float, seconds: float) -> bool:
    """Whether an exact stage is so short that nothing quicker needs to go first."""
    return whole <= min(QUICK, seconds / 10)


def allowed() -> float:
    """Bytes that a join graph may take."""
    return min(SHARE * available_bytes(), MOST)


def allowed_for_trees() -> float:
    """Bytes that a tree may take."""
    return min(2 * SHARE * available_bytes(), TREE_MOST)


def too_slow(part: float, taken: float, left: float, seconds: float) -> bool:
    """Whether work of which this part is done after `taken` seconds will not fit into what is left of the time."""
    return taken > WATCHED * seconds and taken * (1 - part) > SLOWER * left * part


def seconds_of(layout: Layout) -> float:
    """About how long an iteration takes."""
    return layout.work / RATE + MESSAGE * 2 * len(layout.clusters.edges)


def tree_seconds(tree: JunctionTree) -> float:
    """About how long solving a tree takes."""
    return tree.work / TREE_RATE + MESSAGE * 2 * len(tree.clusters.edges)


def why_tree(order: Order) -> str:
    """Why it was picked, in words."""
    return f"its largest table has 2^{order.width:.0f} entries, which fits"


BY_TREE = "a join tree"


@dataclass(frozen=True)
class Begun:
    """What is known of a graph with its evidence once it was looked at: made smaller, and how to eliminate it."""

    problem: Reduced
    order: Order

    def quick_tree(self, budget: Budget) -> JunctionTree | None:
        """The join tree, where `auto` would take it at once and alone."""
        if self.order.width > WIDEST:
            return None
        tree = JunctionTree(self.problem, whole_buckets(self.problem, self.order))
        needed = tree_seconds(tree)
        fits = needed <= most_for_exact(budget.hoped, budget.seconds) and tree.memory <= allowed_for_trees()
        return tree if fits and at_once(needed, budget.seconds) else None
