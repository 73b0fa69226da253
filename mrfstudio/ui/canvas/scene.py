"""What the canvas shows, without a widget: the newest frame, the edits on top of it, and which layers are visible.

All layers are blended once at the picture's own resolution; painting then scales that one image, so moving the brush
ring or the view costs the same with one layer or with ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from mrfstudio.engine.frames import NO_HINT, Frame
from mrfstudio.ui.canvas.overlays import Look, as_image, highlight, hints, layer_picture, solid
from mrfstudio.ui.canvas.pending import Patch, Pending
from mrfstudio.ui.canvas.transform import Transform

GIVEN = ("grey", "truth", "observed", "mask")
INFERRED = ("belief", "decoded", "entropy", "residual", "difference", "clone", "ownership")
DIMMED = 0.4  # opacity of results that are older than the evidence


class Scene:
    """Layers, in order: the grey picture, what was observed, what is inferred, fresh strokes, hints, highlight."""

    def __init__(self) -> None:
        self.pending = Pending()
        self.look = Look()
        self.shape: tuple[int, int] = (0, 0)
        self.visible: dict[str, float] = {"observed": 1.0, "belief": 1.0, "hints": 1.0}
        self.lane = 0
        self.dimmed = False
        self.original_only = False
        self._patch = Patch()
        self._given: dict[str, np.ndarray] = {}
        self._inferred: dict[str, np.ndarray] = {}
        self._original: np.ndarray | None = None
        self._preview: np.ndarray | None = None
        self._lit: np.ndarray | None = None
        self._cache: dict[str, tuple[np.ndarray, Look, np.ndarray]] = {}
        self._blended: QImage | None = None
        self._hatched: np.ndarray | None = None

    @property
    def rectangle(self) -> tuple[int, int, int, int]:
        """Top, left, height, width of the part the arrays cover."""
        return *self._patch.origin, *self._patch.size

    def layer(self, name: str) -> np.ndarray | None:
        """A layer as it is shown, with fresh strokes in it; covers `rectangle`."""
        if name in self._inferred:
            return self._inferred[name]
        return self.pending.over(self._given, self._patch).get(name)

    def set_frame(self, frame: Frame) -> None:
        """Show a frame. The arrays are kept, not copied: frames own them and nobody writes."""
        lane = next((lane for lane in frame.lanes if lane.lane == self.lane), None)
        self.pending.settle(frame.applied)
        self.set_layers(frame.shape, frame.layers, {} if lane is None else lane.pictures, frame.rectangle, frame.stride)

    def set_layers(
        self,
        shape: tuple[int, int],
        given: Mapping[str, np.ndarray],
        inferred: Mapping[str, np.ndarray],
        rectangle: tuple[int, int, int, int] | None = None,
        stride: int = 1,
    ) -> None:
        """Show arrays: what a person gave and what was inferred, for `rectangle` (None is everything) at `stride`."""
        self.shape = shape
        top, left, height, width = rectangle or (0, 0, *shape)
        self._patch = Patch((top, left), (height, width), stride)
        self._given = dict(given)
        self._inferred = dict(inferred)
        if "belief" in inferred:
            self.look = replace(self.look, labels=inferred["belief"].shape[2])
        self.changed()

    def set_original(self, grey: np.ndarray | None) -> None:
        """The picture (h, w) that the contours came from; shown while O is held."""
        self._original = grey
        self.changed()

    def set_preview(self, observed: np.ndarray | None) -> None:
        """Show other observations for a while (a threshold being chosen) without changing anything."""
        self._preview = observed
        self.changed()

    def light(self, where: np.ndarray | None) -> None:
        """Highlight the pixels of `where` (h, w) booleans for `rectangle`."""
        self._lit = where
        self.changed()

    def changed(self) -> None:
        """Blend anew at the next painting."""
        self._blended = None

    def paint(self, painter: QPainter, transform: Transform) -> None:
        """Draw the picture; `painter` clips to the part that must be drawn."""
        top, left, height, width = self.rectangle
        if not height or not width:
            return
        if self._blended is None:
            self._blended = self._blend()
        painter.fillRect(transform.rectangle(0, 0, *self.shape), QColor(self.look.colours.paper))
        place = transform.rectangle(top, left, height, width)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, transform.scale < 1)
        draw_visible(painter, place, self._blended)
        if self._hatched is not None and not self.original_only:
            painter.setOpacity(self.visible.get("hints", 1.0))
            draw_visible(painter, place, as_image(self._hatched))
            painter.setOpacity(1.0)

    def _blend(self) -> QImage:
        given = self.pending.over(self._given, self._patch)
        if self._preview is not None:
            given["observed"] = self._preview
        size = next((array.shape[:2] for array in given.values()), self._patch.size)
        blended = QImage(size[1], size[0], QImage.Format.Format_ARGB32_Premultiplied)
        blended.fill(QColor(self.look.colours.paper))
        painter = QPainter(blended)
        if self._original is not None and (self.original_only or "grey" in self.visible):
            self._draw(painter, "grey", self._original, 1.0 if self.original_only else self.visible["grey"])
        for name in GIVEN[1:]:
            shown = name == "observed" and self._original is None if self.original_only else name in self.visible
            if name in given and shown:
                self._draw(painter, name, given[name], self.visible.get(name, 1.0))
        if not self.original_only and self._preview is None:
            self._blend_results(painter, given)
        painter.end()
        return blended

    def _blend_results(self, painter: QPainter, given: Mapping[str, np.ndarray]) -> None:
        dim = DIMMED if self.dimmed else 1.0
        for name in INFERRED:
            if name in self._inferred and name in self.visible:
                self._draw(painter, name, self._inferred[name], self.visible[name] * dim)
        fresh = self._fresh(given)
        if fresh is not None:
            painter.drawImage(0, 0, as_image(fresh))
        self._hatched = None
        hinted = given.get("hints")
        if hinted is not None and "hints" in self.visible and (hinted != NO_HINT).any():
            self._hatched = hints(hinted, self.look, given.get("hints_strength"))
        if self._lit is not None:
            pixels = highlight(self._lit, self.look)
            painter.drawImage(painter.viewport(), as_image(pixels))

    def _draw(self, painter: QPainter, name: str, array: np.ndarray, opacity: float) -> None:
        known = self._cache.get(name)
        if known is None or known[0] is not array or known[1] != self.look:
            pixels = layer_picture(name, array, self.look)
            if pixels is None:
                return
            known = (array, self.look, np.ascontiguousarray(pixels, np.uint32))
            self._cache[name] = known
        painter.setOpacity(opacity)
        painter.drawImage(painter.viewport(), as_image(known[2]))
        painter.setOpacity(1.0)

    def _fresh(self, given: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Strokes that no frame shows yet, drawn over the results: painting is seen at once."""
        base = given.get("observed")
        colours = self.look.colours
        table = {0: solid(colours.ink), 1: solid(colours.paper), 2: solid(colours.unknown)}
        if base is None or not any(edit.command.layer == "observed" for edit in self.pending.edits):
            return None
        pixels = np.zeros(base.shape, np.uint32)
        for edit in self.pending.edits:
            if edit.command.layer == "observed":
                top, left, mask = self._patch.mask(edit.command)
                pixels[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = table[edit.value]
        return pixels


def draw_visible(painter: QPainter, place: QRectF, image: QImage) -> None:
    """Draw an image into `place`, but only the part that the painter's clip lets through."""
    clip = painter.clipBoundingRect() if painter.hasClipping() else QRectF(painter.viewport())
    seen = place.intersected(clip)
    if seen.isEmpty():
        return
    scale_x, scale_y = image.width() / place.width(), image.height() / place.height()
    # Whole source pixels: a cut pixel would be scaled to a slightly different size and shimmer while panning.
    left, top = int((seen.left() - place.left()) * scale_x), int((seen.top() - place.top()) * scale_y)
    right = min(int((seen.right() - place.left()) * scale_x) + 1, image.width())
    bottom = min(int((seen.bottom() - place.top()) * scale_y) + 1, image.height())
    source = QRectF(left, top, right - left, bottom - top)
    target = QRectF(
        place.left() + left / scale_x, place.top() + top / scale_y, (right - left) / scale_x, (bottom - top) / scale_y
    )
    painter.drawImage(target, image, source)
