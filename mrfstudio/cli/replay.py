"""`mrfstudio replay`: a saved session, computed again."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, is_link, print_json


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "replay",
        help="compute a saved session again",
        description="Replay every command of a session at the iteration it was given, and say whether the messages "
        "come out as they were saved.",
    )
    parser.add_argument(
        "session", type=Path, metavar="SESSION", help="a session file (.mrfs) that the window saved, or a link (mrfs:…)"
    )
    parser.add_argument(
        "--animation", type=Path, metavar="FILE", help="also draw every iteration into one .gif or .webp file"
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="also write one .html file that plays the run in any browser, without a network",
    )
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="also draw the curves for paper, as .pdf, .svg or .png, and a .csv"
    )
    parser.add_argument("--width", type=float, default=85.0, metavar="MM", help="of the figure (default 85)")
    parser.add_argument("--lesson", default="", metavar="NAME", help="a lesson whose text the page is to have")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if not is_link(str(options.session)):
        return _replay(options, options.session)
    from mrfstudio.engine.files.links import opened

    return opened(str(options.session), lambda path: _replay(options, path))


def _replay(options: argparse.Namespace, path: Path) -> int:
    """Replay the file at `path`, which is that of the link where one was given."""
    from mrfstudio.engine.tasks.replay import replay_session

    result = {**replay_session(path), "session": str(options.session)}
    if options.animation is not None:
        from mrfstudio.ui.export.headless import film

        film(path, options.animation)
        result["animation"] = str(options.animation)
    if options.page is not None:
        from mrfstudio.engine.tasks.page import write_page

        lines, title = _lesson(options.lesson)
        result["page"] = str(options.page)
        result["page_bytes"] = write_page(path, options.page, lines, title)
    if options.figure is not None:
        from mrfstudio.engine.tasks.page import run_of_file
        from mrfstudio.ui.export.headless import draw_figure

        given = str(options.session) if is_link(str(options.session)) else path.name
        words = ["mrfstudio", "replay", given, "--figure", options.figure.name]
        command = shlex.join([*words, "--width", f"{options.width:g}"])
        draw_figure(run_of_file(path), options.figure, options.width, command)
        result["figure"] = str(options.figure)
    if not print_json(options.json, result):
        print(f"{_name(options.session)}: {result['commands']} commands, {result['iterations']} iterations")
        for lane in result["lanes"]:
            same = {True: "the same messages", False: "other messages than were saved", None: "no messages saved"}
            verdict = same[lane["same_messages"]]
            print(
                f"  {lane['model']}, {lane['algorithm']}: {lane['status']} at iteration {lane['iterations']}, {verdict}"
            )
            if lane["numbers"]:
                print("    " + ", ".join(f"{name} {value:.6g}" for name, value in lane["numbers"].items()))
        if options.animation is not None:
            print(f"  every iteration is in {options.animation}")
        if options.page is not None:
            print(f"  the run is a web page, {result['page_bytes'] / 1e6:.2f} MB: {options.page}")
        if options.figure is not None:
            print(f"  its curves are in {options.figure}")
    return DONE


def _name(session: Path) -> str:
    """What a session is called in a line."""
    return "link" if is_link(str(session)) else str(session)


def _lesson(name: str) -> tuple[tuple[str, ...], str]:
    """The words of a lesson and its title; none where no lesson was named."""
    if not name:
        return (), ""
    from mrfstudio.engine.files.lesson_file import read_lesson, shipped_lessons
    from mrfstudio.engine.protocol.errors import StudioError

    shipped = {lesson.name: lesson for lesson in shipped_lessons()}
    if name not in shipped and not Path(name).exists():
        raise StudioError(f"There is no lesson {name!r}: expected a file, or one of {', '.join(shipped)}.")
    lesson = shipped[name] if name in shipped else read_lesson(Path(name))
    return tuple(line for step in lesson.steps for line in (step.say, step.praise) if line), lesson.title
