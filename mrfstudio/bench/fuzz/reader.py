"""A reader of files under test, and the files of its cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.bench.fuzz.mutations import Rng, bytes_mutated, pick

Mutation = Callable[[bytes, Rng], bytes]


@dataclass(frozen=True)
class Reader:
    """Reads a file called `name` in a folder of its own; refusing is raising one of `errors`."""

    title: str
    name: str
    read: Callable[[Path], Any]
    errors: tuple[type[Exception], ...]
    seeds: Callable[[], list[bytes]]
    mutations: tuple[Mutation, ...] = (bytes_mutated,)
    made: Callable[[Rng], bytes] | None = None
    """Makes a file from its grammar."""


def case(reader: Reader, seeds: list[bytes], number: int) -> bytes:
    """The file of one case: the same for the same number."""
    rng = np.random.default_rng([number, len(reader.title), *reader.title.encode()])
    if reader.made is not None and rng.random() < 0.3:
        return reader.made(rng)
    return pick(rng, reader.mutations)(pick(rng, seeds), rng)
