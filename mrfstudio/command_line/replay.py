"""`mrfstudio replay`: a saved session, computed again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mrfstudio.command_line.shared import DONE, add_json, print_json


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "replay",
        help="compute a saved session again",
        description="Replay every command of a session at the iteration it was given, and say whether the messages "
        "come out as they were saved.",
    )
    parser.add_argument("session", type=Path, metavar="SESSION", help="a session file (.mrfs) that the window saved")
    parser.add_argument(
        "--animation", type=Path, metavar="FILE", help="also draw every iteration into one .gif or .webp file"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.replay import replay_session

    result = replay_session(options.session)
    if options.animation is not None:
        from mrfstudio.ui.film import film

        film(options.session, options.animation)
        result["animation"] = str(options.animation)
    if not print_json(options.json, result):
        print(f"{result['session']}: {result['commands']} commands, {result['iterations']} iterations")
        for lane in result["lanes"]:
            same = {True: "the same messages", False: "other messages than were saved", None: "no messages saved"}
            verdict = same[lane["same_messages"]]
            print(
                f"  {lane['model']}, {lane['algorithm']}: {lane['status']} at iteration {lane['iterations']}, {verdict}"
            )
        if options.animation is not None:
            print(f"  every iteration is in {options.animation}")
    return DONE
