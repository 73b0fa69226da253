"""The log file, and what happens when there cannot be one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrfstudio import log


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Logging begins as in a new process and leaves nothing behind."""
    log._said.clear()
    logging.captureWarnings(False)
    yield
    log._install([], logging.NOTSET)
    logging.captureWarnings(False)


def test_records_and_warnings_go_into_the_file_and_not_onto_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = log.setup_logging(folder=tmp_path / "new" / "logs")
    assert path is not None
    logging.getLogger("mrfstudio.engine").info("parsed %d factors", 12)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("from a library", UserWarning, stacklevel=1)
    text = path.read_text(encoding="utf-8")
    assert "INFO mrfstudio.engine: parsed 12 factors" in text
    assert "from a library" in text
    assert capsys.readouterr() == ("", "")


def test_verbose_shows_debugging_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log.setup_logging(verbose=True, folder=tmp_path)
    logging.getLogger("mrfstudio").debug("a detail")
    assert "a detail" in capsys.readouterr().err


def test_calling_twice_writes_every_line_once(tmp_path: Path):
    log.setup_logging(folder=tmp_path)
    path = log.setup_logging(folder=tmp_path)
    assert path is not None
    logging.getLogger("mrfstudio").info("only once")
    assert path.read_text(encoding="utf-8").count("only once") == 1


def test_the_file_rotates_and_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log, "LARGEST_FILE", 2000)
    log.setup_logging(folder=tmp_path)
    for number in range(200):
        logging.getLogger("mrfstudio").info("line %d", number)
    files = sorted(tmp_path.glob("mrfstudio.log*"))
    assert [file.name for file in files] == ["mrfstudio.log", "mrfstudio.log.1", "mrfstudio.log.2"]
    assert all(file.stat().st_size <= 2000 for file in files)
    assert "line 199" in files[0].read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_said_once_and_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").touch()
    for _ in range(2):
        assert log.setup_logging(folder=tmp_path / "file" / "logs") is None
    logging.getLogger("mrfstudio").info("not shown")
    logging.getLogger("mrfstudio").warning("shown instead")
    error = capsys.readouterr().err
    assert error.count("cannot be written") == 1
    assert "shown instead" in error
    assert "not shown" not in error


def test_a_disk_that_fills_up_is_said_once_and_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log.setup_logging(folder=tmp_path)

    def full(text: str) -> int:
        raise OSError(28, "No space left on device")

    for handler in log._handlers:
        handler.stream.write = full  # type: ignore[attr-defined]
    for _ in range(3):
        logging.getLogger("mrfstudio").info("lost")
    error = capsys.readouterr().err
    assert error.count("No space left on device") == 1
    assert "Traceback" not in error


CRASH = """
import ctypes, faulthandler, pathlib, sys
from mrfstudio.log import setup_logging
if sys.argv[2:]:
    faulthandler.enable()
setup_logging(folder=pathlib.Path(sys.argv[1]))
def the_guilty_one(): ctypes.string_at(0)
the_guilty_one()
"""


def crash(folder: Path, *arguments: str) -> str:
    """What a crashing interpreter writes to standard error."""
    command = [sys.executable, "-c", CRASH, str(folder), *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONFAULTHANDLER"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode != 0
    return result.stderr


def test_a_crash_of_the_interpreter_leaves_its_stack_in_the_folder(tmp_path: Path):
    assert "the_guilty_one" not in crash(tmp_path)
    assert "the_guilty_one" in (tmp_path / "crash.log").read_text(encoding="utf-8")


def test_who_asked_for_crash_reports_on_the_terminal_gets_them_there(tmp_path: Path):
    assert "the_guilty_one" in crash(tmp_path, "enabled before")
