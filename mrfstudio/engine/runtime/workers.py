"""Work in chunks, on several processes where that pays."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def process_pool(count: int) -> ProcessPoolExecutor:
    """So many processes that end with this one, however it ends.

    They are spawned, not forked, so that a caller with threads is safe.
    """
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _end_with_parent)


def _end_with_parent() -> None:
    # A worker holds both ends of its queue, so a parent that was killed would leave it waiting for ever.
    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def processes(wanted: int, total: int, worthwhile: int) -> int:
    """How many processes to start: `wanted`, or if that is 0 one for each core that has `worthwhile` items to do."""
    if wanted > 0:
        return wanted
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, total // worthwhile))


def map_chunks(
    function: Callable[[Any], Result],
    tasks: Iterable[Any],
    total: int,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
    worthwhile: int = 1,
) -> list[Result]:
    """`[function(task) for task in tasks]` in order, on `workers` processes; 0 chooses (see `processes`).

    Each result has a length; `progress(done, total)` hears the sum of the lengths so far. Tasks wait in a short queue,
    so they are never all in memory at once.
    """
    report = progress or (lambda done, total: None)
    results: list[Result] = []
    done = 0
    count = processes(workers, total, worthwhile)
    if count == 1:
        for task in tasks:
            results.append(function(task))
            done += len(results[-1])  # type: ignore[arg-type]
            report(done, total)
        return results
    pending: deque[Future[Result]] = deque()
    with process_pool(count) as pool:
        try:
            for task in tasks:
                pending.append(pool.submit(function, task))
                while len(pending) > 2 * count:
                    results.append(pending.popleft().result())
                    done += len(results[-1])  # type: ignore[arg-type]
                    report(done, total)
            while pending:
                results.append(pending.popleft().result())
                done += len(results[-1])  # type: ignore[arg-type]
                report(done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results
