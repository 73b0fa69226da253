"""`mrfstudio inpaint`: fill in what is missing in a picture, with its uncertainty."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, print_json, progress


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "inpaint",
        help="repair a photograph, or fill in what is missing in a face or a digit",
        description="Fill in the part of IMAGE that is white in the mask, which has the same size. Photographs keep "
        "their size and their colours. A model of faces or digits, named with --model, sees grey; a picture of "
        "another size than the model's is cut in the middle and scaled, and so is its mask; a mask that is all white "
        "asks what the model expects of any picture; --json then also gives mean and standard deviation of every "
        "pixel, in grey levels from 0 to 1.",
    )
    parser.add_argument(
        "image",
        type=Path,
        metavar="IMAGE",
        help="the picture, of any kind that Pillow reads; or in words damaged:coffee-written-on, faces:3, …",
    )
    parser.add_argument(
        "--mask", type=Path, required=True, metavar="MASK.png", help="white is unknown; the same words are its damage"
    )
    parser.add_argument(
        "--model", metavar="NAME|PATH", help="a model of pictures (default: the shipped one for photographs)"
    )
    parser.add_argument(
        "--iterations",
        metavar="N",
        help="of belief propagation, for models of one size (default: as trained, or until its kind settles)",
    )
    parser.add_argument("--out", type=Path, metavar="OUT.png", help="write the picture with its hole filled in")
    parser.add_argument(
        "--deviation",
        type=Path,
        metavar="DOUBT.png",
        help="photographs: write how unsure each pixel is, white a quarter",
    )
    parser.add_argument("--sample", type=Path, metavar="DRAW.png", help="photographs: write one draw instead of a mean")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the draw (default 0)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.inference.run import Limits
    from mrfstudio.engine.tasks.inpaint import inpaint_image
    from mrfstudio.engine.workspaces.in_words import as_files

    iterations = None if options.iterations is None else Limits(iterations=options.iterations).iterations
    with progress(f"filling in {options.image.name}") as tick, as_files(options.image, options.mask) as files:
        result = inpaint_image(
            files[0],
            files[1] or options.mask,
            model=options.model,
            iterations=iterations,
            out=options.out,
            deviation=options.deviation,
            sample=options.sample,
            seed=options.seed,
            on_step=lambda state: tick(f"iteration {state.iteration}"),
        )
    result |= {"image": str(options.image), "mask": str(options.mask)}
    if not print_json(options.json, result):
        print(
            f"{result['image']}: {result['unknown']} of {result['width'] * result['height']} pixels filled in by "
            f"{result['model']} in {result['iterations']} iterations, mean deviation {result['mean_deviation']:.3f}"
        )
        if result["scaled"]:
            print(f"the picture was cut and scaled to the model's {result['width']}×{result['height']} pixels")
        for what in ("out", "sample"):
            if result.get(what):
                print(f"picture written to {result[what]}")
        if isinstance(result["deviation"], str):
            print(f"deviation written to {result['deviation']}")
    return DONE
