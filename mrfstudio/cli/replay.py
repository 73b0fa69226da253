"""`mrfstudio replay`: a saved session, computed again."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, is_link, print_json
from mrfstudio.engine.protocol.errors import StudioError


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
    figure = parser.add_argument_group("figure", "what --figure draws and how; *Export figure…* writes these options")
    figure.add_argument("--width", type=float, default=85.0, metavar="MM", help="of all of it (default 85)")
    figure.add_argument("--height", type=float, default=55.0, metavar="MM", help="of a row of plots (default 55)")
    figure.add_argument("--columns", type=int, default=1, metavar="N", help="plots beside each other (default 1)")
    figure.add_argument("--points", type=float, default=8.0, metavar="PT", help="size of letters (default 8)")
    figure.add_argument("--font", default="", metavar="NAME", help="of the letters")
    figure.add_argument("--dpi", type=int, default=300, metavar="N", help="resolution of a .png (default 300)")
    figure.add_argument(
        "--plots", default="", metavar="TITLES", help="plots of the window, such as 'residual:y=log;free energy'"
    )
    figure.add_argument("--canvas", default="", metavar="WxH", help="the canvas too, as on a screen of so many pixels")
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
        _draw(options, path)
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


def _draw(options: argparse.Namespace, path: Path) -> None:
    """The figure that is asked for, and beside it the line that makes it again."""
    from mrfstudio.ui.export.headless import draw_again, draw_figure
    from mrfstudio.ui.export.paper import Paper

    given = str(options.session) if is_link(str(options.session)) else path.name
    words = ["mrfstudio", "replay", given, "--figure", options.figure.name]
    sizes = options.width, options.height, options.columns, options.points, options.dpi
    if not all(size > 0 for size in sizes):
        raise StudioError("Width, height, columns, points and dpi of a figure are numbers above 0.")
    paper = Paper(*sizes[:3], options.font, *sizes[3:])
    for name in ("width", "height", "columns", "points", "dpi", "font", "plots", "canvas"):
        value = getattr(options, name)
        words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)] if value != "" else []
    command = shlex.join(words)
    if options.plots or options.canvas:
        draw_again(path, options.figure, paper, options.plots, options.canvas, command)
        return
    from mrfstudio.engine.tasks.page import run_of_file

    draw_figure(run_of_file(path), options.figure, paper, command)


def _name(session: Path) -> str:
    """What a session is called in a line."""
    return "link" if is_link(str(session)) else str(session)


def _lesson(name: str) -> tuple[tuple[str, ...], str]:
    """The words of a lesson and its title; none where no lesson was named."""
    if not name:
        return (), ""
    from mrfstudio.engine.files.lesson_file import read_lesson, shipped_lessons

    shipped = {lesson.name: lesson for lesson in shipped_lessons()}
    if name not in shipped and not Path(name).exists():
        raise StudioError(f"There is no lesson {name!r}: expected a file, or one of {', '.join(shipped)}.")
    lesson = shipped[name] if name in shipped else read_lesson(Path(name))
    return tuple(line for step in lesson.steps for line in (step.say, step.praise) if line), lesson.title
