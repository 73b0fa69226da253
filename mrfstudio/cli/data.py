"""`mrfstudio data`: what there is, getting it, making it."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, parse_options, print_json, progress
from mrfstudio.engine.protocol.errors import StudioError


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "data", help="list, fetch or make data sets", description="What there is to learn from."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, parser_class=type(parser))
    listing = actions.add_parser("list", help="every data set, and how --data names it")
    add_json(listing)
    listing.set_defaults(run=_list)
    fetch = actions.add_parser("fetch", help="generate or download one")
    fetch.add_argument(
        "name", metavar="NAME", help="such as mnist; a name that is not known is answered with all of them"
    )
    fetch.add_argument("--out", type=Path, metavar="FILE", help="where to put it (default: the program's data folder)")
    add_json(fetch)
    fetch.set_defaults(run=_fetch)
    make = actions.add_parser("make", help="make noisy contour images from silhouettes", description=_MAKE)
    make.add_argument("what", metavar="border", help="noisy contour images with their labels")
    make.add_argument("--from", dest="source", metavar="NAME[:PATH]", help="silhouettes to take (default glyphs)")
    make.add_argument("--count", type=_count, metavar="N", help="training images (default: all of a file, or 10,000)")
    make.add_argument("--seed", type=_count, default=0, metavar="S", help="the same seed, the same noise (default 0)")
    make.add_argument("--out", type=Path, required=True, metavar="FILE.npz", help="the file to write")
    add_json(make)
    make.set_defaults(run=_make, open_options=True)


_MAKE = (
    "Contours of silhouettes with deleted pixels and spurious edges. Sources: mnist:FILE, silhouettes:FILE, "
    "or generated ones (glyphs, shapes) that need no file. Further options: --validation N, --test N, --spurious N, "
    "--deletion P and those of the source, such as --characters letters."
)


def _count(word: str) -> int:
    value = int(word)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is negative: expected a whole number of at least 0")
    return value


def _list(options: argparse.Namespace) -> int:
    from mrfstudio.engine.tasks.data import list_data

    lines = list_data()
    if print_json(options.json, {"data": [dataclasses.asdict(line) for line in lines]}):
        return DONE
    for line in lines:
        origin = "generated, no file needed" if line.generated else "from a file"
        print(f"{line.spelling:<24} {line.title} ({origin})\n{'':<24} {line.summary}")
    return DONE


def _fetch(options: argparse.Namespace) -> int:
    from mrfstudio.engine.tasks.data import fetch_data

    with progress(f"fetching {options.name}") as tick:
        path = fetch_data(options.name, options.out, progress=lambda done, total: tick(f"{done} of {total}"))
    if not print_json(options.json, {"name": options.name, "file": str(path)}):
        print(path)
    return DONE


def _make(options: argparse.Namespace) -> int:
    from mrfstudio.engine.data.dataset import parse_data
    from mrfstudio.engine.data.pictures.border_ownership import BorderOwnership
    from mrfstudio.engine.protocol.catalogue import Field
    from mrfstudio.engine.tasks.data import DEFAULT_SOURCE, make_border_file

    if options.what != "border":
        raise StudioError(f"{options.what!r} cannot be made: expected border.")
    source = options.source or DEFAULT_SOURCE
    sizes = [Field(name, "integer", None, "images", low=0) for name in ("validation", "test")]
    noise = [field for field in BorderOwnership.fields() if field.name in ("spurious", "deletion")]
    own = [field for field in parse_data(source).dataset.fields() if field.name not in ("seed", "train", "count")]
    extra = parse_options(options.unknown, (*own, *noise, *sizes), "data make border")
    with progress(f"contours of {source}") as tick:
        made = make_border_file(
            options.out,
            source,
            count=options.count,
            seed=options.seed,
            progress=lambda done, total: tick(f"{done} of {total}"),
            **extra,
        )
    if not print_json(options.json, made):
        counts = ", ".join(f"{count} {split}" for split, count in made["images"].items())
        print(f"{made['file']}: {counts} images")
    return DONE
