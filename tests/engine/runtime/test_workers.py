"""Processes of a pool end with the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.places import ROOT

PARENT = """
import os
import time
from mrfstudio.engine.runtime.workers import process_pool

if __name__ == "__main__":
    with process_pool(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""
PATIENCE = 120.0


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        return sys.platform != "linux" or "zombie" not in Path(f"/proc/{process}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_worker_does_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=environment, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert alive(worker)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        end = time.monotonic() + PATIENCE
        while alive(worker) and time.monotonic() < end:
            time.sleep(0.02)
        assert not alive(worker)
