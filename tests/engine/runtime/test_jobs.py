"""Jobs: messages in order, one sentence for a failure, and nothing that outlives a cancel or its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrfstudio.engine.runtime.jobs import Job
from tests.engine.helpers import job_work
from tests.places import ROOT

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and locks")
LONG = 60.0
"""Far longer than anything here takes: only a hanging test ever waits so long."""


def test_only_a_function_of_a_module_can_be_imported_by_a_child() -> None:
    with pytest.raises(ValueError, match="of its own"):
        Job(lambda: None, {})


def work(name: str, **arguments: Any) -> Job:
    return Job(getattr(job_work, name), arguments)


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something true, and give it."""
    deadline = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return found


def is_free(path: Path) -> bool:
    """Whether no living process holds the lock on a file."""
    import fcntl

    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_a_job_returns_what_its_function_returns() -> None:
    with work("add", a=2, b=3) as job:
        assert job.poll() == "running"
        assert job.wait(LONG) == "done"
        assert job.result == 5
        assert job.error == ""


def test_all_messages_arrive_in_order_even_if_nobody_looks_until_the_end() -> None:
    with work("count", to=5000) as job:
        assert job.wait(LONG) == "done"
        assert [message["number"] for message in job.messages()] == list(range(5000))
        assert job.messages() == []
        assert job.result == "counted"


def test_other_output_is_logged_and_never_taken_for_a_message() -> None:
    with work("chatter") as job:
        assert job.wait(LONG) == "done"
        assert job.messages() == [{"number": 1}]
        for line in ("a line on standard output", "a warning", "no end of line"):
            assert line in job.log


def test_threads_of_a_job_are_few_and_do_not_spin() -> None:
    with work("environment") as job:
        assert job.wait(LONG) == "done"
        assert job.result == {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


@pytest.mark.parametrize(
    ("name", "refused", "words"),
    [
        ("refuse", True, "alpha is 7: expected a number in (0, 1]."),
        ("break_down", False, "ZeroDivisionError: division by zero."),
        ("vanish", False, "The work ended unexpectedly (exit status 3); its last words were 'about to vanish'."),
    ],
)
def test_a_failure_is_one_sentence(name: str, refused: bool, words: str) -> None:
    with work(name) as job:
        assert job.wait(LONG) == "failed"
        assert job.error.startswith(words)
        assert "\n" not in job.error
        assert job.refused == refused


def test_a_fault_leaves_its_traceback_in_the_log() -> None:
    with work("break_down") as job:
        job.wait(LONG)
        assert any("in break_down" in line for line in job.log)


@pytest.mark.parametrize("name", ["hang", pytest.param("hang_deaf", marks=POSIX)])
def test_cancelling_returns_at_once_and_ends_the_child(name: str) -> None:
    with work(name) as job:
        until(job.messages)
        job.cancel()
        assert job.wait(LONG) == "cancelled"
        assert job.error == ""
        with pytest.raises(ProcessLookupError):
            os.kill(job.process_id, 0)  # not even a zombie is left


def test_a_job_cancelled_before_its_first_line_ends_too() -> None:
    with work("hang") as job:
        job.cancel()
        assert job.wait(LONG) == "cancelled"


def test_finished_files_survive_a_cancel(tmp_path: Path) -> None:
    with work("write_and_hang", path=str(tmp_path / "result.txt")) as job:
        until(job.messages)
        job.cancel()
        job.wait(LONG)
    assert [path.name for path in tmp_path.iterdir()] == ["result.txt"]
    assert (tmp_path / "result.txt").read_text() == "whole"


@POSIX
def test_cancelling_ends_what_the_child_started(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with work("hold_in_grandchild", path=str(path)) as job:
        until(job.messages)
        assert not is_free(path)
        job.cancel()
        job.wait(LONG)
        until(lambda: is_free(path))


@POSIX
def test_a_job_dies_with_its_parent_and_tidies_up(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = f"from tests.engine.helpers import job_work; job_work.parent_of_holder({str(path)!r})"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        folder = Path(parent.stdout.readline().strip())
        assert folder.is_dir()
        assert not is_free(path)
        parent.send_signal(signal.SIGKILL)
    until(lambda: is_free(path))
    until(lambda: not folder.exists())


def test_commands_reach_work_that_listens() -> None:
    with work("listen") as job:
        until(job.messages)
        for verb in ("pause", "resume", "stop"):
            job.send({"do": verb})
        assert job.wait(LONG) == "done"
        assert job.result == ["pause", "resume", "stop"]
        assert [message["do"] for message in job.messages()] == ["pause", "resume", "stop"]
        job.send({"do": "nobody listens any more"})


def test_a_job_leaves_no_thread_and_no_file() -> None:
    before = threading.active_count()
    with work("hang") as job:
        folder = Path(job._folder.name)
        until(job.messages)
        assert threading.active_count() == before
        assert folder.is_dir()
    assert not folder.exists()
