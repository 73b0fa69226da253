"""How many threads an operation is worth, and independent work side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch

WORTH_TWO = 6_000_000
"""Entries below which waking a second thread for every operation costs more than it brings (measured: 3× slower at
80,000 entries, 10 % slower at 1.4 million, no faster at 5.3 million, a sixth faster at 8.6 million). Below it the other
core is the window's."""

Item = TypeVar("Item")
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


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`work` of every item, in order, on as many threads as torch was given; each operation then runs on one.

    For work of many small operations, such as unrolled inference on a few images: there a second thread within every
    operation makes it slower, and one for other items nearly doubles the speed. The numbers do not depend on the
    number of threads.
    """
    threads = min(torch.get_num_threads(), len(items))
    if threads <= 1:
        with fitting_threads(0):
            return [work(item) for item in items]
    return list(_pool(threads).map(work, items))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    # Kept: what a thread has at hand for the next run, such as its memory, would go with it.
    return ThreadPoolExecutor(threads, thread_name_prefix="side", initializer=_prepare)


def _prepare() -> None:
    torch.get_num_threads()  # a thread's first look takes the process's number; only then its own can be set
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as everywhere in training; a setting of the thread too
