"""How well a grid model fills drawings of any size: scores by octave, letters, stars, hand-drawn shapes, hints, time.

    python benchmarks/any_drawing.py [MODEL] [--figures N] [--start flat|coarse] [--part NAME ...] [--json FILE]

All figures are drawn from a seed that no training uses, in the `test` stream of the generated figures. IoU is what
`mrfstudio evaluate` prints (P(OUT) < 0.5 against label ≠ OUT, mean over images); IN is the intersection over union of
the pixels whose most probable label is IN.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage
from torch import Tensor

from mrfstudio.engine.data.drawn.drawing import circle_angles, dense, fill, polar
from mrfstudio.engine.data.drawn.figure_drawing import FigureScene, Outlines, any_kind, scene
from mrfstudio.engine.data.drawn.figures import (
    DENSITY,
    NO_HINT,
    Figures,
    HintedFigure,
    by_hand,
    cut_gap,
    labelled,
    seen_of,
)
from mrfstudio.engine.data.drawn.sharp_figures import SHARP
from mrfstudio.engine.data.pictures.border_noise import CONTOUR, DELETION, IN, OUT, SEEN
from mrfstudio.engine.data.pictures.border_ownership import BorderData, BorderOwnership
from mrfstudio.engine.families.contour_scores import segmentation_scores
from mrfstudio.engine.families.grid.balance import hold, surplus, weigh
from mrfstudio.engine.families.grid.doubt import Likeness, calibrated, explained, settled
from mrfstudio.engine.families.grid.kernel import beliefs_of, run_messages
from mrfstudio.engine.families.grid.levels import all_passes, plan_for
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.steadying import Steadying
from mrfstudio.engine.files.model_card import write_card
from mrfstudio.engine.files.model_file import load_model, save_model
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.workspaces.segment.lines import thinned

SEED = 77_000_000  # no training uses it; another one by --seed
OCTAVES = ((8, 16, 28), (16, 32, 48), (32, 64, 88), (64, 128, 168), (128, 200, 256))  # sizes from, to; canvas
ITERATIONS = (15, 60, 100, 200, 500)
PIXELS_AT_ONCE = 9_000
AT_REST = 2e-5  # of messages with mean 1: rounding


def draws(*key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))


def octave_figures(number: int, count: int) -> list[FigureScene]:
    """Figures of one octave, sizes log-uniform, each wholly on its canvas."""
    low, high, canvas = OCTAVES[number]
    found = []
    for index in range(count):
        draw = draws(number, index)
        size = math.exp(draw.uniform(math.log(low), math.log(high)))
        found.append(scene(any_kind(draw), draw, size, canvas))
    return found


def pictures(scenes: Sequence[FigureScene], deletion: float, density: float) -> list[HintedFigure]:
    """What is seen of them with a noise of their own."""
    found = []
    for index, one in enumerate(scenes):
        labels = labelled(one.figure)
        noisy = seen_of(labels, draws(100, len(labels), index), deletion, density)
        found.append(HintedFigure(labels, noisy, np.full(labels.shape, NO_HINT, np.uint8)))
    return found


class Settling:
    """Beliefs of a batch of pictures of one size after more and more iterations."""

    def __init__(self, model: GridMRF, some: Sequence[HintedFigure], start: str) -> None:
        self.model = model
        evidence = model.evidence_from_image(np.stack([one.noisy for one in some]))
        self.evidence: Evidence = model.with_hints(evidence, np.stack([one.hints for one in some]))
        self.shape, self.states = model.shape_of(self.evidence), model.state_evidence(self.evidence)
        self.done, self.messages = 0, None
        self.steadying: Steadying | None = None
        if start == "coarse":  # steps of the passes count among the iterations, as in the window
            self.messages = all_passes(model, model.label_evidence(self.evidence), self.shape)
            self.done, self.steadying = len(plan_for(model, self.shape)), Steadying(model, self.shape)
        self.rests = False

    def log_beliefs(self, iterations: int) -> Tensor:
        """Label log-beliefs (B, H, W, labels) after so many iterations, at least as many as before and as passes take.

        Once no message moves in ten iterations, more of them are left out.
        """
        while self.done < iterations and not self.rests:
            more, old = min(10, iterations - self.done), self.messages
            self.messages = run_messages(self.model.potentials, self.states, self.shape, more, old, self.steadying)
            self.done += more
            swings = self.steadying is not None and self.steadying.held_back
            still = old is not None and float((self.messages - old).abs().amax()) < AT_REST
            self.rests = more == 10 and still and not swings
        model = self.model
        product = beliefs_of(self.messages, model.potentials)
        logs = torch.log(torch.stack([part.sum(0) for part in product.split(model.clones)]).clamp_min(1e-30))
        whole = torch.log_softmax(logs + model.label_evidence(self.evidence), 0)
        return whole.t().reshape(self.evidence.log_potentials.shape)


def in_iou(log_beliefs: Tensor, labels: Tensor) -> Tensor:
    """Intersection over union of IN, (B,); two empty ones agree."""
    found, true = log_beliefs.argmax(-1) == IN, labels == IN
    union = (found | true).sum((1, 2))
    return torch.where(union > 0, (found & true).sum((1, 2)) / union.clamp_min(1), 1.0)


def each_score(
    model: GridMRF, some: Sequence[HintedFigure], iterations: Sequence[int], start: str
) -> dict[int, NDArray[np.float64]]:
    """(IoU, IN) of every picture, (pictures, 2), by number of iterations."""
    found: dict[int, list[list[float]]] = {number: [] for number in iterations}
    at_once = max(1, PIXELS_AT_ONCE // some[0].labels.size)
    for first in range(0, len(some), at_once):
        part = some[first : first + at_once]
        settling, labels = Settling(model, part, start), torch.from_numpy(np.stack([one.labels for one in part]))
        for number in iterations:
            log = settling.log_beliefs(number)
            inside = in_iou(log, labels)
            for k in range(len(part)):
                whole = segmentation_scores(log[k : k + 1], labels[k : k + 1])
                found[number].append([whole.iou, float(inside[k])])
    return {number: np.array(rows) for number, rows in found.items()}


def show(title: str, scores: dict[int, NDArray[np.float64]], results: dict[str, Any]) -> None:
    means = {number: rows.mean(0) for number, rows in scores.items()}
    text = "  ".join(f"{number}: {iou:.3f}/{inside:.3f}" for number, (iou, inside) in means.items())
    last = sorted(scores)
    change = ""
    if 100 in scores and last[-1] > 100:
        moved = np.abs(scores[last[-1]] - scores[100]).max(0)
        change = f"   {last[-1]} against 100: mean {abs(means[last[-1]][0] - means[100][0]):.4f}, most {moved[0]:.3f}"
    print(f"{title:<34}{text}{change}", flush=True)
    results[title] = {str(number): [float(v) for v in mean] for number, mean in means.items()}


def octaves(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    print("IoU / IN by iterations")
    for number, (low, high, canvas) in enumerate(OCTAVES):
        count = options.figures if canvas <= 100 else max(4, options.figures * 40 // canvas)
        scenes = octave_figures(number, count)
        for name, deletion, density in (("noise", DELETION, DENSITY), ("clean", 0.0, 0.0)):
            some = pictures(scenes, deletion, density)
            show(
                f"{low}-{high} px {name} ({count})", each_score(model, some, options.iterations, options.start), results
            )


def circle(size: float) -> Outlines:
    return [(polar(0.5, circle_angles(256)) - 0.5) * size]


def star(size: float) -> Outlines:
    radius = np.where(np.arange(10) % 2 == 0, 0.5, 0.2)
    return [(dense(polar(radius, circle_angles(10) - math.pi / 2), 16) - 0.5) * size]


def plain(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Circles and stars in the middle of a canvas of 128, or 256 from 100 pixels up; four noises each."""
    makers: tuple[Callable[[float], Outlines], ...] = (circle, star)
    for maker in makers:
        for size in (12, 16, 24, 40, 80, 160):
            canvas = 128 if size < 100 else 256
            outlines = [outline + canvas / 2 for outline in maker(size)]
            one = FigureScene(fill(outlines, canvas), outlines)
            for name, deletion, density, copies in (("clean", 0.0, 0.0, 1), ("20 % missing", DELETION, 0.0, 4)):
                copies = copies if canvas < 200 else min(copies, 2)
                some = pictures([one] * copies, deletion, density)
                scores = each_score(model, some, options.iterations, options.start)
                show(f"{maker.__name__} {size} px {name}", scores, results)


def letters(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Letters and numbers of a printed face, which no training has seen, filled and with the digits' noise."""
    signs = "ABCDGHKLMNOPQRSTUXZabdegopqs0245689&"
    for number, (low, high, canvas) in enumerate(OCTAVES):
        scenes = []
        for index in range(options.figures if canvas <= 100 else max(4, options.figures * 40 // canvas)):
            draw = draws(900, number, index)
            size = math.exp(draw.uniform(math.log(low), math.log(high)))
            sheet = Image.new("L", (canvas, canvas), 0)
            thick, font = max(1, int(size / 14)), ImageFont.load_default(1.25 * size)
            middle = canvas / 2 + draw.uniform(-2, 2, 2)
            sign = signs[int(draw.integers(len(signs)))]
            ImageDraw.Draw(sheet).text(tuple(middle), sign, fill=255, font=font, anchor="mm", stroke_width=thick)
            scenes.append(FigureScene(np.asarray(sheet) > 127, []))
        for name, deletion, density in (("noise", DELETION, DENSITY), ("clean", 0.0, 0.0)):
            scores = each_score(model, pictures(scenes, deletion, density), options.iterations, options.start)
            show(f"letters {low}-{high} px {name} ({len(scenes)})", scores, results)


def sharp(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Crescents, stars, combs, spirals and other figures with thin arms, of each kind as many, without noise."""
    for low, high, canvas in ((24, 56, 64), (48, 112, 128)):
        each = max(2, options.figures * 48 // (canvas * len(SHARP)))
        for kind in SHARP:
            found = []
            for index in range(each):
                draw = draws(1000, low, list(SHARP).index(kind), index)
                found.append(scene(kind, draw, math.exp(draw.uniform(math.log(low), math.log(high))), canvas))
            scores = each_score(model, pictures(found, 0.0, 0.0), options.iterations, options.start)
            show(f"{kind} {low}-{high} px clean ({each})", scores, results)


def hand(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Drawn by a shaky hand on a canvas of 128, gaps of up to 2 pixels, lines partly doubled."""
    for low, high in ((8, 16), (16, 32), (32, 64), (64, 110)):
        some = []
        for index in range(max(8, options.figures // 2)):
            draw = draws(200, low, index)
            size = math.exp(draw.uniform(math.log(low), math.log(high)))
            labels, noisy = by_hand(scene(any_kind(draw), draw, size, 128), draw, size)
            some.append(HintedFigure(labels, noisy, np.full(labels.shape, NO_HINT, np.uint8)))
        show(f"by hand {low}-{high} px", each_score(model, some, options.iterations, options.start), results)


def hinted(one: FigureScene, gap: int, draw: np.random.Generator, which: tuple[int, ...]) -> HintedFigure:
    """A drawing with a gap, and a hint of 3×3 pixels for each label of `which`, as far from the contour as can be."""
    labels = labelled(one.figure)
    seen = labels == CONTOUR
    if gap:
        cut_gap(seen, one.outlines, draw, gap)
    hints = np.full(labels.shape, NO_HINT, np.uint8)
    for label in which:
        depth = ndimage.distance_transform_edt(labels == label)
        y, x = np.unravel_index(int(depth.argmax()), depth.shape)
        hints[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2] = label
    return HintedFigure(labels, np.where(seen, SEEN, 1).astype(np.uint8), hints)


def hints(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """A hint inside a closed contour; hints inside and outside of a drawing with a gap of 5 pixels."""
    for size, canvas in ((24, 64), (60, 128), (100, 128)):
        for name, gap, which in (("IN, closed", 0, (IN,)), ("none, gap 5", 5, ()), ("IN and OUT, gap 5", 5, (IN, OUT))):
            some = []
            for index in range(8):
                draw = draws(300, size, index)
                kind = ("blob", "ellipse", "box", "polygon")[index % 4]
                some.append(hinted(scene(kind, draw, size, canvas), gap, draw, which))
            show(f"hints {name}, {size} px", each_score(model, some, options.iterations, options.start), results)


def seconds(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """CPU time until no label belief moves by more than 0.01 in ten iterations: other work on the machine adds none."""
    for canvas in (64, 128, 256):
        draw = draws(400, canvas)
        some = pictures([scene("blob", draw, 0.7 * canvas, canvas)], DELETION, DENSITY)
        Settling(model, some, options.start).log_beliefs(2)
        began = time.process_time()
        settling, old, iterations = Settling(model, some, options.start), None, 0
        while iterations < 500:
            iterations += 10
            new = settling.log_beliefs(iterations).exp()
            if old is not None and float((new - old).abs().max()) < 0.01:
                break
            old = new
        spent = time.process_time() - began
        threads = torch.get_num_threads()
        print(f"{canvas}×{canvas}: settled after {iterations} iterations, {spent:.2f} CPU s on {threads} threads")
        results[f"seconds {canvas}"] = [iterations, spent]


def digits(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """MNIST's border images, which are only scored."""
    if options.digits is None:
        return
    data = BorderData.load(options.digits)
    labels, noisy = data.images("test")[: 4 * options.figures], data.noisy_images("test")[: 4 * options.figures]
    none = np.full(labels.shape[1:], NO_HINT, np.uint8)
    some = [HintedFigure(one, seen, none) for one, seen in zip(labels, noisy, strict=True)]
    show(f"digits 30×30 ({len(some)})", each_score(model, some, options.iterations, options.start), results)


def checkerboard(draw: np.random.Generator, canvas: int = 96) -> NDArray[np.bool_]:
    """The edges of a checkerboard with fields of 2 to 12 pixels."""
    field, shift = int(draw.integers(2, 13)), draw.integers(0, 12, 2)
    row, column = np.indices((canvas, canvas))
    dark = ((row + shift[0]) // field + (column + shift[1]) // field) % 2 == 1
    if draw.random() < 0.5:
        return labelled(dark) == CONTOUR
    return ((row + shift[0]) % field == 0) | ((column + shift[1]) % field == 0)


def text_page(draw: np.random.Generator, canvas: int = 128) -> NDArray[np.bool_]:
    """Ink of some lines of letters."""
    letters = "abcdefghijklmnopqrstuvwxyz ABCDEFG 0123456789 ,."
    height = int(draw.integers(8, 15))
    page = Image.new("L", (canvas, canvas), 255)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(height)
    for top in range(2, canvas - height, round(1.3 * height)):
        pen.text((2, top), "".join(letters[k] for k in draw.integers(0, len(letters), 40)), fill=0, font=font)
    return np.asarray(page) < 128


def photograph_edges(path: Path, canvas: int = 128) -> NDArray[np.bool_]:
    """The steepest eighth of a photograph's pixels, one pixel wide, as an edge detector finds them."""
    with Image.open(path) as picture:
        grey = np.asarray(picture.convert("L").resize((canvas, canvas), Image.Resampling.LANCZOS), np.float64)
    smooth = ndimage.gaussian_filter(grey, 1.0)
    steep = np.hypot(ndimage.sobel(smooth, 0), ndimage.sobel(smooth, 1))
    return thinned(steep > np.quantile(steep, 0.875))


def doubt(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Which part of known and unlike pictures passes the model's own limits, those of its file or made again."""
    likeness = Likeness.of_model(model)
    if likeness is None or options.calibrate:
        # The largest values of all kinds together, but for a few: limits for each kind by itself let photographs pass.
        each = options.figures // 2
        known = known_glyphs(510, each)
        known += [
            known_picture(510, k, canvas) for canvas in CANVASES for k in range(each if canvas < 128 else each // 2)
        ]
        likeness = calibrated(model, known, DOUBT_ITERATIONS, part=CALIBRATED)
        print("calibrated:", likeness)
    photographs = sorted(options.photographs.glob("*.*g")) if options.photographs else []
    sets: dict[str, list[NDArray[Any]]] = {
        "glyphs with noise": known_glyphs(610, options.figures),
        "known figures": [known_picture(610, k, CANVASES[k % len(CANVASES)]) for k in range(options.figures)],
        "checkerboards": [~checkerboard(draws(700, k)) for k in range(options.figures)],
        "text pages": [~text_page(draws(800, k)) for k in range(options.figures)],
        "photographs' edges": [~photograph_edges(path) for path in photographs],
    }
    for name, some in sets.items():
        found = []
        for picture in some:
            evidence = model.evidence_from_image(picture)
            one = explained(model, evidence, settled(model, evidence, DOUBT_ITERATIONS), likeness)
            found.append((likeness.knows(one), one.free_energy, one.unexplained, one.undecided))
        if found:
            passed, *numbers = np.array(found, float).T
            spread = [f"{np.quantile(values, q):.3f}" for values in numbers for q in (0.05, 0.5, 0.95)]
            print(f"{name:<22}{passed.mean():.3f} of {len(some)} pass")
            print(f"   free energy, unexplained, undecided; 5, 50, 95 % of each: {spread}", flush=True)
            results[f"doubt {name}"] = float(passed.mean())
    results["likeness"] = likeness.values()


def known_picture(stream: int, index: int, canvas: int) -> NDArray[np.uint8]:
    """A held-out figure of any kind and size, with any noise."""
    source = Figures(canvas=canvas, largest=0.85 * canvas, hinted=0.0, sharp=0.2, seed=SEED + stream)
    return source.picture("test", index).noisy


def known_glyphs(stream: int, count: int) -> list[NDArray[np.uint8]]:
    """Generated digits and letters, 30×30, with all the noise of the digits: the window's first example is one."""
    data = BorderOwnership(count=1, validation=0, test=count, seed=SEED + stream).open()
    return list(data.noisy_images("test"))


def finished(model: GridMRF, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Write the model with what was measured here in its card: scores by octave, sizes, the limits of what it knows."""
    file = load_model(options.model, "grid")
    model.sizes, model.likeness = SIZES, results.get("likeness", model.likeness)
    last = str(max(options.iterations))
    octaves = {
        title: {"iou": found[last][0], "iou_of_in": found[last][1]}
        for title, found in results.items()
        if isinstance(found, dict) and last in found
    }
    passed = {title.removeprefix("doubt "): found for title, found in results.items() if title.startswith("doubt ")}
    scores = dict(file.card.get("scores", {}))
    if octaves:  # those of another number of iterations may be of other potentials
        scores = {title: found for title, found in scores.items() if not title.startswith("held-out figures")}
        scores[f"held-out figures, {last} iterations"] = octaves
    if passed:
        scores["doubt: part that passes"] = passed
    card = {**file.card, "scores": scores, "hyperparameters": model.hyperparameters(), "summary": SUMMARY}
    save_model(options.write, "grid", model.tensors(), card)
    print(write_card(options.write))


SIZES = (6, 200)
SUMMARY = (
    "Fills what people draw: figures of 6 to 200 pixels on canvases up to 256×256, lines with small gaps, rings and "
    "nested figures, clean or with the digits' noise: a fifth of the contour missing and short edges all over, which "
    "have a probability of their own. Smaller copies of the canvas are asked first (`start coarse`), with walls "
    "between IN and OUT that yield; then they hold. Combs, spirals and rings are filled as their lines say. What it "
    "fills worst are noisy figures of 8 to 16 pixels, many teeth or bays of one to three pixels side by side, and bays "
    "between thick lines of a drawing by hand; digits keep `grid-border-64`. Its labels were weighed and its walls "
    "made to hold after training; validation scores are from before."
)
DOUBT_ITERATIONS = 105
CALIBRATED = 0.98
"""The part of the pictures for calibration that passes; with all of them an eighth of the checkerboards does too."""
CANVASES = (30, 64, 96, 128)
PARTS = {part.__name__: part for part in (octaves, digits, plain, letters, sharp, hand, hints, seconds, doubt)}


def main() -> None:
    global SEED
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="grid-any")
    parser.add_argument("--figures", type=int, default=100, help="figures in each of the smaller octaves")
    parser.add_argument("--start", choices=("flat", "coarse"), default="coarse")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--iterations", type=int, nargs="+", default=list(ITERATIONS))
    parser.add_argument("--part", nargs="*", choices=tuple(PARTS), default=list(PARTS))
    parser.add_argument("--digits", type=Path, help="a file of border data, such as border_ownership.npz")
    parser.add_argument("--photographs", type=Path, help="a folder of photographs, for `doubt`")
    parser.add_argument("--calibrate", action="store_true", help="find the limits of `doubt` again")
    parser.add_argument("--weigh", type=float, nargs=3, metavar="NATS", help="for CONTOUR, OUT and IN, before all else")
    parser.add_argument("--hold", type=float, metavar="NATS", help="by which IN beside OUT costs more, but in passes")
    parser.add_argument("--known", type=Path, nargs="+", default=[], help="results (--json) of other parts, to write")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the model again, with what was measured")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    SEED = options.seed
    model, results = open_model(options.model, "grid"), {}
    if options.weigh:
        weigh(model, options.weigh)
    if options.hold:
        hold(model, options.hold)
    print(f"On an empty canvas IN beats OUT by {surplus(model):.2f} nats a pixel.")
    for file in options.known:
        results |= json.loads(file.read_text())
    torch.set_flush_denormal(True)
    with torch.no_grad():
        for name in options.part:
            PARTS[name](model, options, results)
        if options.write:
            finished(model, options, results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
