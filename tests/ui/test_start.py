"""What the window does before anything else is imported."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import linecache, sys
import mrfstudio.ui
import networkx
import pyqtgraph
flags = sys.modules["shibokensupport.feature"].pyside_feature_dict
read = {name for name in linecache.cache if "networkx" in name}
print(flags["networkx"], flags["pyqtgraph.Qt"], len(read))
"""


def test_qt_reads_no_source_of_libraries_that_know_nothing_of_it() -> None:
    """It would read all of torch's at every start. A library that does use Qt is still looked into: 0, not -1."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["-1", "0", "0"]
