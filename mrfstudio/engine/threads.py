"""How many threads an operation is worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORTH_TWO = 4_000_000
"""Entries below which waking a second thread for every operation costs more than it brings (measured: 3× slower at
80,000 entries, 10 % slower at 1.4 million, a third faster at 8.6 million). Below it the other core is the window's."""


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
