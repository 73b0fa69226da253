"""What all commands share: JSON output, options made from parameter declarations, a status line."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

from mrfstudio.engine.protocol.catalogue import Field, ParameterError, ending
from mrfstudio.engine.protocol.errors import StudioError

DONE, INTERNAL, REFUSED, INTERRUPTED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """Errors in one line, with status 2; no guessing from abbreviations."""

    more_help: Callable[[argparse.Namespace], str] | None = None
    """What --help adds for the names that are given beside it, such as an algorithm's own options."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "allow_abbrev": False})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        rest = [word for word in words if word not in ("-h", "--help")]
        if self.more_help is None or len(rest) == len(words):
            return super().parse_known_args(words, namespace)
        try:
            more = self.more_help(super().parse_known_args(rest, namespace)[0])
        except StudioError as error:
            print(f"{self.prog}: {error}", file=sys.stderr)
            raise SystemExit(REFUSED) from error
        self.print_help()
        print(more, end="")
        raise SystemExit(DONE)

    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else "."
        print(f"{self.prog}: {message}{end} Try {self.prog} --help.", file=sys.stderr)
        raise SystemExit(REFUSED)


def is_link(word: str) -> bool:
    """Whether this is a state in a link and not a file."""
    return word.startswith("mrfs:")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", metavar="OUT", help="write the result as JSON to a file, or to standard output with -"
    )


def print_json(target: str | None, result: Any) -> bool:
    """Write `result` where --json asks; says whether standard output is taken by it."""
    if target is None:
        return False
    line = json.dumps(result, allow_nan=False)
    if target == "-":
        print(line)
        return True
    from mrfstudio.engine.files.atomic import atomic_path

    try:
        with atomic_path(Path(target)) as temporary:
            temporary.write_text(line + "\n", encoding="utf-8")
    except OSError as error:
        raise StudioError(f"{target} cannot be written: {error.strerror}.") from error
    return False


def parse_options(words: Sequence[str], fields: Sequence[Field], owner: str) -> dict[str, Any]:
    """`--damping 0.5` or `--damping=0.5` → checked parameter values, by the fields' declarations."""
    by_option = {field.option: field for field in fields}
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:
        option, _, joined = rest.pop(0).partition("=")
        field = by_option.get(option)
        if field is None:
            raise ParameterError(f"{owner} has no option {option}{ending(option, by_option)}")
        if field.kind == "flag" and not joined and (not rest or rest[0].startswith("--")):
            values[field.name] = True
            continue
        if not joined and not rest:
            raise ParameterError(f"{option} needs a value: {field.range_text}.")
        word = joined or rest.pop(0)
        if field.kind == "flag":
            if word not in ("true", "false"):
                raise ParameterError(f"{option} is {word!r}: expected true or false.")
            values[field.name] = word == "true"
        else:
            values[field.name] = field.check(word)
    return values


def options_in_words(title: str, fields: Sequence[Field]) -> str:
    """A part of a help text: one line an option, with its range and default."""
    if not fields:
        return f"\n{title}: no options\n"
    width = max(len(field.option) for field in fields)
    lines = [f"  {field.option:<{width}}  {field.help} {default_in_words(field)}\n" for field in fields]
    return "".join([f"\n{title}:\n", *lines])


def default_in_words(field: Field) -> str:
    unit = f" {field.unit}" if field.unit else ""
    return f"[{field.range_text}; default {field.default}{unit}]"


def progress(title: str) -> AbstractContextManager[Callable[[str], None]]:
    """A line on standard error that follows the work, if a person is there to read it."""
    if not sys.stderr.isatty():
        return nullcontext(lambda text: None)
    return status_line(title)


@contextmanager
def status_line(title: str) -> Iterator[Callable[[str], None]]:
    """Show `title` and the newest text given to the yielded function, at most ten times a second."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(title) as status:
        shown = 0.0

        def tick(text: str) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown > 0.1:
                shown = now
                status.update(f"{title}: {text}")

        yield tick
