"""The window: PySide6 and pyqtgraph, no mathematics."""

import ctypes
import sys

# PySide6 6.12.0 returns None, True and False without taking a reference, which is right from Python 3.12 on, where they
# are immortal. On 3.11 a few hundred emits use up True, some thousand painter calls (seconds of a moving curve) use up
# None, and the interpreter aborts. Counts that no session can use up mend it.
if sys.version_info < (3, 12) and sys.implementation.name == "cpython":
    for _singleton in (None, True, False, NotImplemented, Ellipsis):
        ctypes.c_ssize_t.from_address(id(_singleton)).value += 1 << 48
