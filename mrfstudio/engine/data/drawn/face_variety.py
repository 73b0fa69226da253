"""What photographs of people have and drawn faces lack: nearness, light, blur, contrast and skin that is not smooth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.drawn.face_drawing import TRAITS, Range, draw_faces, draw_traits

VARIED = TRAITS | {
    "size": Range(1.45, 0.12), "shift_x": Range(0.0, 0.12), "shift_y": Range(0.0, 0.1),
    "yaw": Range(0.0, 0.4), "pitch": Range(0.02, 0.2), "roll": Range(0.0, 0.12),
    "light_x": Range(0.0, 1.2), "light_y": Range(-0.35, 0.5), "ambient": Range(0.4, 0.15),
    "skin": Range(0.7, 0.15), "hair": Range(0.25, 0.12), "background": Range(0.4, 0.2), "slope": Range(0.0, 0.2),
    "smile": Range(0.25, 0.8), "open_mouth": Range(0.12, 0.4), "brow_weight": Range(1.0, 0.4),
}  # fmt: skip
"""The face fills the picture; heads turn farther, light comes from anywhere."""
FIELDS = ((0.7, 0.15), (1.5, 0.3), (4.0, 0.4))
"""(width in pixels, deviation in parts of the picture's own) of smooth noise: skin, beards and glasses, shadows."""
BLURRED = 0.8
"""The widest blur, in pixels."""
MEAN, MEANS = 0.45, 0.07
CONTRAST, CONTRASTS = 0.17, 0.3
"""Brightness and contrast: their means, and how far they vary, contrast by a factor."""


def draw_varied(generators: list[np.random.Generator]) -> NDArray[np.uint8]:
    """Faces (n, 28, 20), one from each generator."""
    from scipy import ndimage  # loaded when such faces are drawn

    faces = draw_faces(np.stack([draw_traits(each, VARIED) for each in generators])).astype(np.float32)
    for face, generator in zip(faces, generators, strict=True):
        face -= face.mean()
        face /= max(float(face.std()), 1.0)
        for width, deviation in FIELDS:
            field = ndimage.gaussian_filter(generator.standard_normal(face.shape).astype(np.float32), width)
            face += deviation * generator.random() * 2 * field / field.std()
        face[:] = ndimage.gaussian_filter(face, BLURRED * generator.random())
        mean = MEAN + MEANS * np.clip(generator.standard_normal(), -2, 2)
        contrast = CONTRAST * np.exp(CONTRASTS * np.clip(generator.standard_normal(), -2, 2))
        face[:] = mean + contrast * (face - face.mean()) / face.std()
    return np.rint(255 * np.clip(faces, 0, 1)).astype(np.uint8)
