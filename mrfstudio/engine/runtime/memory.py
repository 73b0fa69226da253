"""How much memory there is, sizes in words, and what becomes of memory that is freed."""

from __future__ import annotations

import ctypes
import os
import sys

SPARE = 256 * 2**20
"""Freed bytes at the end of the heap that stay with the process; as much as the history of a session may take."""
LARGEST_IN_HEAP = 32 * 2**20
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # names of settings in malloc.h


EVERYTHING = 2**31 - 1
"""The most that glibc can be told."""


def keep_freed_memory(spare: int = SPARE, largest: int = LARGEST_IN_HEAP) -> None:
    """Let the C library keep freed memory for the next tensors; nothing where it is not glibc.

    By default it gives back every block of a message's size, and the system must clear fresh pages for the next: that
    took half the time of an iteration on a face and a fifth of a training step. A process that has one thing to do and
    ends may keep `EVERYTHING`.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for setting, size in ((_TRIM_THRESHOLD, spare), (_TOP_PAD, SPARE // 4), (_MMAP_THRESHOLD, largest)):
            mallopt(setting, size)


def give_back_freed_memory() -> None:
    """Have the C library give freed memory back that lies between what is used; nothing where it is not glibc.

    Where much was let go at once, what stays in between keeps the rest of the heap from being given back, and the next
    large tensors find no place in its holes.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def available_bytes() -> int:
    """Memory that can be taken without swapping; a careful guess where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    if sys.platform != "win32" and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return 4 * 2**30


def in_words(count: float) -> str:
    """`1.5 GB`."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.3g} {unit}"
        size /= 1000
    raise AssertionError("the loop always returns")
