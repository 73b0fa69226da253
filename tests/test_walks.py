"""The walks of the architecture page pass the files that the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from PIL import Image, ImageDraw

from mrfstudio.cli import main
from tests.places import ROOT

PACKAGE = ROOT / "mrfstudio"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def walk(title: str) -> tuple[int, list[str]]:
    """How many files a walk says it passes, and those that it lists."""
    section = PAGE.split(f"### {title}\n", 1)[1].split("\n#", 1)[0]
    said = re.search(r": (\d+) files\.", section)
    assert said
    return int(said[1]), re.findall(r"^\d+\. `([\w/.]+)`", section, re.M)


@pytest.mark.parametrize("title", ["A brush stroke", "A training step", "A command"])
def test_a_walk_is_as_long_as_it_says(title: str) -> None:
    count, files = walk(title)
    assert len(files) == len(set(files)) == count


def passed(words: list[str]) -> set[str]:
    """The files of the package in which a function was called while a command ran."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_name != "<module>":  # an import alone is no walk
            found.add(frame.f_code.co_filename)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # threads that earlier tests have left would compute pieces of a batch unseen
    sys.setprofile(note)
    try:
        assert main(words) == 0
    finally:
        sys.setprofile(None)
        torch.set_num_threads(threads)
    return {Path(name).relative_to(PACKAGE).as_posix() for name in found if name.startswith(f"{PACKAGE}/")}


def test_a_command_walks_as_the_page_says(tmp_path: Path) -> None:
    drawing = Image.new("L", (30, 30), 255)
    ImageDraw.Draw(drawing).ellipse((6, 6, 23, 23), outline=0)
    drawing.save(tmp_path / "drawing.png")
    gone_through = passed(
        ["segment", str(tmp_path / "drawing.png"), "--iterations", "2", "--json", str(tmp_path / "a")]
    )
    assert set(walk("A command")[1]) - gone_through == set()


def test_a_training_step_walks_as_the_page_says(tmp_path: Path) -> None:
    words = "train grid --learner query --clones 4 --count 8 --validation 4 --test 1 --batch-size 4 --epochs 1"
    gone_through = passed([*words.split(), "--out", str(tmp_path / "small.safetensors")])
    assert set(walk("A training step")[1]) - gone_through == set()
