"""Settings of every test run."""

import os
import sys
from collections.abc import Iterator

import pytest

# Before Qt is loaded: the tests need no display, and must not open windows on one.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(scope="session", autouse=True)
def _own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands that tests run, in this process or another, leave no lines in the person's own log (on Linux) and no
    runs or models among the person's own."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    os.environ["MRFSTUDIO_HOME"] = str(tmp_path_factory.mktemp("home"))
    # Jobs that tests wait for do not step back behind the tests beside them.
    os.environ["MRFSTUDIO_NICE"] = "0"


@pytest.fixture(autouse=True)
def _floats_as_they_were() -> Iterator[None]:
    """Training flushes subnormal numbers to zero, for the whole thread; the next test expects all of them."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)
