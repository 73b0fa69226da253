"""`mrfstudio inpaint`: fill in what is missing in a picture, with its uncertainty."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mrfstudio.command_line.shared import DONE, add_json, print_json, progress


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "inpaint",
        help="fill in what is missing in a picture",
        description="Fill in the part of IMAGE that is white in the mask, which has the same size. Colours become "
        "grey; a picture of another size than the model's is cut in the middle and scaled, and so is its mask; a mask "
        "that is all white asks what the model expects of any picture. --json also gives mean and standard deviation "
        "of every pixel, in grey levels from 0 to 1.",
    )
    parser.add_argument("image", type=Path, metavar="IMAGE", help="the picture, of any kind that Pillow reads")
    parser.add_argument("--mask", type=Path, required=True, metavar="MASK.png", help="white is unknown")
    parser.add_argument("--model", metavar="NAME|PATH", help="a grbm, rbm or dbm (default: a shipped one for faces)")
    parser.add_argument(
        "--iterations", metavar="N", help="of belief propagation (default: as trained, a GRBM at least 50)"
    )
    parser.add_argument("--out", type=Path, metavar="OUT.png", help="write the picture with its hole filled in")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.inference.run import Limits
    from mrfstudio.engine.inpaint import inpaint_image

    iterations = None if options.iterations is None else Limits(iterations=options.iterations).iterations
    with progress(f"filling in {options.image.name}") as tick:
        result = inpaint_image(
            options.image,
            options.mask,
            model=options.model,
            iterations=iterations,
            out=options.out,
            on_step=lambda state: tick(f"iteration {state.iteration}"),
        )
    if not print_json(options.json, result):
        print(
            f"{result['image']}: {result['unknown']} of {result['width'] * result['height']} pixels filled in by "
            f"{result['model']} in {result['iterations']} iterations, mean deviation {result['mean_deviation']:.3f}"
        )
        if result["scaled"]:
            print(f"the picture was cut and scaled to the model's {result['width']}×{result['height']} pixels")
        if result["out"]:
            print(f"picture written to {result['out']}")
    return DONE
