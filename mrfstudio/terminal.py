"""A status line in the terminal, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def status_line(title: str) -> Iterator[Callable[[str], None]]:
    """Show `title` and the newest text given to the yielded function, at most ten times a second."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(title) as status:
        shown = 0.0

        def tick(text: str) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown > 0.1:
                shown = now
                status.update(f"{title}: {text}")

        yield tick
