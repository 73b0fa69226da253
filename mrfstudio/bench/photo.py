"""How soon does a stroke on a photograph become a cut-out, beside the memory that one iteration has to move?"""

from __future__ import annotations

import gc
import io
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from mrfstudio.bench.measure import Report, calibrate, seconds
from mrfstudio.engine.families.photographs.cutout import Cutout, CutoutState
from mrfstudio.engine.families.photographs.full_size import full_size
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.families.scored_grid import messages

SIDE = 1000
LARGE = 3000, 4000
SCENES = 5
CRUDE = (2, 50, 42, 0, 16), (1, 8, 15, 0, 70), (1, 25, 8, 55, 0), (1, 30, 92, 50, 0)
"""Strokes: label, row and column where one begins, how far it goes down and right, in hundredths of the picture."""


def run() -> Report:
    """A generated photograph of 1 and of 12 megapixels, two labels, eight neighbours, two threads, 32 bits."""
    report = Report("a photograph cut by strokes: two labels, eight neighbours, two threads, 32 bits")
    threads = torch.get_num_threads()
    denormals = torch.set_flush_denormal(True)
    try:
        torch.set_num_threads(2)
        calibrate(report)
        with torch.inference_mode():
            _iterations(report)
            _stroke(report)
            _hard(report)
            _large(report)
    finally:
        torch.set_num_threads(threads)
        if denormals:
            torch.set_flush_denormal(False)
    return report.finish()


def generated(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """A textured ellipse on textured ground (height, width, 3), and strokes on both."""
    rng = np.random.default_rng(0)
    coarse = rng.normal(0, 30, (height // 20 + 1, width // 20 + 1, 3))
    texture = np.kron(coarse, np.ones((20, 20, 1)))[:height, :width]
    y, x = np.mgrid[:height, :width]
    inside = ((y / height - 0.5) / 0.3) ** 2 + ((x / width - 0.5) / 0.25) ** 2 < 1
    base = np.where(inside[..., None], (150, 110, 70), (70, 110, 140))
    picture = np.clip(base + texture + rng.normal(0, 8, (height, width, 1)), 0, 255).astype(np.uint8)
    strokes = np.zeros((height, width), np.uint8)
    thick = max(2, height // 150)
    strokes[height // 2 : height // 2 + thick, int(0.4 * width) : int(0.6 * width)] = 2
    strokes[height // 10 : height // 10 + thick, int(0.2 * width) : int(0.8 * width)] = 1
    strokes[-height // 10 : -height // 10 + thick, int(0.2 * width) : int(0.8 * width)] = 1
    return picture, strokes


def scene(height: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An object of any shape (height, width, 3) on ground whose colours overlap with its own, and crude strokes.

    Textures of many sizes, blurred borders of the object and sharp ones elsewhere, uneven light, noise, and JPEG.
    """
    rng = np.random.default_rng(seed)

    def texture(channels: int, roughness: float) -> np.ndarray:
        made = np.zeros((height, width, channels))
        for cell in (256, 128, 64, 32, 16, 8, 4):
            coarse = rng.normal(size=(height // cell + 2, width // cell + 2, channels)).astype(np.float32)
            wide = functional.interpolate(
                torch.from_numpy(coarse).permute(2, 0, 1)[None], scale_factor=cell, mode="bilinear", align_corners=False
            )
            made += (cell / 256) ** roughness * wide[0, :, :height, :width].permute(1, 2, 0).numpy()
        return made / made.std()

    y, x = np.mgrid[:height, :width]
    around = np.hypot((y / height - 0.5) / 0.32, (x / width - 0.5) / 0.26)
    inside = np.clip(4 * (1 - around - 0.3 * texture(1, 1.0)[..., 0]) + 0.5, 0, 1)[..., None]
    colours = rng.normal(0, 10, (2, 3))
    ground, thing = (110 + colour + 14 * texture(3, 1.6) for colour in colours)
    things = 35 * (texture(1, 0.8) > 1.2)  # with sharp borders of their own, on both
    light = 1 + 0.15 * texture(1, 2.0)
    picture = (inside * thing + (1 - inside) * ground + things) * light + rng.normal(0, 1.5, (height, width, 3))
    file = io.BytesIO()
    Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=80)
    return np.array(Image.open(file)), crude_strokes(height, width)


def crude_strokes(height: int, width: int) -> np.ndarray:
    """One straight stroke in the middle, and three around it: (height, width)."""
    strokes, thick = np.zeros((height, width), np.uint8), max(3, height // 110)
    for label, row, column, down, right in CRUDE:
        top, left = row * height // 100, column * width // 100
        strokes[top : top + max(thick, down * height // 100), left : left + max(thick, right * width // 100)] = label
    return strokes


def hard_pictures() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Generated scenes and, where it is installed, scikit-image's photographs, of 1 megapixel, with crude strokes."""
    yield from (scene(SIDE, SIDE, seed) for seed in range(SCENES))
    if find_spec("skimage"):
        import skimage.data

        for name in ("astronaut", "coffee", "cat"):
            found = Image.fromarray(getattr(skimage.data, name)())
            scale = SIDE / (found.width * found.height) ** 0.5
            size = round(found.width * scale), round(found.height * scale)
            yield np.array(found.resize(size, Image.Resampling.LANCZOS)), crude_strokes(size[1], size[0])


def _hard(report: Report) -> None:
    taken, resting = [], []
    for picture, strokes in hard_pictures():
        photograph = Photograph(picture)
        begin = time.perf_counter()
        cutout = Cutout(photograph, strokes)
        state = cutout.run()
        taken.append(time.perf_counter() - begin)
        resting.append(cutout.rests(state))
    many = f"1 megapixel, {len(taken)} hard pictures with crude strokes"
    report.add(f"{many}: settled", 100 * float(np.mean(resting)), "%", least=100.0)
    report.add(f"{many}: slowest", max(taken), "s", most=2.0)
    report.add(f"{many}: median", float(np.median(taken)), "s")


def _iterations(report: Report) -> None:
    local = messages.ratio_local(torch.randn(SIDE, SIDE, generator=torch.Generator().manual_seed(0)))
    gains = [torch.rand(messages.weight_shape(k, SIDE, SIDE)) for k in range(4)]
    old = messages.ratio_start(gains, local)
    new = torch.empty_like(old)
    copy = seconds(lambda: new.copy_(old), repeats=9)
    step = seconds(lambda: messages.ratio_step(local, gains, old, new), repeats=9)
    report.add("1 megapixel: copying all messages", 1e3 * copy, "ms")
    report.add("1 megapixel: one iteration with residual", 1e3 * step, "ms", most=120)
    report.add("iteration / copy", step / copy, "×")
    kept = sum(t.numel() for t in (local, *gains, old, new)) * local.element_size()
    report.add("messages, weights and evidence, a pixel and label", kept / SIDE**2 / 2, "bytes", most=80)


def _stroke(report: Report) -> None:
    picture, strokes = generated(SIDE, SIDE)
    begin = time.perf_counter()
    photograph = Photograph(picture)
    opened = time.perf_counter() - begin
    Cutout(photograph, strokes).run()  # what is made once for a photograph is made now
    begin = time.perf_counter()
    cutout = Cutout(photograph, strokes)
    state: CutoutState = cutout.start()
    while state.level > photograph.thinking or state.in_stage < cutout.settings.iterations:
        state = cutout.step(state)
    cutout.beliefs(state)
    first = time.perf_counter() - begin
    while not cutout.settled(state):
        state = cutout.step(state)
    full_size(cutout, state)
    report.add("1 megapixel: opening the photograph", 1e3 * opened, "ms")
    report.add("1 megapixel: stroke to first coarse answer", 1e3 * first, "ms", most=300)
    report.add("1 megapixel: stroke to settled", time.perf_counter() - begin, "s", most=2.0)


def _large(report: Report) -> None:
    picture, strokes = generated(*LARGE)
    gc.collect()
    reset, peak = _peak_memory()

    begin = time.perf_counter()
    reset()
    cutout = Cutout(Photograph(picture), strokes)
    full_size(cutout, cutout.run())
    report.add("12 megapixels: open, settle, band at full size", time.perf_counter() - begin, "s", most=8.0)
    report.add("12 megapixels: most memory of the process", peak() / 1e9, "GB", most=2.0)
    del cutout
    _back(report, picture)


def _back(report: Report, picture: np.ndarray) -> None:
    """Strokes in a session on a picture (height, width, 3), then one of them undone and a moment of the second."""
    from mrfstudio.engine.files.photographs import as_content
    from mrfstudio.engine.protocol.commands import Paint, Scrub, SetPhotograph, Undo
    from mrfstudio.engine.session.session import Session
    from mrfstudio.engine.workspaces.photograph.workspace import MODEL, PhotographWorkspace

    workspace = PhotographWorkspace()
    document = workspace.photographed(SetPhotograph(as_content(picture), "generated"))
    session = Session(workspace, MODEL, "cutout", document=document)

    def rested() -> int:
        while session.wait == 0.0:
            session.advance(0.05)
        return session.point.iteration

    height, width = picture.shape[:2]
    ends: list[int] = []
    for label, y in ((1, 0.1), (2, 0.5), (1, 0.9), (2, 0.55)):
        line = (0.4 * width, y * height), (0.6 * width, y * height)
        session.apply(Paint("strokes", label, line, height / 150, stroke_id=len(ends) + 1))
        ends.append(rested())
    report.add("12 megapixels: undo after four strokes", session.undo.bytes / 1e6, "MB", most=100.0)
    begin = time.perf_counter()
    session.apply(Undo())
    rested()
    report.add("12 megapixels: undo to settled", time.perf_counter() - begin, "s", most=2.0)
    begin = time.perf_counter()
    session.apply(Scrub(ends[1] - 1))
    rested()
    report.add("12 megapixels: a step back to the second stroke", time.perf_counter() - begin, "s", most=2.0)


def _peak_memory() -> tuple[Callable[[], None], Callable[[], float]]:
    """Forget the largest memory so far where the system can, and read the largest since, in bytes."""

    def forget() -> None:
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
        except OSError:
            return

    def read() -> float:
        try:
            with open("/proc/self/status", encoding="ascii") as lines:
                return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        except OSError:
            return float("nan")

    return forget, read
