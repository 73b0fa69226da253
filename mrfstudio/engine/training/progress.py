"""What a training run tells about itself: records while it runs, one outcome at its end, a bar in the terminal.

What is shown goes to standard error; standard output stays clean.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from mrfstudio.engine.files.model_file import finite
from mrfstudio.engine.protocol.errors import StudioError

if TYPE_CHECKING:
    from rich.console import Console


# A step counts for about fifty steps in the smoothed loss: quiet enough to read, quick enough to follow.
SMOOTHING = 0.98
# The rate is an average over so many steps, long enough that one slow step does not make the time left jump.
RECENT_STEPS = 20

NOTHING: Mapping[str, float] = MappingProxyType({})


Reason = Literal["finished", "stopped", "early", "time", "diverged"]


class TrainingError(StudioError):
    """A run that cannot start or go on. The message is one sentence for a person."""


@dataclass(frozen=True)
class Progress:
    """One step of a run. Seconds do not count pauses; they and the rate are the only numbers that chance changes.

    `loss` is that of the step's own batch before the update, `smoothed_loss` its running mean; `gradient_norm` is taken
    before clipping. `images` counts the items learned from so far, one as often as it was seen. `validation` is empty
    except after the steps that were followed by one. A record with state `paused` repeats the last step; one with state
    `done` ends the stream.
    """

    step: int
    total_steps: int
    epoch: float
    loss: float
    smoothed_loss: float
    gradient_norm: float
    learning_rate: float
    images_per_second: float
    seconds: float
    seconds_left: float | None
    validation: Mapping[str, float] = field(default_factory=dict)
    extras: Mapping[str, float] = field(default_factory=dict)
    state: Literal["running", "paused", "done"] = "running"
    notice: str = ""
    images: int = 0

    def __post_init__(self) -> None:
        # Copies behind a read-only view, so that a record kept by a plot never changes.
        object.__setattr__(self, "validation", MappingProxyType(dict(self.validation)))
        object.__setattr__(self, "extras", MappingProxyType(dict(self.extras)))

    def as_json(self) -> dict[str, Any]:
        """Plain values; numbers that are not finite are null."""
        plain: dict[str, Any] = finite({item.name: getattr(self, item.name) for item in fields(self)})
        return plain


@dataclass(frozen=True)
class TrainingOutcome:
    """How a run ended and what it keeps. The model then holds the parameters of `kept_step`."""

    reason: Reason
    sentence: str
    step: int
    epoch: float
    items: int
    seconds: float
    kept_step: int
    scores: Mapping[str, float] = field(default_factory=dict)


def smoothed(running: float, loss: float, step: int) -> tuple[float, float]:
    """The next running sum of an exponential mean, and the mean itself; `step` counts from 1."""
    running = SMOOTHING * running + (1 - SMOOTHING) * loss
    # The sum starts at zero; dividing by the weights gathered so far makes the first mean the first loss.
    return running, running / (1 - SMOOTHING**step)


class Pace:
    """How fast the last steps went, and from that the time left."""

    def __init__(self) -> None:
        self._recent: deque[tuple[int, float]] = deque(maxlen=RECENT_STEPS)
        self.validation_seconds = 0.0

    def add(self, items: int, seconds: float) -> None:
        self._recent.append((items, seconds))

    @property
    def items_per_second(self) -> float:
        seconds = sum(taken for _, taken in self._recent)
        return sum(items for items, _ in self._recent) / seconds if seconds > 0 else 0.0

    @property
    def step_seconds(self) -> float:
        return sum(taken for _, taken in self._recent) / len(self._recent) if self._recent else 0.0

    def left(self, steps: int, validations: float, budget_left: float | None) -> float | None:
        """Seconds until the steps are done or the budget is spent; None before the first step."""
        if not self._recent:
            return None
        work = steps * self.step_seconds + validations * self.validation_seconds
        return max(0.0, work if budget_left is None else min(work, budget_left))


def ending_sentence(reason: Reason, found: str, last: Progress, kept_step: int, scores: Mapping[str, float]) -> str:
    """One sentence on how a run ended; `found` is what left the finite range."""
    how = {
        "finished": "Finished",
        "stopped": "Stopped as asked",
        "early": "Stopped early, because validation no longer improved,",
        "time": "The time is up",
        "diverged": f"{found}, so training stopped",
    }[reason]
    measured = metrics_in_words(scores)
    kept = f"kept the parameters of step {kept_step}" + (f" ({measured})" if measured else "")
    advice = "; try a smaller learning rate or a smaller clip norm" if reason == "diverged" else ""
    return f"{how} after {last.step} steps ({last.epoch:.3g} epochs) in {duration(last.seconds)}: {kept}{advice}."


def metrics_in_words(metrics: Mapping[str, float]) -> str:
    """The first two metrics: a learner lists the one that matters first, and a line has room for no more."""
    return ", ".join(f"{name} {value:.4f}" for name, value in list(metrics.items())[:2])


def duration(seconds: float) -> str:
    """Seconds in words for a person, such as `3 min 20 s`."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s" if seconds < 10 else f"{rest} s"


# In the terminal ------------------------------------------------------------------------------------------------------


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
