"""The window: PySide6 and pyqtgraph, no mathematics."""

import ctypes
import sys
from types import ModuleType
from typing import Any

import PySide6.QtCore  # noqa: F401  what is mended below comes with it

# PySide6 6.12.0 returns None, True and False without taking a reference, which is right from Python 3.12 on, where they
# are immortal. On 3.11 a few hundred emits use up True, some thousand painter calls (seconds of a moving curve) use up
# None, and the interpreter aborts. Counts that no session can use up mend it.
if sys.version_info < (3, 12) and sys.implementation.name == "cpython":
    for _singleton in (None, True, False, NotImplemented, Ellipsis):
        ctypes.c_ssize_t.from_address(id(_singleton)).value += 1 << 48

# PySide6 reads the source of every module that is imported after it, to find out whether it uses Qt: in one that does,
# Qt's names can be spelt another way. With torch these are 800 files, 0.15 s and 40 MB of the start.
_WITHOUT_QT = frozenset(("torch", "numpy", "scipy", "sympy", "mpmath", "networkx", "skimage"))


def _spare_libraries(feature: Any) -> None:
    """Let `feature`, PySide's own module, look into no source of libraries that know nothing of Qt."""
    look = feature._mod_uses_pyside

    def uses_qt(module: ModuleType) -> bool:
        return module.__name__.partition(".")[0] not in _WITHOUT_QT and look(module)

    feature._mod_uses_pyside = uses_qt


_spare_libraries(sys.modules["shibokensupport.feature"])
