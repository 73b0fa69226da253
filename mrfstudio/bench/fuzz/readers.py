"""Every reader of files, with whole files to begin with. What a reader opens is also used, as the window would."""

from __future__ import annotations

from pathlib import Path

from mrfstudio.bench.fuzz.graph_files import graph_readers
from mrfstudio.bench.fuzz.model_files import model_readers, run_readers
from mrfstudio.bench.fuzz.picture_and_data_files import data_readers, picture_readers
from mrfstudio.bench.fuzz.reader import Reader
from mrfstudio.bench.fuzz.session_files import session_readers


def all_readers(folder: Path) -> list[Reader]:
    """All of them; `folder` is a place for files that whole ones are made from."""
    sessions, runs, models = session_readers(folder), run_readers(folder), model_readers(folder)
    return [*sessions, *runs, *models, *graph_readers(), *data_readers(), *picture_readers()]
