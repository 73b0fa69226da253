"""Training by name: from options to a model file with card, curves and state, here and in a job."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.files.model_file import load_model
from mrfstudio.engine.protocol.catalogue import ParameterError, UnknownName
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.jobs import Job
from mrfstudio.engine.training.command import train_command, training_data, training_plan
from mrfstudio.engine.training.progress import TrainingError
from tests.engine.helpers.toy import REGISTRIES, LogisticModel, ToyPlan, train_toy

SMALL: dict[str, Any] = {"batch_size": 16, "epochs": 4, "seed": 3}


@pytest.fixture(autouse=True)
def toy_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry, part in REGISTRIES:
        registry.load_all()
        monkeypatch.setitem(registry._entries, "toy", part)  # type: ignore[arg-type]


def test_a_run_writes_model_card_curves_and_state(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    told: list[dict[str, Any]] = []
    command = "mrfstudio train toy --learner toy"
    result = train_command("toy", "toy", "toy", out, report=told.append, command=command, **SMALL)
    names = {"m.safetensors", "m.md", "m.curves.csv", "m.curves.json", "m.train.safetensors"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert len(told) == 29
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert (result["reason"], result["step"], result["model"]) == ("finished", 28, str(out))
    card = load_model(out, "toy").card
    assert (card["seed"], card["command"], card["steps"], card["ended"]) == (3, command, 28, "finished")
    assert card["scores"]["validation"] == result["scores"]
    assert card["options"]["batch_size"] == 16
    assert card["hyperparameters"] == {"features": 5}
    assert f"| command | `{command}` |" in out.with_name("m.md").read_text()


def test_the_saved_model_is_the_best_one(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    result = train_command("toy", "toy", "toy", out, learning_rate=20.0, clip_norm=0.0, **SMALL)
    assert result["kept_step"] < result["step"]
    model = LogisticModel()
    model.load_tensors(load_model(out).tensors)
    learner = training_plan("toy", "toy", "toy").learner()
    data = training_data(training_plan("toy", "toy", "toy").data.open())
    assert data.validation is not None
    assert learner.validate(model, data.validation) == result["scores"]


def test_options_reach_the_part_that_has_them(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    train_command("toy", "toy", None, out, start=0.5, items=32, learning_rate=1e-9, **SMALL)
    found = load_model(out)
    assert found.tensors["weight"].tolist() == pytest.approx([0.5] * 5, abs=1e-6)
    assert found.card["images_seen"] == 4 * 32
    assert found.card["options"]["learning_rate"] == 1e-9


def test_a_stopped_run_is_resumed_by_the_same_command(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    train_command("toy", "toy", "toy", whole, **SMALL)
    told: list[dict[str, Any]] = []
    result = train_command(
        "toy",
        "toy",
        "toy",
        broken,
        report=told.append,
        poll=lambda: [{"do": "stop"}] if len(told) == 9 else [],
        **SMALL,
    )
    assert (result["reason"], result["step"]) == ("stopped", 9)
    result = train_command("toy", "toy", "toy", broken, resume=True, **SMALL)
    assert (result["reason"], result["step"]) == ("finished", 28)
    assert load_model(broken).tensors["weight"].tolist() == load_model(whole).tensors["weight"].tolist()


def test_a_run_may_start_from_another_model(tmp_path: Path) -> None:
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    train_command("toy", "toy", "toy", first, **SMALL)
    train_command("toy", "toy", "toy", second, start_from=str(first), learning_rate=1e-9, **SMALL)
    expected = load_model(first).tensors["weight"].tolist()
    assert load_model(second).tensors["weight"].tolist() == pytest.approx(expected, abs=1e-6)
    assert load_model(second).card["started_from"] == str(first)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"model_name": "toi"}, UnknownName, "did you mean 'toy'"),
        ({"learner_name": "toi"}, UnknownName, "did you mean 'toy'"),
        ({"data": "toi"}, StudioError, "no data set 'toi'"),
        ({"lerning_rate": 1}, TrainingError, "did you mean 'learning_rate'"),
        ({"learning_rate": -1}, ParameterError, "learning_rate is -1"),
        ({"max_minutes": 0}, ParameterError, "max_minutes is 0"),
        ({"seed": -1}, ParameterError, "seed is -1"),
        ({"items": 0}, StudioError, "no training items"),
        ({"out": "."}, TrainingError, "is a folder"),
        ({"out": "none/m.safetensors"}, TrainingError, "does not exist"),
        ({"out": "notes.txt"}, TrainingError, "no model file"),
        ({"start_from": "none.safetensors"}, StudioError, "does not exist"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("mine")
    given: dict[str, Any] = {"model_name": "toy", "learner_name": "toy", "data": "toy", "out": "m.safetensors"}
    with pytest.raises(error, match=words) as caught:
        train_command(**{**given, **SMALL, **arguments})
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert Path("notes.txt").read_text() == "mine"


def test_a_model_that_cannot_be_trained_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ToyPlan, "build_for")
    with pytest.raises(TrainingError, match="'toy' cannot be trained"):
        training_plan("toy", "toy")


def test_without_a_validation_split_a_tenth_is_held_out() -> None:
    data = training_data(Splits({"train": {"x": np.arange(50)}}))
    assert (len(data.train), len(data.validation or ())) == (45, 5)
    assert training_data(Splits({"train": {"x": np.arange(5)}})).validation is None


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_the_first_interrupt_stops_after_the_batch_and_saves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = 0

    def interrupt(_: dict[str, Any]) -> None:
        nonlocal told
        told += 1
        if told == 5:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    out = tmp_path / "m.safetensors"
    result = train_command("toy", "toy", "toy", out, bar=True, report=interrupt, **SMALL)
    assert result["reason"] == "stopped"
    assert "Stopped as asked" in result["sentence"]
    assert result["step"] in (5, 6)
    assert load_model(out).card["ended"] == "stopped"
    assert signal.getsignal(signal.SIGINT) is before
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Stopped as asked" in shown.err


def test_training_as_a_job_is_steered_and_gives_the_same_model(tmp_path: Path) -> None:
    here, there = tmp_path / "here.safetensors", tmp_path / "there.safetensors"
    train_command("toy", "toy", "toy", here, **SMALL)
    threads = threading.active_count()
    with Job(train_toy, {"data": "toy", "out": str(there), **SMALL}) as job:
        job.send({"do": "pause"})
        seen: list[dict[str, Any]] = []
        deadline = time.monotonic() + 60
        while not any(message["state"] == "paused" for message in seen):
            seen += job.messages()
            assert job.poll() == "running"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        job.send({"do": "resume"})
        assert job.wait(60) == "done"
        seen += job.messages()
        assert job.result["reason"] == "finished"
        assert threading.active_count() == threads
    assert [message["step"] for message in seen if message["state"] == "running"] == list(range(1, 29))
    assert load_model(there).tensors["weight"].tolist() == load_model(here).tensors["weight"].tolist()
