"""`mrfstudio desktop`: MRF Studio in the menu of a Linux desktop, and its files opened by a double click."""

from __future__ import annotations

import argparse
from typing import Any

from mrfstudio.cli.shared import DONE


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "desktop",
        help="add MRF Studio to the menu of a Linux desktop",
        description="Write an entry for the menu, the icon and the file types .mrfs, .uai and .fg into your own "
        "folder, so that a double click opens them.",
    )
    parser.add_argument("--remove", action="store_true", help="take all of it away again")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.desktop import install, remove

    paths = remove() if options.remove else install()
    for path in paths:
        print(f"{'removed' if options.remove else 'written'}: {path}")
    return DONE
