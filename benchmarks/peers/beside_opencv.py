"""The studio beside OpenCV: an object cut out of a picture by strokes (GrabCut).

    python benchmarks/peers/beside_opencv.py [--install] [--out FOLDER]

The picture is drawn here: a textured blob on a textured ground. Both get the same strokes; how much the two masks
differ is a part of the pixels. Accuracy on photographs is measured by `benchmarks/cutout.py`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # a peer's environment knows neither the studio nor this folder
from rivals import Arrays, Peer, Task, best_seconds, main, mean_difference, rival_main
from scenes import cut_by_the_studio, scene

ROUNDS = 5
"""Iterations of GrabCut, as its own examples have them."""
STARTS = ("background", "object")
"""What is not painted, probably: GrabCut has to be told one of them."""


def rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    """The mask (h, w) of 0 and 1 by GrabCut; what is not painted is probably background."""

    def cut() -> np.ndarray:
        return grabcut(inputs["rgb"], inputs["strokes"], "background")

    return cut(), best_seconds(cut, repeats=3, warm=0)


def from_both_starts(inputs: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Masks (strokes, 2, h, w) of strokes (strokes, h, w), and seconds (strokes, 2); the second axis is STARTS."""
    masks, seconds = [], []
    for strokes in inputs["strokes"]:
        for unknown in STARTS:
            begin = time.perf_counter()
            masks.append(grabcut(inputs["rgb"], strokes, unknown))
            seconds.append(time.perf_counter() - begin)
    shape = len(inputs["strokes"]), len(STARTS)
    return np.reshape(masks, (*shape, *masks[0].shape)), np.reshape(seconds, shape)


def grabcut(rgb: np.ndarray, strokes: np.ndarray, unknown: str) -> np.ndarray:
    """GrabCut as its documentation shows it for scribbles; `unknown` is what is not painted: 0 and 1, (h, w)."""
    import cv2

    cv2.setRNGSeed(0)
    rest = cv2.GC_PR_FGD if unknown == "object" else cv2.GC_PR_BGD
    mask = np.where(strokes == 2, cv2.GC_FGD, np.where(strokes == 1, cv2.GC_BGD, rest)).astype(np.uint8)
    colours = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(rgb[..., ::-1].copy(), mask, None, *colours, ROUNDS, cv2.GC_INIT_WITH_MASK)
    return np.isin(mask, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.float64)


PEER = Peer(
    "opencv",
    ("numpy", "opencv-python-headless"),
    __file__,
    (Task("cut", "cut-out by strokes, 480×640", scene, cut_by_the_studio, 0.05, apart=mean_difference),),
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["rival"]:
        rival_main({"cut": rival, "starts": from_both_starts})
    else:
        main(PEER)
