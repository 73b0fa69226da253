"""How often is the shipped model of landscapes right where somebody painted what it should say?

    python benchmarks/landscape.py PHOTOGRAPHS [--strokes benchmarks/landscape/score] [--model photo-landscape]

PHOTOGRAPHS is a folder; strokes lie under the photographs' names, in the colours of the model's labels. The model was
made by

    mrfstudio segment TRAIN --scribbles benchmarks/landscape/train --names Plants,Sky,Other --keep-model FILE

from other photographs. Prints the part of painted pixels with the right label, by the network alone and with the
field, and their means over photographs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mrfstudio.api import open_model, segment
from mrfstudio.engine.files.photographs import decode, photographs_in, read_content
from mrfstudio.engine.files.strokes import read_strokes


def main() -> None:
    """Measure every photograph that has strokes, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--strokes", type=Path, default=Path(__file__).parent / "landscape" / "score")
    parser.add_argument("--model", default="photo-landscape")
    options = parser.parse_args()
    model = open_model(options.model)
    colours = [tuple(int(each.colour[k : k + 2], 16) for k in (1, 3, 5)) for each in model.labels]
    rows = []
    for file in photographs_in(options.photographs):
        drawn = options.strokes / f"{file.stem}.svg"
        if not drawn.exists():
            continue
        rgb = decode(read_content(file), file.name).rgb
        strokes = read_strokes(drawn, rgb)
        assert strokes.colours is not None
        truth = np.array([0, *(1 + colours.index(each) for each in strokes.colours)])[strokes.values]
        right = [
            float((segment(rgb, model=model, field=field).labels == truth)[truth > 0].mean()) for field in (0.0, 1.0)
        ]
        rows.append(right)
        print(f"{file.name}: network alone {right[0]:.3f}, with the field {right[1]:.3f}", flush=True)
    alone, both = np.mean(rows, 0)
    print(f"{len(rows)} photographs: network alone {alone:.3f}, with the field {both:.3f}")


if __name__ == "__main__":
    main()
