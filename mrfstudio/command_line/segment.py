"""`mrfstudio segment`: contour images by a trained grid model, photographs by scribbles."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mrfstudio.command_line.shared import DONE, add_json, parse_options, print_json, progress
from mrfstudio.engine.errors import StudioError


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "segment",
        help="inside and outside of a contour image, or a photograph cut by scribbles",
        description="A contour image becomes contour (0), OUT (1) and IN (2). With --scribbles, a photograph becomes "
        "labels 1 … N; further options then are --smoothness, --colours and --iterations.",
    )
    parser.add_argument(
        "image", type=Path, metavar="IMAGE", help="a drawing of contours, or with --scribbles a photograph"
    )
    parser.add_argument("--model", metavar="NAME|PATH", help="a grid model (default: the best shipped one)")
    parser.add_argument("--iterations", metavar="N", help="iterations of belief propagation (default 15)")
    parser.add_argument(
        "--ink", choices=("dark", "light", "auto"), default="auto", help="what is contour (default auto)"
    )
    parser.add_argument("--thin", action="store_true", help="make thick lines one pixel wide, as the models know them")
    parser.add_argument(
        "--side", type=int, metavar="N", help="make larger pictures smaller first; 40 suits most drawings"
    )
    parser.add_argument("--scribbles", type=Path, metavar="MASK.png", help="strokes on a photograph: 0 none, 1 … N")
    parser.add_argument("--labels", type=int, metavar="N", help="how many labels the scribbles have")
    parser.add_argument("--out", type=Path, metavar="LABELS.png", help="write the labels as an indexed PNG")
    add_json(parser)
    parser.set_defaults(run=run, open_options=True)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.inference.run import Limits
    from mrfstudio.engine.photo import PhotoCut
    from mrfstudio.engine.segment import segment_contours, segment_photo

    if (options.scribbles is None) != (options.labels is None):
        raise StudioError("--scribbles and --labels go together: a photograph needs both.")
    given = {} if options.iterations is None else {"iterations": options.iterations}
    with progress(f"segmenting {options.image.name}") as tick:
        if options.scribbles is not None:
            more = parse_options(options.unknown, PhotoCut.fields(), "segment --scribbles")
            settings = PhotoCut(**{**more, **given})
            result = segment_photo(
                options.image, options.scribbles, options.labels, settings=settings, out=options.out, on_level=tick
            )
        else:
            parse_options(options.unknown, (), "segment")
            result = segment_contours(
                options.image,
                model=options.model,
                iterations=Limits(**{"iterations": 15, **given}).iterations,
                ink=options.ink,
                side=options.side,
                thin=options.thin,
                out=options.out,
                on_step=lambda state: tick(f"iteration {state.iteration}"),
            )
    if not print_json(options.json, result):
        counts = ", ".join(f"{count} {name}" for name, count in result["pixels"].items())
        print(f"{result['image']}: {result['width']}×{result['height']} pixels: {counts}")
        if result["out"]:
            print(f"labels written to {result['out']}")
    return DONE
