"""The command line. Thin: parses, calls, prints. torch and Qt are imported by the command that needs them."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from mrfstudio import __version__
from mrfstudio.cli import batch, bench, data, desktop, evaluate, infer, inpaint, lesson, replay, segment, tour, train
from mrfstudio.cli.shared import DONE, INTERNAL, INTERRUPTED, REFUSED, Parser, is_link
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.log import setup_logging

COMMANDS = {
    "infer": infer.add,
    "segment": segment.add,
    "inpaint": inpaint.add,
    "batch": batch.add,
    "train": train.add,
    "evaluate": evaluate.add,
    "replay": replay.add,
    "lesson": lesson.add,
    "data": data.add,
    "bench": bench.add,
    "tour": tour.add,
    "desktop": desktop.add,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of `mrfstudio`; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_file = bool(given) and given[0] not in COMMANDS and not given[0].startswith("-")
    parser = _window_parser() if is_file else _parser()
    is_known = not is_file or is_link(given[0]) or Path(given[0]).exists()
    if not is_known and (near := get_close_matches(given[0], COMMANDS, n=1)):
        parser.error(f"there is no command or file {given[0]!r}: did you mean {near[0]}?")
    options, unknown = parser.parse_known_args(given)
    if unknown and not getattr(options, "open_options", False):
        parser.error(f"unrecognised arguments: {' '.join(unknown)}")
    options.unknown = unknown
    setup_logging()
    try:
        return int(options.run(options))
    except StudioError as error:
        print(f"mrfstudio: {error}", file=sys.stderr)
        return REFUSED
    except MemoryError:
        print("mrfstudio: not enough memory for this input: use a smaller one.", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("mrfstudio: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as in `mrfstudio infer … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception:
        logging.getLogger(__name__).exception("internal error in: mrfstudio %s", " ".join(given))
        traceback.print_exc()
        print("mrfstudio: this is a fault of the program, not of your input; the log has the details.", file=sys.stderr)
        return INTERNAL


def _open_window(options: argparse.Namespace) -> int:
    from mrfstudio.engine.protocol.requests.studio import OpenLink
    from mrfstudio.ui.window.app import open_window

    if options.file is not None and is_link(str(options.file)):
        return open_window(shown=OpenLink(str(options.file)))
    return open_window(options.file)


def _window_parser() -> Parser:
    parser = Parser(prog="mrfstudio")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.set_defaults(run=_open_window)
    return parser


def _parser() -> Parser:
    parser = Parser(
        prog="mrfstudio",
        description="A laboratory for Markov random fields. Without a command: the window, on FILE if one is given.",
        usage="mrfstudio [FILE] | mrfstudio COMMAND …",
    )
    parser.add_argument("--version", action="version", version=f"mrfstudio {__version__}")
    parser.set_defaults(run=_open_window, file=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser, prog="mrfstudio")
    for add in COMMANDS.values():
        add(commands)
    return parser
