"""The studio beside scikit-image: an object cut out of a picture by strokes (random walker).

    python benchmarks/peers/beside_scikit_image.py [--install] [--out FOLDER]

The picture is drawn here: a textured blob on a textured ground. Both get the same strokes; how much the two masks
differ is a part of the pixels. Accuracy on photographs is measured by `benchmarks/cutout.py`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # a peer's environment knows neither the studio nor this folder
from rivals import Arrays, Peer, Task, main, mean_difference, rival_main
from scenes import cut_by_the_studio, scene

STIFFNESS = 130
"""How much a random walker minds edges of colours: the library's own default."""


def rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    """The mask (h, w) of 0 and 1 by the random walker."""
    from skimage.segmentation import random_walker

    strokes, rgb = inputs["strokes"], inputs["rgb"]

    began = time.perf_counter()  # once: it takes long
    found = random_walker(rgb / 255.0, strokes.astype(np.int64), beta=STIFFNESS, mode="cg_j", channel_axis=-1)
    return np.asarray(found == 2, np.float64), time.perf_counter() - began


PEER = Peer(
    "scikit-image",
    ("numpy", "scikit-image"),
    __file__,
    (Task("cut", "cut-out by strokes, 480×640", scene, cut_by_the_studio, 0.05, apart=mean_difference),),
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["rival"]:
        rival_main({"cut": rival})
    else:
        main(PEER)
