"""Photographs repaired beside OpenCV's Telea and Navier–Stokes, scikit-image's biharmonic and a smoothness field.

    python benchmarks/repair.py FOLDER --out FOLDER [--models patches,patch-rbm] [--crop 256] [--damages scratches,text]

FOLDER holds photographs of any size. Each is damaged in seven ways by a seed: scratches (lines 4 pixels wide), text, 50
and 80 % of all pixels, and square holes of 8, 16 and 24 pixels. Needs `opencv-python-headless` and `scikit-image`
beside the studio. PSNR counts the missing pixels alone, SSIM the whole picture. "within 90 %" is the part of the
missing colours that lie in the model's own interval, mean ± 1.645 deviations. What is measured is kept in
OUT/results.json and not measured again; the page is OUT/tables.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import torch
from kept import Found, Kept
from PIL import Image, ImageDraw, ImageFont
from scipy import sparse
from scipy.sparse.linalg import spsolve
from skimage.metrics import structural_similarity
from skimage.restoration import inpaint_biharmonic

from mrfstudio.engine.families.repairs import Damaged, repaired
from mrfstudio.engine.files.open_model import open_model

DAMAGES = ("scratches", "text", "missing 50", "missing 80", "hole 8", "hole 16", "hole 24")
WORDS = "Pack my box with five dozen liquor jugs. "
WITHIN = 1.645
PEERS = ("telea", "navier-stokes", "biharmonic", "smooth field")


def main() -> None:
    """Measure what is missing, write the page, print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", default="patches", help="names or files of models, with commas")
    parser.add_argument("--crop", type=int, default=0, help="only the middle so many pixels a side")
    parser.add_argument("--damages", default=",".join(DAMAGES))
    parser.add_argument("--only", default="", help="only photographs whose name holds this")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_flush_denormal(True)
    damages, models = options.damages.split(","), options.models.split(",")
    files = sorted(file for file in options.photographs.iterdir() if options.only in file.name)
    who = [*(Path(name).stem for name in models), *PEERS]
    kept = Kept(
        options.out,
        {"crop": options.crop, "seed": options.seed},
        lambda kept: page(kept, [file.stem for file in files], damages, who),
    )
    repairers: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]]]
    repairers = {Path(name).stem: by_model(open_model(name)) for name in models} | {
        name: by_peer(name) for name in PEERS
    }
    for file in files:
        truth = photograph(file, options.crop)
        for damage in damages:
            seed = [options.seed, DAMAGES.index(damage), sum(file.stem.encode())]
            unknown = mask_of(damage, truth.shape[:2], np.random.default_rng(seed))
            for name, repairer in repairers.items():
                if kept.get(key := f"{file.stem}/{damage}/{name}") is None:
                    kept.add(key, measured(repairer, truth, unknown))
    print(page(kept, [file.stem for file in files], damages, who))


def photograph(file: Path, crop: int) -> np.ndarray:
    """Colours (height, width, 3), or (height, width, 1) of a grey file, from 0 to 1."""
    image = Image.open(file)
    colours = np.asarray(image.convert("L" if image.mode in ("L", "I", "1") else "RGB"), np.float32) / 255
    colours = colours if colours.ndim == 3 else colours[..., None]
    if crop:
        top, left = (max(size - crop, 0) // 2 for size in colours.shape[:2])
        colours = colours[top : top + crop, left : left + crop]
    return np.ascontiguousarray(colours)


def mask_of(damage: str, shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """Where the photograph is damaged, (height, width) bool."""
    kind, _, number = damage.partition(" ")
    if kind == "missing":
        return generator.random(shape) < int(number) / 100
    if kind == "hole":
        return holes(int(number), shape, generator)
    image = Image.new("L", shape[::-1])
    pen = ImageDraw.Draw(image)
    if kind == "text":
        font = ImageFont.load_default(20)
        for row in range(6, shape[0] - 20, 40):
            pen.text((4 - int(generator.integers(0, 60)), row), WORDS * (1 + shape[1] // 200), fill=255, font=font)
    else:
        for _ in range(max(4, shape[0] * shape[1] // 20_000)):
            ends = generator.random((2, 2)) * shape[::-1]
            pen.line([tuple(end) for end in ends.tolist()], fill=255, width=4)
    return np.asarray(image) >= 128


def holes(side: int, shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """Squares apart from each other, a tenth of the picture at most."""
    mask = np.zeros(shape, bool)
    pitch = 3 * side
    for top in range(side, shape[0] - 2 * side, pitch):
        for left in range(side, shape[1] - 2 * side, pitch):
            down, right = generator.integers(0, side // 2, 2)
            mask[top + down : top + down + side, left + right : left + right + side] = True
    return mask


# --- who repairs ------------------------------------------------------------------------------------------------------


def by_model(model: object) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]]:
    def repair(colours: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        found = repaired(model, Damaged(colours, unknown))
        return found.colours, found.deviation

    return repair


def by_peer(name: str) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]]:
    def repair(colours: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        if name == "biharmonic":
            return np.clip(inpaint_biharmonic(colours, unknown, channel_axis=-1), 0, 1).astype(np.float32), None
        if name == "smooth field":
            return smooth_field(colours, unknown), None
        method = cv2.INPAINT_TELEA if name == "telea" else cv2.INPAINT_NS
        eight = np.rint(255 * colours).astype(np.uint8)
        found = cv2.inpaint(eight.squeeze(), unknown.astype(np.uint8), 3, method)
        return found.reshape(colours.shape).astype(np.float32) / 255, None

    return repair


def smooth_field(colours: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """The mean of a Gaussian field whose neighbours want to be equal: each unknown pixel is the mean of its four."""
    number = np.full(unknown.shape, -1)
    number[unknown] = np.arange(int(unknown.sum()))
    rows, columns = np.nonzero(unknown)
    degree = np.zeros(len(rows))
    right_side = np.zeros((len(rows), colours.shape[2]))
    pairs: list[np.ndarray] = []
    for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        y, x = rows + down, columns + right
        inside = (y >= 0) & (y < unknown.shape[0]) & (x >= 0) & (x < unknown.shape[1])
        degree += inside
        me, y, x = np.flatnonzero(inside), y[inside], x[inside]
        other = number[y, x]
        pairs.append(np.stack([me[other >= 0], other[other >= 0]]))
        np.add.at(right_side, me[other < 0], colours[y[other < 0], x[other < 0]])
    both = np.concatenate(pairs, 1)
    ones = np.ones(both.shape[1])
    system = sparse.diags(degree) - sparse.csr_matrix((ones, tuple(both)), shape=(len(rows), len(rows)))
    answer = colours.copy()
    answer[unknown] = spsolve(system.tocsc(), right_side).reshape(len(rows), -1)
    return np.clip(answer, 0, 1)


# --- what is measured -------------------------------------------------------------------------------------------------


def measured(
    repairer: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]],
    truth: np.ndarray,
    unknown: np.ndarray,
) -> Found:
    """PSNR in the hole in dB, SSIM of the picture, seconds, and the part within the interval."""
    damaged = np.where(unknown[..., None], np.float32(0), truth)
    began, processor = time.perf_counter(), time.process_time()
    answer, deviation = repairer(damaged, unknown)
    seconds, busy = time.perf_counter() - began, time.process_time() - processor
    error = (answer - truth)[unknown].astype(np.float64)
    found: Found = {
        "psnr": float(-10 * np.log10(max((error**2).mean(), 1e-10))),
        "ssim": float(structural_similarity(truth, answer, channel_axis=-1, data_range=1.0)),
        "seconds": seconds,
        "processor": busy,
    }
    if deviation is not None:
        rounding = 0.5 / 255  # the truth has 8 bits
        found["within"] = float((np.abs(error) <= WITHIN * deviation[unknown][:, None] + rounding).mean())
    return found


def page(kept: Kept, files: list[str], damages: list[str], who: list[str]) -> str:
    """Means over the photographs that all have been measured on."""
    lines = ["# Repaired photographs", "", f"Measured with {kept.settings_in_words}."]
    for what, digits in (("psnr", 2), ("ssim", 4), ("within", 3), ("processor", 1)):
        lines += ["", f"## {what}", "", f"| | {' | '.join(damages)} |", f"| --- |{' --- |' * len(damages)}"]
        for name in who:
            cells = [_cell(kept, files, damage, name, what, digits) for damage in damages]
            if any(cells):
                lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(kept: Kept, files: list[str], damage: str, name: str, what: str, digits: int) -> str:
    values = list(_values(kept, files, damage, name, what))
    return f"{np.mean(values):.{digits}f} ({len(values)})" if values else ""


def _values(kept: Kept, files: list[str], damage: str, name: str, what: str) -> Iterator[float]:
    for file in files:
        found = kept.get(f"{file}/{damage}/{name}")
        if found is not None and what in found:
            yield found[what]


if __name__ == "__main__":
    main()
