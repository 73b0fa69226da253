"""The progress of a run in the terminal. Everything goes to standard error; standard output stays clean."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mrfstudio.engine.learning.progress import Progress, duration, metrics_in_words

if TYPE_CHECKING:
    from rich.console import Console

# Without a terminal, in a log file, a bar is noise: a line each half minute and after every validation is enough.
LINE_SECONDS = 30.0


def with_bar(records: Iterator[Progress], unit: str = "bits", console: Console | None = None) -> Iterator[Progress]:
    """Pass the records on and show them: a bar on a terminal, else a line from time to time."""
    from rich.console import Console

    console = console or Console(file=sys.stderr)
    return _bar(records, unit, console) if console.is_terminal else _lines(records, unit, console)


def _bar(records: Iterator[Progress], unit: str, console: Console) -> Iterator[Progress]:
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), console=console) as bar:
        task = bar.add_task("training", words="")
        measured = ""
        for record in records:
            measured = metrics_in_words(record.validation) or measured
            words = " · ".join(part for part in (loss_words(record, unit), measured, pace_words(record)) if part)
            bar.update(task, description=record.state, completed=finished_part(record), total=1.0, words=words)
            if record.notice:
                bar.console.print(record.notice, highlight=False, markup=False)
            yield record


def _lines(records: Iterator[Progress], unit: str, console: Console) -> Iterator[Progress]:
    shown = -LINE_SECONDS
    for record in records:
        if record.notice:
            console.print(record.notice, highlight=False, markup=False, soft_wrap=True)
        due = record.validation or record.seconds - shown >= LINE_SECONDS
        if due and record.state == "running":
            shown = record.seconds
            parts = [f"step {record.step}/{record.total_steps}", loss_words(record, unit)]
            parts += [metrics_in_words(record.validation), pace_words(record)]
            console.print(" · ".join(filter(None, parts)), highlight=False, markup=False, soft_wrap=True)
        yield record


def finished_part(record: Progress) -> float:
    """In [0, 1]: of the steps or of the time, whichever ends first."""
    done = record.step / record.total_steps
    if record.seconds_left is not None and record.seconds > 0:
        done = max(done, record.seconds / (record.seconds + record.seconds_left))
    return 1.0 if record.state == "done" else min(done, 1.0)


def loss_words(record: Progress, unit: str) -> str:
    return f"loss {record.smoothed_loss:.4f} {unit}"


def pace_words(record: Progress) -> str:
    left = "" if record.seconds_left is None else f", {duration(record.seconds_left)} left"
    return f"{record.images_per_second:.3g} images/s{left}"
