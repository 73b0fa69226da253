"""Points that are painted while a run learns: added, erased, kept for a resume."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mrfstudio.engine.data.points import Points
from mrfstudio.engine.families.mixture.model import FlowMixturePlan
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.command import training_data
from mrfstudio.engine.training.control import Control, no_commands
from mrfstudio.engine.training.learner import TensorSource
from mrfstudio.engine.training.learners.em import ExpectationMaximisation
from mrfstudio.engine.training.painting import kept, painted
from mrfstudio.engine.training.trainer import Trainer


def test_a_disc_is_emptied_and_points_are_added() -> None:
    x = torch.stack([torch.linspace(-1, 1, 21), torch.zeros(21)], 1)
    found = painted(TensorSource(x=x), {"erase": [[0.0, 0.0, 0.25]], "add": [[5.0, 5.0], [6.0, 6.0]]}).tensors["x"]
    assert len(found) == 21 - 5 + 2
    assert found[-1].tolist() == [6.0, 6.0]
    assert float(found[:-2, 0].abs().min()) > 0.25


def test_nonsense_is_refused() -> None:
    x = torch.zeros(20, 2)
    with pytest.raises(StudioError, match="8 to"):
        painted(TensorSource(x=x), {"erase": [[0.0, 0.0, 1.0]]})
    with pytest.raises(StudioError, match="pair of numbers"):
        painted(TensorSource(x=x), {"add": [[float("nan"), 0.0]]})
    with pytest.raises(StudioError, match="something else"):
        painted(TensorSource(x=torch.zeros(20, 5)), {"add": [[0.0, 0.0]]})


def test_a_run_goes_on_with_what_was_painted_and_a_resume_has_it(tmp_path: Path) -> None:
    data = training_data(Points(shape="moons", count=40, validation=10, test=8).open())
    path, control = tmp_path / "plane.safetensors", Control()
    learner = ExpectationMaximisation(epochs=6.0, batch_size=10, algorithm="exact")

    def trainer(resume: bool) -> Trainer:
        model = FlowMixturePlan(components=2, layers=1, width=4).build_for(data, 0)
        poll = no_commands if resume else control.poll
        return Trainer(model, learner, data, model_path=path, resume=resume, poll=poll)

    first = trainer(False)
    for record in first.run():
        if record.step == 3:
            control.send({"do": "paint", "add": [[0.1 * n, 2.0] for n in range(30)]})
        if record.step == 6:
            control.stop()
    before = len(data.train)
    assert first.outcome is not None
    assert first.outcome.kept_step == 6  # what was held out is of another picture, and selects nothing
    assert len(first.data.train) == before + 30
    source = kept(path)
    assert source is not None
    assert len(source) == before + 30
    second = trainer(True)
    records = list(second.run())
    assert len(second.data.train) == before + 30
    assert records[-1].step == second.total_steps
