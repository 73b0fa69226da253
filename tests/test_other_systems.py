"""What is written for Windows and macOS, with faked platforms: nobody has tried it there yet."""

from __future__ import annotations

import builtins
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import studio
from mrfstudio.engine.files import atomic
from mrfstudio.engine.runtime import jobs, memory
from mrfstudio.launcher import environment
from mrfstudio.ui.engine import engine_thread
from mrfstudio.ui.window import display
from tests.places import ROOT


@pytest.mark.parametrize(("system", "seen"), [("win32", True), ("darwin", True), ("linux", False)])
def test_only_linux_needs_a_variable_for_its_display(system: str, seen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(display, "sys", SimpleNamespace(platform=system))
    assert display.has_display() is seen


def test_windows_ends_a_job_without_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[str] = []
    job: Any = SimpleNamespace(_process=SimpleNamespace(kill=lambda: killed.append("kill")), process_id=1)
    monkeypatch.setattr(jobs, "os", SimpleNamespace(name="nt"))
    jobs.Job._signal_group(job, "SIGTERM")
    assert killed == ["kill"]


def test_windows_needs_no_flushed_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []

    def refuse(*given: Any) -> int:
        opened.append(given)
        raise PermissionError("Windows opens no folder")

    monkeypatch.setattr(atomic, "os", SimpleNamespace(name="nt", open=refuse))
    atomic._flush_folder(tmp_path)
    assert opened == []


def test_memory_is_guessed_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(*given: Any, **named: Any) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", no_file)
    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform="win32"))
    assert memory.available_bytes() == 4 * 2**30
    names = {"SC_PHYS_PAGES": 1}
    system = SimpleNamespace(sysconf_names=names, sysconf={"SC_PHYS_PAGES": 2**21, "SC_PAGE_SIZE": 4096}.__getitem__)
    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(memory, "os", system)
    assert memory.available_bytes() == 4 * 2**30  # half of 8 GB


@pytest.mark.parametrize(("system", "ending"), [("darwin", "dylib"), ("linux", "so"), ("win32", None)])
def test_torch_is_preloaded_by_the_systems_own_name(
    system: str, ending: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(engine_thread, "sys", SimpleNamespace(platform=system, modules={}))
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(engine_thread.importlib.util, "find_spec", lambda name: spec)

    def dlopen(path: bytes, mode: int) -> int:
        loaded.append(path.decode())
        return 1

    monkeypatch.setattr(engine_thread.ctypes, "CDLL", lambda path: SimpleNamespace(dlopen=dlopen))
    engine_thread._preload_torch()
    assert all(path.endswith(f".{ending}") for path in loaded)
    assert bool(loaded) is (ending is not None)


def test_windows_starts_the_studio_as_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def call(command: list[str]) -> int:
        calls.append(command)
        return 3

    monkeypatch.setattr(studio, "os", SimpleNamespace(name="nt"))
    monkeypatch.setattr(subprocess, "call", call)
    assert studio.become(["python.exe", "-m", "mrfstudio"]) == 3
    assert calls == [["python.exe", "-m", "mrfstudio"]]


def test_windows_has_its_interpreter_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "os", SimpleNamespace(name="nt", environ={}))
    assert environment.Environment(tmp_path).python == tmp_path / ".venv" / "Scripts" / "python.exe"


def test_every_pool_spawns_its_processes() -> None:
    """As Windows and macOS do by default: what works spawned works everywhere."""
    made = [
        (path.name, line)
        for path in (ROOT / "mrfstudio").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"ProcessPoolExecutor\(|get_context\(|\bPool\(", line)
    ]
    assert [name for name, _ in made] == ["workers.py"]  # one place makes pools
    assert 'get_context("spawn")' in made[0][1]


def test_no_name_of_a_file_has_letters_that_windows_forbids() -> None:
    """Times in names of files have no colons."""
    patterns = [
        pattern
        for path in (ROOT / "mrfstudio").rglob("*.py")
        for pattern in re.findall(r"/ f\"[^\"]*strftime\('([^']*)'\)", path.read_text(encoding="utf-8"))
    ]
    assert patterns
    assert [pattern for pattern in patterns if re.search(r'[:<>"|?*]', pattern)] == []


OPENED = """
import os
import sys
from pathlib import Path
from PySide6.QtGui import QFileOpenEvent
from mrfstudio.ui.window import app
from mrfstudio.ui.window.settings import Settings

application = app.make_app()
start = app.Startup(application, settings=Settings(Path(sys.argv[1], "settings.ini")), make_engine=lambda: None)
opened, begun = [], []
start.window.files.open = opened.append
start.window.after_first_paint = lambda file, shown: begun.append(file)
application.sendEvent(application, QFileOpenEvent(sys.argv[2]))
assert (opened, begun) == ([], [])
start._after_first_paint(None)
application.sendEvent(application, QFileOpenEvent(sys.argv[3]))
print(begun[0].name, opened[0].name, flush=True)
os._exit(0)  # the engine of this window is not there
"""


def test_macos_hands_over_files_before_and_after_the_window_is_there(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("first.uai", "second.mrfs")]
    command = [sys.executable, "-c", OPENED, str(tmp_path), *paths]
    told = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
    assert told.stdout.split() == ["first.uai", "second.mrfs"], told.stderr
