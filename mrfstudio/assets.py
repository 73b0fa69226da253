"""Finds the files that ship with the project: trained models, icons, lessons, documentation.

The one place that knows where they are: inside an installed package in `_assets` and `_docs`, in a checkout (also
one installed with `pip install -e .`) in `assets` and `docs` beside the package.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from mrfstudio.engine.protocol.errors import StudioError

PACKAGE = Path(__file__).resolve().parent


class AssetNotFound(StudioError, FileNotFoundError):
    """A shipped file that does not exist. `str()` is one sentence for a person."""


def asset(*parts: str) -> Path:
    """The path of a shipped file or folder: `asset("models", "rbm-mnist.safetensors")`."""
    return _find("assets", *parts)


def doc(name: str) -> Path:
    """The path of a page of the documentation: `doc("architecture.md")`."""
    return _find("docs", name)


def folder(kind: str) -> Path:
    """Where the shipped files of a kind (`assets` or `docs`) are."""
    installed = PACKAGE / f"_{kind}"
    return installed if installed.is_dir() else PACKAGE.parent / kind


def _find(kind: str, *parts: str) -> Path:
    base = folder(kind)
    path = base.joinpath(*parts)
    # A name that a person typed may climb out with `..` or be absolute: only what ships is found here.
    if path.exists() and path.resolve().is_relative_to(base.resolve()):
        return path
    raise AssetNotFound(f"No file {'/'.join(parts)!r} ships with MRF Studio{_near(base, '/'.join(parts))}.")


def _near(base: Path, given: str) -> str:
    """How the sentence ends: near names, or else all the names of the folder that was meant."""
    if not base.is_dir():
        return f": its folder {str(base)!r} is missing, so install the project again"
    names = sorted(path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file())
    near = difflib.get_close_matches(given, names, n=3)
    if near:
        return "; near names are " + ", ".join(near)
    return "; there are " + ", ".join(names[:12]) + (" and more" if len(names) > 12 else "") if names else ""
