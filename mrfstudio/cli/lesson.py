"""`mrfstudio lesson`: lessons as web pages for people without the program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, print_json


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "lesson",
        help="write lessons as web pages",
        description="Write a lesson as one HTML file that any browser plays, or a folder of lessons as a small site.",
    )
    parser.add_argument("lesson", metavar="NAME|FILE|FOLDER", help="a shipped lesson, a .mrfl file, a folder, or all")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.html|FOLDER", help="the page, or the site")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.tasks.lesson_page import lessons_named, write_lesson_page, write_site

    lessons = lessons_named(options.lesson)
    if options.out.suffix.lower() == ".html" and len(lessons) == 1:
        write_lesson_page(lessons[0], options.out)
        written = [options.out]
    else:
        written = write_site(lessons, options.out)
    size = sum(path.stat().st_size for path in written)
    names, pages = [lesson.name for lesson in lessons], [str(path) for path in written]
    if not print_json(options.json, {"lessons": names, "pages": pages, "bytes": size}):
        print(f"{len(lessons)} lesson{'s' * (len(lessons) > 1)}, {size / 1e6:.2f} MB: {written[0]}")
    return DONE
