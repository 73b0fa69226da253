"""Cut-outs by scribbles beside OpenCV's GrabCut and scikit-image's random walker, in one run on the same strokes.

    python benchmarks/cutout.py FOLDER --out FOLDER [--install] [--settings few|one] [--no-robot]

FOLDER holds NAME.jpg (or .bmp, .png), NAME-mask.png (255 is the object), NAME-scribbles1.png and NAME-scribbles2.png
(0 nothing, 1 background, 2 object). OpenCV runs in an environment of its own (`peers`), which --install makes.

Parameters are cross-validated: photographs are dealt into two folds by the order of their names, and each is cut with
the settings that were best on the other fold, both sets together. Peers run as they come; of GrabCut's two starts
(what is not scribbled is probably background, or probably object) the one that is better on the whole set counts.
Errors are standard deviations of the mean from 10,000 bootstrap samples of photographs. What is measured is kept in
OUT/results.json and not measured again; the page is OUT/cutout.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import textwrap
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers.beside_opencv import PEER as OPENCV
from peers.beside_opencv import STARTS
from PIL import Image
from scipy import ndimage

from mrfstudio.engine.families.photographs.cutout import Cutout, CutoutSettings
from mrfstudio.engine.families.photographs.photograph import Photograph

SETS = (1, 2)
GRID: dict[str, tuple[float, ...]] = {"walls": (1.0, 2.0), "frame": (0.4, 0.6), "colour_cap": (2.0, 3.0)}
MUCH = 0.1
TARGET = 0.9
MOST_STROKES = 20
MADE = (
    "Made by `python benchmarks/cutout.py FOLDER --out FOLDER --install` on {0} photographs with two sets of "
    "scribbles: mean IoU ± its error by bootstrap over photographs, seconds a photograph on a busy machine. Settings "
    "are chosen on the other half of the photographs; GrabCut has the better of its two starts. No model was trained "
    "on them."
)
Photo = tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]


def main() -> None:
    """Measure what is missing, write the page, print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--settings", choices=("few", "one"), default="few", help="cross-validate, or defaults alone")
    parser.add_argument("--no-robot", action="store_true")
    parser.add_argument("--install", action="store_true", help="make OpenCV's environment first")
    options = parser.parse_args()
    OPENCV.ready(options.install)
    torch.set_flush_denormal(True)
    names = sorted(p.name.removesuffix("-mask.png") for p in options.photographs.glob("*-mask.png"))
    kept = Kept(options.out)
    for name in names:
        photo = load(options.photographs, name)
        measure_peers(name, photo, kept)
        measure_field(name, photo, kept, candidates(options.settings))
        if not options.no_robot:
            measure_robot(name, photo, kept)
    page = report(names, kept, candidates(options.settings), not options.no_robot)
    (options.out / "cutout.md").write_text(page, encoding="utf-8")
    print(page)


class Kept:
    """Results by key in OUT/results.json."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "results.json"
        self.found: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = make()
            self._file.write_text(json.dumps(self.found, indent=0))
        return self.found[key]


def load(folder: Path, name: str) -> Photo:
    """Pixels (height, width, 3), where the object is (height, width), and strokes by set."""
    file = next(p for p in sorted(folder.glob(f"{name}.*")) if p.suffix.lower() in (".jpg", ".bmp", ".png"))
    strokes = {k: np.array(Image.open(folder / f"{name}-scribbles{k}.png")) for k in SETS}
    return np.array(Image.open(file).convert("RGB")), np.array(Image.open(folder / f"{name}-mask.png")) == 255, strokes


def iou(found: np.ndarray, truth: np.ndarray) -> float:
    return float((found & truth).sum() / max((found | truth).sum(), 1))


def timed(work: Callable[[], np.ndarray], truth: np.ndarray) -> dict[str, float]:
    begin = time.perf_counter()
    found = work()
    return {"iou": iou(found, truth), "seconds": time.perf_counter() - begin}


# --- who is measured -------------------------------------------------------------------------------------------------


def walker(pixels: np.ndarray, strokes: np.ndarray) -> np.ndarray:
    """scikit-image's random walker with its default β; where pyamg is installed it solves the same equations sooner."""
    from skimage.segmentation import random_walker

    mode = "cg_mg" if find_spec("pyamg") else "cg_j"
    return random_walker(pixels / 255.0, strokes.astype(int), mode=mode, channel_axis=-1) == 2


def field(photograph: Photograph, strokes: np.ndarray, settings: CutoutSettings) -> np.ndarray:
    cutout = Cutout(photograph, strokes, 2, settings)
    return (cutout.beliefs(cutout.run())[1] > 0.5).numpy()


def candidates(which: str) -> list[dict[str, float]]:
    if which == "one":
        return [{}]
    usual = CutoutSettings().values()
    each = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    return [{}] + [settings for settings in each if any(usual[name] != value for name, value in settings.items())]


def measure_peers(name: str, photo: Photo, kept: Kept) -> None:
    pixels, truth, strokes = photo
    both = {"rgb": pixels, "strokes": np.stack([strokes[k] for k in SETS])}
    keys = [[f"{name}/{k}/grabcut-{unknown}" for unknown in STARTS] for k in SETS]
    if any(key not in kept.found for row in keys for key in row):
        masks, seconds = OPENCV.asked("starts", both)
        for place in np.ndindex(seconds.shape):
            found = {"iou": iou(masks[place] == 1, truth), "seconds": float(seconds[place])}
            kept.once(keys[place[0]][place[1]], lambda found=found: found)
    for k in SETS:
        kept.once(f"{name}/{k}/walker", lambda k=k: timed(lambda: walker(pixels, strokes[k]), truth))


def measure_field(name: str, photo: Photo, kept: Kept, tried: list[dict[str, float]]) -> None:
    """The time is that of opening the photograph and cutting it, as a command would."""
    pixels, truth, strokes = photo
    for settings in tried:
        chosen = CutoutSettings(**settings)
        for k in SETS:
            kept.once(
                field_key(name, k, settings),
                lambda k=k, chosen=chosen: timed(lambda: field(Photograph(pixels), strokes[k], chosen), truth),
            )


def field_key(name: str, k: int, settings: dict[str, float]) -> str:
    return f"{name}/{k}/field {json.dumps(settings)} {CutoutSettings()}"


# --- a robot that scribbles where the answer is most wrong -----------------------------------------------------------


def measure_robot(name: str, photo: Photo, kept: Kept) -> None:
    pixels, truth, _ = photo
    kept.once(f"{name}/robot {CutoutSettings()}", lambda: robot(Photograph(pixels), truth))


def robot(photograph: Photograph, truth: np.ndarray) -> list[float]:
    """IoU after each stroke from the second on; the first two are one on the object and one on the background."""
    strokes = np.zeros(truth.shape, np.uint8)
    scribble(strokes, truth, truth, 2)
    scribble(strokes, ~truth, ~truth, 1)
    scores: list[float] = []
    while len(scores) + 1 < MOST_STROKES:
        found = field(photograph, strokes, CutoutSettings())
        scores.append(iou(found, truth))
        if scores[-1] >= TARGET:
            break
        wrong, count = ndimage.label(found != truth)
        largest = wrong == 1 + int(np.argmax(ndimage.sum_labels(wrong > 0, wrong, range(1, count + 1))))
        missed = bool((largest & truth).sum() * 2 > largest.sum())
        region = largest & (truth if missed else ~truth)
        scribble(strokes, region, truth if missed else ~truth, 2 if missed else 1)
    return scores


def scribble(strokes: np.ndarray, region: np.ndarray, allowed: np.ndarray, label: int) -> None:
    """A straight stroke through the deepest point of a region, as long as it stays well inside it."""
    depth = ndimage.distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
    middle = np.array(np.unravel_index(int(depth.argmax()), depth.shape))
    inside = depth >= 0.3 * depth.max()
    best: list[np.ndarray] = []
    for angle in np.arange(16) * np.pi / 16:
        direction = np.array([np.sin(angle), np.cos(angle)])
        line = [middle]
        for sign in (1, -1):
            for length in itertools.count(1):
                at = np.rint(middle + sign * length * direction).astype(int)
                if (at < 0).any() or (at >= region.shape).any() or not inside[tuple(at)]:
                    break
                line.append(at)
        best = max(best, line, key=len)
    drawn = np.zeros(region.shape, bool)
    drawn[tuple(np.array(best).T)] = True
    thick = ndimage.binary_dilation(drawn, iterations=max(1, round(0.004 * np.sqrt(region.size))))
    strokes[thick & allowed & (region | drawn)] = label


# --- the page --------------------------------------------------------------------------------------------------------


def report(names: list[str], kept: Kept, tried: list[dict[str, float]], with_robot: bool) -> str:
    scores, seconds, chosen = cross_validated(names, kept, tried)
    peers = {k: peer_scores(names, kept, k) for k in SETS}
    lines = ["# Cut-outs by scribbles", "", MADE.format(len(names)), ""]
    lines += ["| | set 1 | set 2 | seconds |", "| --- | --- | --- | --- |"]
    lines.append(row("MRF Studio, cross-validated", [scores[k] for k in SETS], seconds))
    defaults = [[kept.found[field_key(n, k, {})] for n in names] for k in SETS]
    lines.append(
        row("MRF Studio, as shipped", [take(d, "iou") for d in defaults], take([*defaults[0], *defaults[1]], "seconds"))
    )
    for peer in peers[1]:
        both = [peers[k][peer] for k in SETS]
        lines.append(row(peer, [take(b, "iou") for b in both], take([*both[0], *both[1]], "seconds")))
    lines += ["", "Chosen settings: " + "; ".join(f"fold {f + 1} {chosen[f] or 'defaults'}" for f in (0, 1)) + ".", ""]
    for k in SETS:
        rivals = np.max([take(p, "iou") for p in peers[k].values()], 0)
        ahead = min((scores[k] - take(p, "iou") for p in peers[k].values()), key=np.mean)
        lines.append(f"Set {k}: ahead of the better peer by {np.mean(ahead):+.3f} ± {bootstrap(ahead):.3f}.")
        behind = [f"{n} {a:.2f} ({b:.2f})" for n, a, b in zip(names, scores[k], rivals, strict=True) if b - a > MUCH]
        lines.append(f"Set {k}: worse than the better peer by more than {MUCH}: {', '.join(behind) or 'none'}.")
    worse = [f"{n} {a:.3f} → {b:.3f}" for n, a, b in zip(names, scores[1], scores[2], strict=True) if b < a]
    gain = np.mean(scores[2]) - np.mean(scores[1])
    lines += ["", f"More scribbles: {gain:+.3f} on average; they did not help on {', '.join(worse) or 'none'}."]
    if with_robot:
        lines += ["", robot_line(names, kept)]
    wrapped = (line if line.startswith("|") else textwrap.fill(line, 120, break_on_hyphens=False) for line in lines)
    return "\n".join(wrapped) + "\n"


def cross_validated(
    names: list[str], kept: Kept, tried: list[dict[str, float]]
) -> tuple[dict[int, np.ndarray], np.ndarray, list[dict[str, float]]]:
    table = np.array([[[kept.found[field_key(n, k, s)]["iou"] for n in names] for k in SETS] for s in tried])
    times = np.array([[[kept.found[field_key(n, k, s)]["seconds"] for n in names] for k in SETS] for s in tried])
    fold = np.arange(len(names)) % 2
    best = [int(table[:, :, fold != f].mean((1, 2)).argmax()) for f in (0, 1)]
    picked = np.array([best[f] for f in fold])
    each = np.arange(len(names))
    scores = {k: table[picked, i, each] for i, k in enumerate(SETS)}
    return scores, np.concatenate([times[picked, i, each] for i in range(2)]), [tried[b] for b in best]


def peer_scores(names: list[str], kept: Kept, k: int) -> dict[str, list[dict[str, float]]]:
    """GrabCut with its better start, and the walker."""
    starts = [[kept.found[f"{n}/{k}/grabcut-{u}"] for n in names] for u in STARTS]
    better = max(starts, key=lambda found: float(np.mean(take(found, "iou"))))
    return {"GrabCut (OpenCV)": better, "random walker": [kept.found[f"{n}/{k}/walker"] for n in names]}


def robot_line(names: list[str], kept: Kept) -> str:
    runs = {n: kept.found[f"{n}/robot {CutoutSettings()}"] for n in names}
    counts = [len(r) + 1 if r[-1] >= TARGET else MOST_STROKES + 1 for r in runs.values()]
    never = [n for n, c in zip(runs, counts, strict=True) if c > MOST_STROKES]
    ordered = " ".join(map(str, sorted(counts)))
    words = f"; not within {MOST_STROKES}: {', '.join(never)}" if never else ""
    return f"Robot: median strokes to {TARGET:.0%} IoU {np.median(counts):g} ({ordered}){words}."


def take(found: list[dict[str, float]], what: str) -> np.ndarray:
    return np.array([f[what] for f in found])


def row(who: str, scores: list[np.ndarray], seconds: np.ndarray) -> str:
    cells = [f"{np.mean(s):.3f} ± {bootstrap(s):.3f}" for s in scores]
    return f"| {who} | {' | '.join(cells)} | {np.mean(seconds):.2f} |"


def bootstrap(values: np.ndarray) -> float:
    draws = np.random.default_rng(0).integers(0, len(values), (10_000, len(values)))
    return float(np.asarray(values)[draws].mean(1).std())


if __name__ == "__main__":
    main()
