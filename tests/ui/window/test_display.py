"""A display that is named but not there is said in a sentence, before Qt ends the program."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.ui.window import display
from tests.places import ROOT


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "sys", SimpleNamespace(platform="linux"))
    for name in ("WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":7654")


def test_a_display_that_answers_is_one(linux: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_answers", lambda: True)
    assert display.has_display()


def test_one_that_does_not_is_named(linux: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_answers", lambda: False)
    with pytest.raises(StudioError, match=r"The display :7654 does not answer"):
        display.has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")  # X is not asked there
    assert display.has_display()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X servers are asked on Linux")
def test_the_command_says_so_and_ends_with_2() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY")}
    env |= {"DISPLAY": ":7654", "PYTHONPATH": str(ROOT)}
    told = subprocess.run([sys.executable, "-m", "mrfstudio"], capture_output=True, text=True, env=env)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("mrfstudio: The display :7654 does not answer")
