"""A family that another package brings: `tests/toy_family` is its folder and what an installer would write beside it.

Nothing of the studio knows it. It is trained and evaluated by command, and opened in the window.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT, TOY_FAMILY

DATA = ["--data", "glyphs", "--count", "200", "--validation", "50", "--test", "50"]


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the package is installed."""
    path = os.pathsep.join([str(ROOT), str(TOY_FAMILY)])
    environment = {**os.environ, "PYTHONPATH": path, "QT_QPA_PLATFORM": "offscreen", **variables}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, cwd=ROOT)


def answer(*words: str) -> Any:
    done = run("-m", "mrfstudio", *words, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("coins") / "coins.safetensors")
    result = answer("train", "coins", "--learner", "query", *DATA, "--epochs", "6", "--start", "0.5", "--out", path)
    assert (result["model"], result["reason"], result["step"]) == (path, "finished", 120)
    return path


def test_it_is_trained_and_evaluated_by_command(coins: str) -> None:
    result = answer("evaluate", coins, *DATA, "--limit", "40")
    assert result["images"] == 40
    # Untrained coins cost more than a bit; those that know how often each pixel is white less than half of one.
    assert 0.3 < result["nce_bits"] < 0.5


def test_a_learner_that_needs_more_than_it_has_refuses_it(coins: str) -> None:
    done = run("-m", "mrfstudio", "train", "coins", "--learner", "cd", *DATA, "--out", coins)
    assert done.returncode == 2
    assert "cd cannot train a coins" in done.stderr


def test_it_fills_in_pictures_by_command(coins: str, tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    from mrfstudio.engine.files.images import write_image

    picture, mask = tmp_path / "picture.png", tmp_path / "mask.png"
    write_image(picture, np.zeros((28, 28), np.float32))
    write_image(mask, np.ones((28, 28), np.float32))
    result = answer("inpaint", str(picture), "--mask", str(mask), "--model", coins)
    assert (result["kind"], result["unknown"]) == ("coins", 28 * 28)
    assert result["mean"][0][0] < 0.1 < max(map(max, result["mean"]))


def test_it_is_opened_in_the_window(coins: str) -> None:
    inside = ROOT / "tests" / "ui" / "workspaces" / "inpaint" / "toy_family_in_window.py"
    done = run("-m", "pytest", str(inside), "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", COINS=coins)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
