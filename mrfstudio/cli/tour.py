"""`mrfstudio tour`: every workspace as pictures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "tour",
        help="render every workspace to PNG, no display needed",
        description="Walk through every workspace in both themes, in a window that nobody sees, and save pictures.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the pictures")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.ui.export.tour import render

    for path in render(options.out):
        print(path)
    return DONE
