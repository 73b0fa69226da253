"""How many threads an operation is worth, and independent work side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import torch

WORTH_TWO = 6_000_000
"""Entries below which waking a second thread for every operation costs more than it brings (measured: 3× slower at
80,000 entries, 10 % slower at 1.4 million, no faster at 5.3 million, a sixth faster at 8.6 million). Below it the other
core is the window's."""
WORTH_APART = 100_000
"""Entries of an operation below which a second thread for other items waits for the first one's calls more than it
computes (measured: 1.7 times slower at 56,000, two fifths faster at 224,000)."""

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


@contextmanager
def fitting_threads(entries: int | None) -> Iterator[None]:
    """Run small work on one thread; larger or unknown work on as many as torch was given."""
    threads = torch.get_num_threads()
    if entries is None or entries >= WORTH_TWO or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item], entries: int = WORTH_TWO) -> list[Result]:
    """`work` of every item, in order, on as many threads as torch was given; each operation then runs on one.

    For work of many small operations, such as unrolled inference on a few images: there a second thread within every
    operation makes it slower, and one for other items nearly doubles the speed. Where operations touch only a few
    `entries` even that does not: threads then wait for each other between them. The numbers do not depend on the
    number of threads.
    """
    threads = min(torch.get_num_threads(), len(items))
    if threads <= 1 or entries < WORTH_APART:
        with fitting_threads(0):
            return [work(item) for item in items]
    return list(_pool(threads).map(work, items))


def shared_out(
    work: Callable[[Key], Result], items: Sequence[Key], threads: int, stop: Callable[[], bool] = lambda: False
) -> dict[Key, Result]:
    """`work` of the items by the caller and `threads` - 1 helpers, each operation on one thread; answers by item.

    For few pieces of work that are all needed soon: the caller begins at once while helpers wake up, and whoever is
    free takes the next one. After each of its own the caller asks `stop`; then what nobody has begun stays undone and
    is not in the answer. Helpers compute in the caller's modes, so the numbers are those of one thread.
    """
    left, found = deque(items), dict[Key, Result]()
    helpers = min(threads, len(items)) - 1

    def drain(stop: Callable[[], bool]) -> None:
        while left:
            try:
                item = left.popleft()
            except IndexError:  # another one was quicker
                return
            found[item] = work(item)
            if stop():
                left.clear()

    if helpers < 1:
        with fitting_threads(0):
            drain(stop)
        return found
    modes = _Modes.of_this_thread()

    def help_out() -> None:
        with modes.taken_over():
            drain(lambda: False)

    helping = [_pool(helpers).submit(help_out) for _ in range(helpers)]
    try:
        with fitting_threads(0):
            drain(stop)
    finally:
        left.clear()
        begun = [helper for helper in helping if not helper.cancel()]
        wait(begun)  # what they write must be whole
    for helper in begun:
        helper.result()
    return found


@dataclass(frozen=True)
class _Modes:
    """Settings that torch keeps for each thread: gradients, inference mode, and whether tiny numbers become 0."""

    gradients: bool
    inference: bool
    flushing: bool

    @classmethod
    def of_this_thread(cls) -> _Modes:
        small = torch.finfo(torch.float32).tiny
        flushing = float(torch.tensor(small, dtype=torch.float32) / 2) == 0.0
        return cls(torch.is_grad_enabled(), torch.is_inference_mode_enabled(), flushing)

    @contextmanager
    def taken_over(self) -> Iterator[None]:
        torch.set_flush_denormal(self.flushing)
        with torch.inference_mode(self.inference), torch.set_grad_enabled(self.gradients):
            yield


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    # Kept: what a thread has at hand for the next run, such as its memory, would go with it.
    return ThreadPoolExecutor(threads, thread_name_prefix="side", initializer=_prepare)


def _prepare() -> None:
    torch.get_num_threads()  # a thread's first look takes the process's number; only then its own can be set
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as everywhere in training; a setting of the thread too
