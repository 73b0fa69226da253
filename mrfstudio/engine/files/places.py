"""Where a person's own work lies: training runs and the models taken from them."""

from __future__ import annotations

import os
from pathlib import Path

HOME = "MRFSTUDIO_HOME"
"""The variable that names another folder, for a test or a disk with more room."""


def user_folder(*parts: str) -> Path:
    """A folder in the system's place for a program's data, or in what `MRFSTUDIO_HOME` says. It may not exist yet."""
    given = os.environ.get(HOME)
    if given:
        return Path(given).expanduser().joinpath(*parts)
    import platformdirs

    return Path(platformdirs.user_data_dir("mrfstudio", appauthor=False)).joinpath(*parts)
