"""Where a person's own files lie: runs, models, unsaved work, downloads, the log, what the window remembers.

In the system's places, or all of them in one folder that can be carried about (portable): a folder `mrfstudio-data`
beside the program, or the one that `MRFSTUDIO_HOME` names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOME = "MRFSTUDIO_HOME"
"""The variable that names the folder, for a test or a disk with more room."""
PORTABLE = "mrfstudio-data"


def portable_folder() -> Path | None:
    """The folder for everything, if there is one: as the variable says, or beside the bundle or the checkout."""
    given = os.environ.get(HOME)
    if given:
        return Path(given).expanduser()
    beside = Path(sys.executable if getattr(sys, "frozen", False) else Path(__file__).parents[1] / "x").parent
    return beside / PORTABLE if (beside / PORTABLE).is_dir() else None


def user_folder(*parts: str) -> Path:
    """A folder for a person's work. It may not exist yet."""
    found = portable_folder()
    if found is not None:
        return found.joinpath(*parts)
    import platformdirs

    return Path(platformdirs.user_data_dir("mrfstudio", appauthor=False)).joinpath(*parts)


def cache_folder() -> Path:
    """For what can be fetched again."""
    found = portable_folder()
    if found is not None:
        return found / "cache"
    import platformdirs

    return Path(platformdirs.user_cache_dir("mrfstudio", appauthor=False))


def log_folder() -> Path:
    """For the log files."""
    found = portable_folder()
    if found is not None:
        return found / "log"
    import platformdirs

    return Path(platformdirs.user_log_dir("mrfstudio", appauthor=False))


def settings_file() -> Path | None:
    """What the window remembers, where that is not the system's own place."""
    found = portable_folder()
    return None if found is None else found / "settings.ini"
