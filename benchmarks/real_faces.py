"""An 8×8 hole in each of a hundred real faces, filled in by models of faces and of windows beside OpenCV and others.

    python benchmarks/real_faces.py [--models patches,patch-rbm,grbm-people,grbm-faces]

The faces are those inside scikit-image, 28×20 pixels (data set `real-faces`); no model has learned from them. A model
of one size sees them with the brightness and contrast that it was trained on, matched on the known pixels. Prints the
mean of the faces' PSNR in the hole, and the PSNR of the mean square error. Needs `opencv-python-headless`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import torch
from skimage.restoration import inpaint_biharmonic

from mrfstudio.engine.data.pictures.real_faces import RealFaces
from mrfstudio.engine.families.pixels import pixels_of
from mrfstudio.engine.families.repairs import REPAIRS, Damaged, repaired
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run

HOLE, ITERATIONS = 8, 30
MARGIN = 4, 2
"""Pixels between a hole and the picture's edge, down and to the right."""
Filler = Callable[[np.ndarray, np.ndarray], np.ndarray]


def main() -> None:
    """Print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="patches,patch-rbm,grbm-people,grbm-faces")
    models = parser.parse_args().models.split(",")
    faces = RealFaces().open()["test"]["images"].astype(np.float32) / 255
    generator = np.random.default_rng(0)
    holes = [hole(face.shape, generator) for face in faces]
    fillers: dict[str, Filler] = {
        "Telea": by_opencv(cv2.INPAINT_TELEA),
        "Navier–Stokes": by_opencv(cv2.INPAINT_NS),
        "biharmonic": lambda face, unknown: inpaint_biharmonic(face.astype(np.float64), unknown),
    } | {name: by_model(open_model(name)) for name in models}
    print("| | mean PSNR | PSNR of the mean |\n| --- | --- | --- |")
    for name, filler in fillers.items():
        errors = [
            np.square(filler(np.where(unknown, 0, face).astype(np.float32), unknown) - face)[unknown].mean()
            for face, unknown in zip(faces, holes, strict=True)
        ]
        print(f"| {name} | {-10 * np.log10(errors).mean():.2f} | {-10 * np.log10(np.mean(errors)):.2f} |", flush=True)


def hole(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """Where a face is hidden, (height, width) bool."""
    unknown = np.zeros(shape, bool)
    top, left = (
        int(generator.integers(edge, size - HOLE - edge + 1)) for edge, size in zip(MARGIN, shape, strict=True)
    )
    unknown[top : top + HOLE, left : left + HOLE] = True
    return unknown


def by_opencv(method: int) -> Filler:
    def fill(face: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        eight = np.rint(255 * face).astype(np.uint8)
        return np.asarray(cv2.inpaint(eight, unknown.astype(np.uint8), 3, method), np.float32) / 255

    return fill


def by_model(model: Any) -> Filler:
    if REPAIRS.of(model) is not None:
        return lambda face, unknown: repaired(model, Damaged(face[..., None], unknown)).colours[..., 0]
    pixels, bp = pixels_of(model), BeliefPropagation()
    mean, deviation = pixels.brightness(model) or (0.0, 1.0)

    def fill(face: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        middle, contrast = face[~unknown].mean(), face[~unknown].std() + 1e-3
        matched = torch.from_numpy(((face - middle) / contrast * deviation + mean).astype(np.float32))
        with torch.inference_mode():
            evidence = model.evidence_from_image(matched, torch.from_numpy(unknown))
            state = run(bp, model, evidence, Limits(iterations=ITERATIONS, tolerance=0.0)).state
            found = pixels.mean_and_deviation(bp.beliefs(model, evidence, state))[0].numpy()
        return np.asarray((found - mean) / deviation * contrast + middle)

    return fill


if __name__ == "__main__":
    main()
