"""The trainer: runs every learner on every model, one batch after another.

    trainer = Trainer(model, learner, data, seed=0, model_path="out.safetensors")
    for record in trainer.run():
        print(record.step, record.loss)
    print(trainer.outcome.sentence)

The same seed, device, precision and number of threads give the same numbers, also over a kill and a resume. Two things
bring the clock in: a time budget moves the schedule (see `optimiser.progress`), and a person who changes parameters
while it runs. Changes are checkpointed at once, so a resume keeps them.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from torch import Tensor

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training import optimiser, painting
from mrfstudio.engine.training.checkpoint import RunFiles, TrainingState, identity, merged_options
from mrfstudio.engine.training.control import Command, ControlState, Poll, no_commands
from mrfstudio.engine.training.learner import Learner, TrainableModel, TrainingData
from mrfstudio.engine.training.parallel import OneProcess
from mrfstudio.engine.training.progress import (
    NOTHING,
    Pace,
    Progress,
    Reason,
    TrainingError,
    TrainingOutcome,
    ending_sentence,
    smoothed,
)
from mrfstudio.engine.training.stepper import (
    Diverged,
    Stepper,
    StepResult,
    assign,
    copies,
    exchanged,
    keep_best,
    validate,
)

CHECKPOINT_SECONDS = 60.0
PAUSE_SECONDS = 0.05
FIXED_WHILE_RUNNING = ("batch_size", "optimiser")


class Trainer:
    """One run. `model_path` is the model file beside which state and curves are kept; None keeps nothing.

    `on_save(trainer)` is called after every checkpoint, for example to write the best model so far. `seconds_before`
    is time already spent on the budget, such as loading the data; a resumed run has spent that of its earlier parts.
    """

    def __init__(
        self,
        model: TrainableModel,
        learner: Learner,
        data: TrainingData,
        *,
        seed: int = 0,
        model_path: str | os.PathLike[str] | None = None,
        resume: bool = False,
        max_minutes: float | None = None,
        poll: Poll = no_commands,
        parallel: OneProcess | None = None,
        on_save: Callable[[Trainer], None] | None = None,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
        seconds_before: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.learner, self.data, self.seed = model, learner, data, seed
        self.budget = None if max_minutes is None else 60.0 * max_minutes
        self.parallel = parallel or OneProcess()
        self.state = TrainingState()
        self.outcome: TrainingOutcome | None = None
        self._resume, self._on_save, self._clock = resume, on_save, clock
        self._seconds_before = seconds_before
        self._steering = ControlState(poll)
        self._stepper = Stepper(model, data, seed, self.parallel)
        path, writes = None if model_path is None else Path(model_path), self.parallel.rank == 0
        self._model_path = path
        self._files = RunFiles(path, writes, checkpoint_seconds, clock, learner.loss_unit)
        self._pace, self._reserve = Pace(), 0.0
        self._notices: list[str] = []
        self._last: Progress | None = None
        self._validated_step = -1
        self._refuse_nonsense()

    @property
    def total_steps(self) -> int:
        return optimiser.steps_in_all(self.learner, len(self.data.train))

    @property
    def steps_per_epoch(self) -> int:
        return optimiser.steps_per_epoch(self.learner, len(self.data.train))

    @property
    def kept(self) -> dict[str, Tensor]:
        """The tensors worth keeping now: those of the best validation, or before the first the ones it would see."""
        return dict(self.state.best) if self.state.best else copies(self.model.tensors()) | self.state.average

    def run(self) -> Iterator[Progress]:
        """Train; gives one record a step, records with state `paused` while paused, and a last one, `done`."""
        self._begin()
        try:
            while True:
                yield from self._listen()
                reason = self._ending()
                if reason is not None:
                    break
                yield self._one_step()
            self._save()
            found, kept_step = "", self.state.step
        except Diverged as problem:
            # The last checkpoint stays: to resume with a smaller learning rate, a little before is better.
            reason, found, kept_step = "diverged", str(problem), problem.good_step
        except GeneratorExit:
            # The reader went away between two steps: the state is whole, so keep it.
            self._save()
            raise
        yield self._finish(reason, found, kept_step)

    def _refuse_nonsense(self) -> None:
        refusal = self.learner.supports(self.model)
        if refusal is not None:
            raise TrainingError(refusal)
        if self.parallel.size > 1 and not self.learner.of_batches:
            raise TrainingError(
                f"A step of the learner {self.learner.name} is no gradient of a batch that processes could share: "
                "train it without torchrun."
            )
        if len(self.data.train) == 0:
            raise TrainingError(f"The data {self.data.name!r} has no training items: expected at least one.")
        if not self._stepper.trained():
            raise TrainingError(f"The model of kind {self.model.kind!r} has no tensor to train.")
        if self.budget is not None and not self.budget > 0:
            raise TrainingError(f"max_minutes is {self.budget / 60:g}: expected a number above 0.")

    def _begin(self) -> None:
        self._started, self._paused_seconds = self._clock(), 0.0
        same = identity(self.model, self.learner, self.data, self.seed)
        moments = optimiser.start_moments(self._stepper.trained(), self.learner.optimiser)
        found = self._files.find(same) if self._resume else None
        if found is not None:
            self.state = found
            assign(self.model.tensors(), found.parameters)
            assign(moments, found.moments)
            self.learner = self.learner.replace(**merged_options(self.learner.values(), found))
            self._seconds_before += found.seconds
            painted = painting.kept(self._model_path, self.data)
            if painted is not None:
                self._take(painted)
        else:
            if self._resume:
                self._notices.append("There is no checkpoint to resume: starting from the beginning.")
            self.state = TrainingState(same, self.learner.values())
            self.state.learner = self.learner.start(self.model, self.data, self.seed)
        self.state.moments = moments
        if self.parallel.broadcast(self.state.step) != self.state.step:
            raise TrainingError("The processes found different checkpoints: every machine needs the same files.")
        self._files.tidy()

    def _seconds(self) -> float:
        return self._seconds_before + self._clock() - self._started - self._paused_seconds

    def _listen(self) -> Iterator[Progress]:
        """Obey what has arrived; while paused, say so again and again."""
        self._obey(self._steering.receive())
        while self._steering.waiting and self._ending() is None:
            began = self._clock()
            if self._steering.checkpoint_wanted and self.state.step:
                self._save()
            yield self._record(state="paused")
            time.sleep(PAUSE_SECONDS)
            commands = self._steering.receive()
            self._paused_seconds += self._clock() - began
            self._obey(commands)

    def _obey(self, commands: list[Command]) -> None:
        # Rank 0 alone reads the clock and the commands, so that all processes decide the same.
        # The last validation belongs to the budget too.
        reserve = self._pace.step_seconds + self._pace.validation_seconds
        commands, self.state.seconds, self._reserve = self.parallel.broadcast((commands, self._seconds(), reserve))
        for command in commands:
            own = {"change": self._change, "paint": self._paint}.get(str(command.get("do")))
            self._tell(own(command) if own is not None else self._steering.obey(command))

    def _paint(self, command: Command) -> str:
        """Other training points from now on, and beside the model for a resume."""
        try:
            data = painting.painted(self.data, command)
        except (StudioError, TypeError, ValueError) as problem:
            return str(problem)
        self._take(data)
        self.state.best, self.state.best_score = {}, None  # what was best was so on another picture
        painting.keep(self._model_path, data)
        return ""

    def _take(self, data: TrainingData) -> None:
        """Learn from other items, and validate on others."""
        self.data = data
        self._stepper.set_data(self.data)

    def _change(self, command: Command) -> str:
        """Change parameters of the learner while it runs."""
        try:
            values = dict(command.get("values") or {})
            for name in values:
                if name in FIXED_WHILE_RUNNING:
                    return f"{name} cannot change while a run goes on: start another run."
            changed = self.learner.replace(**values)
            refusal = changed.supports(self.model)
            if refusal is not None:
                return refusal
            changed.check(self.model)
        except (StudioError, TypeError, ValueError) as problem:
            return str(problem)
        self.learner = changed
        self.state.changes |= {name: getattr(self.learner, name) for name in values}
        # At once, so that a resume after a kill knows of it.
        self._steering.checkpoint_wanted = True
        return ""

    def _ending(self) -> Reason | None:
        state = self.state
        if self._steering.stopping:
            return "stopped"
        if state.step >= self.total_steps:
            return "finished"
        if 0 < self.learner.patience <= state.waited:
            return "early"
        if self.budget is not None and state.step > 0 and state.seconds + self._reserve >= self.budget:
            return "time"
        return None

    def _one_step(self) -> Progress:
        state = self.state
        done = optimiser.progress(state.step, self.total_steps, state.seconds, self.budget)
        rate = optimiser.learning_rate(self.learner, state.step, done)
        began = self._clock()
        result = self._stepper.take(self.learner, state, rate, done)
        self._pace.add(result.items, self._clock() - began)
        self._steering.stepped()
        state.running_loss, mean = smoothed(state.running_loss, result.loss, state.step)
        validation = self._validate() if self._validation_due() else NOTHING
        state.seconds = self._seconds()
        record = self._record(result=result, smoothed_loss=mean, rate=rate, validation=validation)
        state.curves.append(record)
        self._last = record
        if self._files.due or self._steering.checkpoint_wanted:
            self._save()
        return record

    def _validation_due(self) -> bool:
        every = self.learner.validate_every or self.steps_per_epoch
        return self.state.step % every == 0 or self.state.step >= self.total_steps

    def _validate(self) -> dict[str, float]:
        if self.data.validation is None:
            return {}
        began = self._clock()
        with exchanged(self.model.tensors(), self.state.average):
            metrics = validate(self.learner, self.model, self.data.validation, self.seed)
            keep_best(self.state, self.learner, metrics, self.model.tensors())
        self._pace.validation_seconds = self._clock() - began
        self._validated_step = self.state.step
        return metrics

    def _record(
        self,
        *,
        result: StepResult | None = None,
        smoothed_loss: float = math.nan,
        rate: float = math.nan,
        validation: Mapping[str, float] = NOTHING,
        state: Literal["running", "paused", "done"] = "running",
    ) -> Progress:
        """The record of a step, or with no result a repetition of the last one."""
        notice, self._notices = " ".join(self._notices), []
        if result is None and self._last is not None:
            left = 0.0 if state == "done" else self._last.seconds_left
            return replace(
                self._last,
                state=state,
                validation=validation,
                notice=notice,
                seconds=self.state.seconds,
                seconds_left=left,
            )
        every = self.learner.validate_every or self.steps_per_epoch
        steps_left = self.total_steps - self.state.step
        budget_left = None if self.budget is None else self.budget - self.state.seconds
        return Progress(
            step=self.state.step,
            total_steps=self.total_steps,
            epoch=self.state.step / self.steps_per_epoch,
            loss=result.loss if result else math.nan,
            smoothed_loss=smoothed_loss,
            gradient_norm=result.gradient_norm if result else math.nan,
            learning_rate=rate,
            images_per_second=self._pace.items_per_second,
            seconds=self.state.seconds,
            seconds_left=self._pace.left(steps_left, steps_left / every, budget_left),
            validation=validation,
            extras=result.scalars if result else NOTHING,
            state=state,
            notice=notice,
            images=self.state.items,
        )

    def _save(self) -> None:
        self._steering.checkpoint_wanted = False
        self.state.parameters = self.model.tensors()
        on_save = self._on_save
        self._tell(self._files.save(self.state, None if on_save is None else lambda: on_save(self)))

    def _tell(self, notice: str) -> None:
        if notice:
            self._notices.append(notice)

    def _finish(self, reason: Reason, found: str, kept_step: int) -> Progress:
        """Measure the last parameters if nobody did, put the best ones into the model, tell the outcome."""
        validation: Mapping[str, float] = NOTHING
        if reason != "diverged" and self._validated_step != self.state.step and self.state.step > 0:
            # After the last checkpoint on purpose: a run that is resumed has not had this extra validation.
            validation = self._validate()
        if self.state.best:
            kept_step = self.state.best_step
            assign(self.model.tensors(), self.state.best)
        elif self.state.average:
            assign(self._stepper.trained(), self.state.average)
        record = self._record(validation=validation, state="done")
        if validation:
            self.state.curves.annotate(record)
        self._tell(self._files.write_curves(self.state))
        self.outcome = TrainingOutcome(
            reason=reason,
            sentence=ending_sentence(reason, found, record, kept_step, self.state.best_validation),
            step=self.state.step,
            epoch=record.epoch,
            items=self.state.items,
            seconds=self._seconds(),
            kept_step=kept_step,
            scores=dict(self.state.best_validation),
        )
        return replace(record, notice=" ".join([record.notice, *self._notices, self.outcome.sentence]).strip())
