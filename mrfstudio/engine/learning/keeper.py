"""The files of a run: when they are written, and what is found in them when it goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.atomic import remove_leftovers
from mrfstudio.engine.files.model_file import ModelFileError
from mrfstudio.engine.learning.checkpoint import TrainingState, load_state, save_state, training_path
from mrfstudio.engine.learning.progress import TrainingError

# Curves of a long run take a second to write as text; that may cost this part of the time and no more. The state holds
# them too, so nothing is lost by a kill.
CURVES_SHARE = 0.01


class Keeper:
    """Keeps state and curves beside one model file; without a path, or in another process than the first, nothing."""

    def __init__(
        self, model_path: Path | None, writes: bool, every: float, clock: Callable[[], float], loss_unit: str
    ) -> None:
        self.model_path = model_path
        self._writes = writes and model_path is not None
        self._every, self._clock, self._loss_unit = every, clock, loss_unit
        # Due after the first step: a run that is killed in its first minute can be resumed too.
        self._next = -math.inf
        self._next_curves = -math.inf

    def find(self, same: Mapping[str, Any]) -> TrainingState | None:
        """The saved state of a run with the identity `same`; None if it never came to its first checkpoint."""
        if self.model_path is None:
            raise TrainingError("This run keeps no files: to resume, give the model file that it writes.")
        path = training_path(self.model_path)
        if path.exists():
            return load_state(path, same)
        if self.model_path.exists():
            raise TrainingError(
                f"{self.model_path} exists without its training state {path.name}: expected both to resume; "
                "train without resuming, or start from that model."
            )
        return None

    def tidy(self) -> None:
        """Remove what a killed run left half written."""
        if self._writes and self.model_path is not None:
            remove_leftovers(training_path(self.model_path))
            remove_leftovers(self.model_path)

    @property
    def due(self) -> bool:
        return self._clock() >= self._next

    def save(self, state: TrainingState, more: Callable[[], None] | None = None) -> str:
        """Write the state, then `more`, then the curves. A failure does not end the run: it is told in a sentence."""
        self._next = self._clock() + self._every
        if not self._writes or self.model_path is None:
            return ""
        try:
            save_state(training_path(self.model_path), state)
            if more is not None:
                more()
        except (OSError, ModelFileError) as problem:
            return f"The checkpoint of step {state.step} was not saved: {problem}"
        return self.write_curves(state) if self._clock() >= self._next_curves else ""

    def write_curves(self, state: TrainingState) -> str:
        """Write the curves alone; a failure is returned as a sentence."""
        if self._writes and self.model_path is not None and state.step:
            began = self._clock()
            try:
                state.curves.write(self.model_path, self._loss_unit)
            except OSError as problem:
                return f"The curves of step {state.step} were not saved: {problem}"
            now = self._clock()
            self._next_curves = now + (now - began) / CURVES_SHARE
        return ""
