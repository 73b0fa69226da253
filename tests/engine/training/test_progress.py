"""What a run tells: records, curves and the bar."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from mrfstudio.engine.training.progress import with_bar
from tests.engine.helpers.toy import toy_trainer
from tests.engine.helpers.training import finish


def test_records_cannot_be_changed_and_are_ready_for_json() -> None:
    record = finish(toy_trainer())[6]
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.loss = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        record.validation["nce_bits"] = 0.0  # type: ignore[index]
    told = json.loads(json.dumps(record.as_json(), allow_nan=False))
    assert told["loss"] == record.loss
    assert told["validation"] == dict(record.validation) != {}
    assert told["extras"]["mean_point"] == record.extras["mean_point"]


def test_curves_are_written_as_csv_and_json_with_one_row_a_step(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    records = finish(toy_trainer(path))
    with open(tmp_path / "m.curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == [record.loss for record in records[:-1]]
    assert [row["validation/nce_bits"] != "" for row in rows] == [step % 7 == 0 for step in range(1, 29)]
    told = json.loads((tmp_path / "m.curves.json").read_text())
    assert told["loss_unit"] == "bits"
    assert told["columns"]["validation/nce_bits"][0] is None
    assert told["columns"]["gradient_norm"] == [float(row["gradient_norm"]) for row in rows]


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_shows_loss_metric_and_rate_and_passes_all_records_on(
    terminal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=160)
    records = list(with_bar(toy_trainer().run(), "bits", console))
    assert len(records) == 29
    shown = text.getvalue()
    for words in ("loss 0.", "bits", "nce_bits 0.", "images/s", "kept the parameters of step"):
        assert words in shown
    assert capsys.readouterr().out == ""
