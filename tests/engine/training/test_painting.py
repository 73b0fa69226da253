"""Points that are painted while a run learns: added, erased, kept for a resume."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.points import Points
from mrfstudio.engine.families.mixture.model import FlowMixturePlan
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.command import training_data
from mrfstudio.engine.training.control import Control, no_commands
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from mrfstudio.engine.training.learners.em import ExpectationMaximisation
from mrfstudio.engine.training.painting import keep, kept, painted
from mrfstudio.engine.training.progress import TrainingError
from mrfstudio.engine.training.trainer import Trainer


def data_of(x: torch.Tensor, held: torch.Tensor | None = None) -> TrainingData:
    return TrainingData(TensorSource(x=x), None if held is None else TensorSource(x=held))


def points(source: object) -> torch.Tensor:
    assert isinstance(source, TensorSource)
    return source.tensors["x"]


def test_a_disc_is_emptied_and_points_are_added() -> None:
    x = torch.stack([torch.linspace(-1, 1, 21), torch.zeros(21)], 1)
    command = {"erase": [[0.0, 0.0, 0.25]], "add": [[5.0, 5.0], [6.0, 6.0]]}
    found = painted(data_of(x), command)
    assert found.validation is None
    assert len(found.train) == 21 - 5 + 2
    assert points(found.train)[-1].tolist() == [6.0, 6.0]
    assert float(points(found.train)[:-2, 0].abs().min()) > 0.25


def test_what_is_held_out_is_painted_too() -> None:
    """A tenth of the new points, however few come at once; and nothing that was erased."""
    found = data_of(torch.ones(90, 2), torch.ones(10, 2))
    for number in range(40):
        found = painted(found, {"add": [[float(number), -5.0 - k] for k in range(5)]})
    train, held = points(found.train), points(found.validation)
    assert (len(train), len(held)) == (90 + 180, 10 + 20)
    assert not set(map(tuple, train[90:].tolist())) & set(map(tuple, held[10:].tolist()))
    left = painted(found, {"erase": [[1.0, 1.0, 0.1]]})
    assert (len(left.train), len(points(left.validation))) == (180, 20)


def test_nonsense_is_refused() -> None:
    data = data_of(torch.zeros(20, 2))
    with pytest.raises(StudioError, match="8 to"):
        painted(data, {"erase": [[0.0, 0.0, 1.0]]})
    with pytest.raises(StudioError, match="pair of numbers"):
        painted(data, {"add": [[float("nan"), 0.0]]})
    with pytest.raises(StudioError, match="something else"):
        painted(data_of(torch.zeros(20, 5)), {"add": [[0.0, 0.0]]})


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
    assert 3 < first.outcome.kept_step <= 6  # what was best before was so on another picture
    assert "nll" in first.outcome.scores
    assert (len(first.data.train), len(points(first.data.validation))) == (before + 27, 13)
    again = kept(path, data)
    assert again is not None
    assert torch.equal(points(again.validation), points(first.data.validation))
    second = trainer(True)
    records = list(second.run())
    assert (len(second.data.train), len(points(second.data.validation))) == (before + 27, 13)
    assert records[-1].step == second.total_steps


@pytest.mark.parametrize("spoiled", ["cut", "shape", "nan", "text"])
def test_damaged_points_beside_a_model_are_refused_in_one_sentence(tmp_path: Path, spoiled: str) -> None:
    data = TrainingData(TensorSource(x=torch.zeros(20, 2)))
    model = tmp_path / "model.safetensors"
    keep(model, data)
    path = tmp_path / "model.points.npz"
    if spoiled == "cut":
        path.write_bytes(path.read_bytes()[:-30])
    elif spoiled == "text":
        path.write_text("no points")
    else:
        np.savez(path, x=np.full((9, 3) if spoiled == "shape" else (9, 2), np.nan if spoiled == "nan" else 0.0))
    with pytest.raises(TrainingError, match="are damaged: remove that file and resume again"):
        kept(model, data)
