"""`mrfstudio segment`: contour images by a trained model, photographs by scribbles."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, parse_options, print_json, progress
from mrfstudio.engine.protocol.errors import StudioError


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "segment",
        help="inside and outside of a contour image, or a photograph cut by scribbles",
        description="A contour image becomes contour (0), OUT (1) and IN (2). With --scribbles, a photograph becomes "
        "labels 1 … N; further options then are the parameters of cutting, such as --smoothness.",
    )
    parser.add_argument(
        "image",
        type=Path,
        metavar="IMAGE",
        help="a drawing of contours, or a figure hidden in noise in words, such as figure:glyphs:5,seed=3; with "
        "--scribbles or a kept model a photograph, a folder of photographs, or an example such as photo:cat",
    )
    parser.add_argument(
        "--model",
        metavar="NAME|PATH",
        help="a model of contours (default: the best shipped one), or one that was kept from scribbles",
    )
    parser.add_argument(
        "--iterations", metavar="N", help="iterations of belief propagation (default: as the model was trained)"
    )
    parser.add_argument(
        "--ink", choices=("dark", "light", "auto"), default="auto", help="what is contour (default auto)"
    )
    parser.add_argument("--thin", action="store_true", help="make thick lines one pixel wide, as the models know them")
    parser.add_argument(
        "--side", type=int, metavar="N", help="make larger pictures smaller first; 128 suits most drawings"
    )
    parser.add_argument(
        "--scribbles",
        type=Path,
        metavar="STROKES",
        help="strokes on a photograph: values 0 none, 1 … N, any colours on one ground, a transparent layer, a "
        "painted copy of the photograph, or SVG; photo:cat are those of that example",
    )
    parser.add_argument("--labels", type=int, metavar="N", help="how many labels the scribbles have (default: found)")
    parser.add_argument("--cutout", type=Path, metavar="CUT.png", help="write the photograph cut out, with alpha")
    parser.add_argument(
        "--keep", type=int, metavar="LABEL", help="what the cut-out keeps (default: all but what lies around)"
    )
    parser.add_argument("--refine-edge", action="store_true", help="hair and soft borders in the cut-out's alpha")
    parser.add_argument(
        "--keep-model",
        type=Path,
        metavar="FILE",
        help="keep what the scribbles taught as a model for other photographs",
    )
    parser.add_argument("--names", metavar="A,B,…", help="what the labels of a kept model are called, in order")
    parser.add_argument(
        "--out", type=Path, metavar="LABELS.png", help="write the labels as an indexed PNG; of a folder, into a folder"
    )
    add_json(parser)
    parser.set_defaults(run=run, open_options=True)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.files.model_file import read_card

    photographs = options.scribbles is not None or str(options.image).startswith("photo:")
    if not photographs and options.model is not None:
        from mrfstudio.engine.families.scribbles import SCRIBBLES

        photographs = SCRIBBLES.knows(read_card(options.model).kind)
    result = _photographs(options) if photographs else _contours(options)
    if not print_json(options.json, result):
        for each in result.get("images", [result]):
            _print(each)
        for reason in result.get("failed", {}).values():
            print(f"left out: {reason}")
        if result.get("kept_model"):
            print(f"model written to {result['kept_model']}")
    return DONE


def _photographs(options: argparse.Namespace) -> dict[str, Any]:
    from mrfstudio.engine.families.scribbles import cutter
    from mrfstudio.engine.tasks.cut_photographs import CutPlan, cut_photographs
    from mrfstudio.engine.workspaces.in_words import as_files

    cls = cutter().settings
    given = {} if options.iterations is None else {"iterations": options.iterations}
    settings = cls(**{**parse_options(options.unknown, cls.fields(), "segment --scribbles"), **given})
    with progress(f"segmenting {options.image.name}") as tick, as_files(options.image, options.scribbles) as files:
        plan = CutPlan(
            scribbles=files[1],
            model=options.model,
            labels=options.labels,
            settings=settings,
            out=options.out,
            cutout=options.cutout,
            kept=options.keep,
            refine=options.refine_edge,
            keep_model=options.keep_model,
            names=tuple(name.strip() for name in (options.names or "").split(",") if name.strip()),
            says=tick,
        )
        found = cut_photographs(files[0], plan)
        return found if files[0] == options.image else {**found, "image": str(options.image)}


def _contours(options: argparse.Namespace) -> dict[str, Any]:
    from mrfstudio.engine.inference.run import Limits
    from mrfstudio.engine.tasks.segment import segment_contours

    for option in ("labels", "cutout", "keep", "keep_model"):
        if getattr(options, option) is not None:
            name = option.replace("_", "-")
            raise StudioError(f"--{name} is for photographs: give their strokes with --scribbles.")
    given = {} if options.iterations is None else {"iterations": options.iterations}
    parse_options(options.unknown, (), "segment")
    with progress(f"segmenting {options.image.name}") as tick:
        return segment_contours(
            options.image,
            model=options.model,
            iterations=Limits(**given).iterations if given else None,
            ink=options.ink,
            side=options.side,
            thin=options.thin,
            out=options.out,
            on_step=lambda state: tick(f"iteration {state.iteration}"),
        )


def _print(result: dict[str, Any]) -> None:
    counts = ", ".join(f"{count} {name}" for name, count in result["pixels"].items())
    print(f"{result['image']}: {result['width']}×{result['height']} pixels: {counts}")
    if result["out"]:
        print(f"labels written to {result['out']}")
    if result.get("said"):
        print(result["said"])
    if result.get("cutout"):
        print(f"cut-out written to {result['cutout']}")
