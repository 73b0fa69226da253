"""Model files: what is written is read, and every damaged or foreign file gets one sentence."""

from __future__ import annotations

import json
import math
import os
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from mrfstudio import assets
from mrfstudio.engine.files import model_file
from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.files.model_card import write_card
from mrfstudio.engine.files.model_file import ModelFileError, beside, load_model, read_card, save_model, shipped_models
from tests.places import ROOT

CARD: dict[str, Any] = {
    "seed": 3,
    "command": "mrfstudio train toy --out toy.safetensors",
    "scores": {"test": {"iou": 0.95, "nce_bits": math.nan}},
    "hyperparameters": {"clones": 16, "tied": True, "labels": ["IN", "OUT"]},
    "training_seconds": 12.5,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good model file."""
    tensors = {"weight": torch.randn(4, 3).t(), "half": torch.ones(2, dtype=torch.float16), "n": torch.tensor(7)}
    return save_model(tmp_path / "toy.safetensors", "toy", tensors, CARD)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shipped models with one in it."""
    monkeypatch.setattr(assets, "folder", lambda kind: tmp_path / kind)
    models = tmp_path / "assets" / "models"
    models.mkdir(parents=True)
    save_model(models / "grid-border-16.safetensors", "grid", {"w": torch.ones(1)}, {})
    save_model(models / "grid-border-16.train.safetensors", "training-state", {"w": torch.ones(1)}, {})
    return models


def rewritten(path: Path, **changes: Any) -> None:
    """Write the file again with some of its JSON description changed."""
    found = load_model(path)
    described = {"format_version": 1, "kind": "toy", "card": found.card}
    described["shapes"] = {name: list(tensor.shape) for name, tensor in found.tensors.items()}
    save_file(found.tensors, path, {"mrfstudio": json.dumps({**described, **changes})})


def refusal(path: str | os.PathLike[str], kind: str | None = None) -> str:
    """The one sentence with which a file is refused."""
    with pytest.raises(ModelFileError) as caught:
        load_model(path, kind)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return sentence


def test_a_saved_model_is_read_back_with_its_card(path: Path) -> None:
    found = load_model(path, "toy")
    assert (found.kind, found.version, found.path) == ("toy", 1, path)
    assert found.tensors["weight"].shape == (3, 4)
    assert found.tensors["half"].dtype == torch.float16
    assert found.tensors["n"].item() == 7
    assert found.card["hyperparameters"] == CARD["hyperparameters"]
    assert found.card["scores"]["test"] == {"iou": 0.95, "nce_bits": None}


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX file modes")
def test_a_model_is_as_readable_as_any_new_file(path: Path) -> None:
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_tensors_that_share_memory_are_saved(tmp_path: Path) -> None:
    base = torch.arange(6.0)
    path = save_model(tmp_path / "m.safetensors", "toy", {"all": base, "part": base[::2]}, {})
    assert load_model(path).tensors["part"].tolist() == [0.0, 2.0, 4.0]


def test_a_card_is_read_without_torch(path: Path) -> None:
    code = (
        "import sys; from mrfstudio.engine.files.model_file import read_card; "
        f"print(read_card({str(path)!r}).card['seed']); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_missing_files_and_unknown_names_are_told_apart(shipped: Path, tmp_path: Path) -> None:
    assert shipped_models() == ["grid-border-16"]
    assert load_model("grid-border-16").kind == "grid"
    assert "did you mean 'grid-border-16'?" in refusal("grid-boarder-16")
    assert "does not exist" in refusal(tmp_path / "none.safetensors")
    assert "is a folder" in refusal(tmp_path)


def test_no_shipped_models_is_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "folder", lambda kind: tmp_path / "nowhere")
    assert shipped_models() == []
    assert "There is no model 'grid'" in refusal("grid")


def test_every_truncation_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 13), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert str(path) in refusal(path)


def test_every_flipped_byte_of_the_header_is_refused_or_harmless(path: Path) -> None:
    whole = path.read_bytes()
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    refused = 0
    for position in range(0, header, 3):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x15]) + whole[position + 1 :])
        try:
            load_model(path)
        except ModelFileError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 a zip",
        b"\x80\x04\x95 a pickle",
        random.Random(0).randbytes(4096),
        b"\xff" * 64,
        b"{}",
        b"\x02" + b"\0" * 7 + b"[]",
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.safetensors"
    path.write_bytes(content)
    assert "not a model file" in refusal(path)


def test_a_huge_promised_size_takes_no_memory(tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    path = tmp_path / "huge.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    assert "cut short" in refusal(path)


def test_tensors_of_another_program_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"w": torch.ones(2)}, path, {"format": "pt"})
    assert "no description by MRF Studio" in refusal(path)


def test_a_wrong_kind_is_refused_by_name(path: Path) -> None:
    assert "holds a model of kind 'toy': expected one of kind 'grid'" in refusal(path, "grid")


def test_a_newer_version_is_refused(path: Path) -> None:
    rewritten(path, format_version=99)
    assert "format version 99" in refusal(path)
    assert "update" in refusal(path)


def test_shapes_that_contradict_the_description_are_refused(path: Path) -> None:
    rewritten(path, shapes={"weight": [3, 5], "half": [2], "n": []})
    assert "tensor 'weight'" in refusal(path)


def test_a_tensor_without_a_shape_that_nobody_described_is_refused(path: Path) -> None:
    length = int.from_bytes(path.read_bytes()[:8], "little")
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + length])
    header["more"] = {"dtype": "F32", "shape": None, "data_offsets": [0, 0]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    assert "tensor 'more'" in refusal(path)


def test_an_older_version_is_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten(path, format_version=0, card={"random_seed": 5})
    assert "format version 0" in refusal(path)

    def rename(described: dict[str, Any]) -> dict[str, Any]:
        return {**described, "card": {"seed": described["card"]["random_seed"]}}

    monkeypatch.setitem(model_file.MIGRATIONS, 0, rename)
    found = load_model(path)
    assert (found.card, found.version) == ({"seed": 5}, 0)


# ---- writing ----


def test_a_failed_write_leaves_the_old_model_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ModelFileError, match=r"cannot be written \(No space left on device\)"):
        save_model(path, "toy", {"w": torch.ones(1)}, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file or directory"):
        save_model(tmp_path / "none" / "m.safetensors", "toy", {"w": torch.ones(1)}, {})


def test_a_block_that_fails_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"

    def write(text: str, *, fail: bool) -> None:
        with atomic_path(target) as temporary:
            temporary.write_text(text)
            assert temporary.parent == tmp_path
            if fail:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write("half", fail=True)
    assert list(tmp_path.iterdir()) == []
    write("whole", fail=False)
    with pytest.raises(KeyboardInterrupt):
        write("half", fail=True)
    assert target.read_text() == "whole"


def test_companions_lie_beside_the_model() -> None:
    assert beside("a/toy.safetensors", ".train.safetensors") == Path("a/toy.train.safetensors")
    assert beside("a/toy.v2", ".md") == Path("a/toy.v2.md")


def test_the_card_page_tells_command_seed_time_and_scores(path: Path) -> None:
    page = write_card(path)
    assert page == path.with_name("toy.md")
    text = page.read_text()
    assert text.startswith("# toy\n")
    for line in (
        "| command | `mrfstudio train toy --out toy.safetensors` |",
        "| seed | 3 |",
        "| training seconds | 12.5 |",
        "| test: iou | 0.95 |",
        "| test: nce bits | – |",
        "| tied | yes |",
        "| labels | IN, OUT |",
    ):
        assert line in text.splitlines()
    assert read_card(path).card["seed"] == 3
