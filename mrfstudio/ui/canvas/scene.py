"""What the canvas shows, without a widget: the newest frame, the edits on top of it, and which layers are visible.

All layers are blended once at the picture's own resolution; painting then scales that one image, so moving the brush
ring or the view costs the same with one layer or with ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from mrfstudio.engine.protocol.frames import NO_HINT, Frame
from mrfstudio.ui.canvas.backdrop import Backdrop
from mrfstudio.ui.canvas.overlays import LayerStyle, as_image, doubt, highlight, hints, layer_picture
from mrfstudio.ui.canvas.pending import ImagePart, Pending
from mrfstudio.ui.canvas.transform import Transform

GIVEN = ("grey", "truth", "observed", "picture", "mask")
OF_PICTURES = ("mean", "deviation", "sample", "mistake")
OF_PHOTOGRAPHS = ("cutout", "overlay", "scores", "walls", "repaired", "draw", "filler")
OF_LABELS = ("belief", "decoded", "entropy", "residual", "difference", "error", "clone", "ownership")
INFERRED = (*OF_PHOTOGRAPHS, *OF_PICTURES, *OF_LABELS, "boundary")
ORIGINAL = ("observed", "picture")
"""What is shown alone while O is held, where there is no picture behind."""
DIMMED = 0.4  # opacity of results that are older than the evidence


class Scene:
    """Layers, in order: the grey picture, what was observed, what is inferred, fresh strokes, hints, highlight."""

    def __init__(self) -> None:
        self.pending = Pending()
        self.look = LayerStyle()
        self.shape: tuple[int, int] = (0, 0)
        self.visible: dict[str, float] = {"observed": 1.0, "belief": 1.0, "hints": 1.0}
        self.lane = 0
        self.dimmed = False
        self.original_only = False
        self.results_only = False
        """Whether what a person gave is left out: beliefs alone."""
        self.backdrop: Backdrop | None = None
        """The photograph below everything, where there is one."""
        self.place: tuple[float, float, float] | None = None
        """Row, column and radius of a place that is pointed out."""
        self._part = ImagePart()
        self._inferred: dict[str, np.ndarray] = {}
        self._original: np.ndarray | None = None
        self._preview: np.ndarray | None = None
        self.wipe: float | None = None
        """The part of the picture, from the left, that is shown as it was before; None where nothing can be wiped."""
        self.effect: np.ndarray | None = None
        """What a hidden unit adds to the picture, (H, W): shown while it is pointed at."""
        self.lit_clone: int | None = None
        """The clone whose pixels glow, in every frame that comes."""
        self._cache: dict[str, tuple[np.ndarray, LayerStyle, np.ndarray]] = {}
        self._blended: QImage | None = None
        self._before: QImage | None = None
        self._stripes = Stripes()

    @property
    def rectangle(self) -> tuple[int, int, int, int]:
        """Top, left, height, width of the part the arrays cover."""
        return *self._part.origin, *self._part.size

    def layer(self, name: str) -> np.ndarray | None:
        """A layer as it is shown, with fresh strokes in it; covers `rectangle`. Not to be written to."""
        return self._inferred[name] if name in self._inferred else self.pending.layers().get(name)

    def set_frame(self, frame: Frame) -> None:
        """Show a frame. The arrays are kept, not copied: frames own them and nobody writes."""
        lane = next((lane for lane in frame.lanes if lane.lane == self.lane), None)
        self.pending.settle(frame.applied)
        pictures = {} if lane is None else lane.pictures
        self._set_photograph(frame)
        self.set_layers(frame.shape, frame.layers, pictures, frame.rectangle, frame.stride)

    def _set_photograph(self, frame: Frame) -> None:
        if frame.backdrop is None:
            self.backdrop = None
        elif self.backdrop is None or self.backdrop.rgb is not frame.backdrop:
            self.backdrop = Backdrop(frame.backdrop)
        palette = tuple((each.number, each.colour) for each in frame.labels)
        if palette != self.look.palette:
            self.look = replace(self.look, palette=palette, labels=max(len(palette), 2))

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
        self._part = ImagePart((top, left), (height, width), stride)
        self.pending.set_base(given, self._part)
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

    def changed(self) -> None:
        """Blend again at the next painting."""
        self._blended = self._before = None

    def paint(self, painter: QPainter, transform: Transform) -> None:
        """Draw the picture; `painter` clips to the part that must be drawn."""
        top, left, height, width = self.rectangle
        if not height or not width:
            return
        if self._blended is None:
            self._blended = self._blend()
        painter.fillRect(transform.rectangle(0, 0, *self.shape), QColor(self.look.colours.paper))
        if self.backdrop is not None and (self.original_only or "photograph" in self.visible):
            painter.setOpacity(1.0 if self.original_only else self.visible["photograph"])
            self.backdrop.paint(painter, transform)
            painter.setOpacity(1.0)
        place = transform.rectangle(top, left, height, width)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, transform.scale < 1)
        draw_visible(painter, place, self._blended)
        if self.wipe and not self.original_only:
            self._paint_before(painter, transform, place)
        if "hints" in self.visible and not (self.original_only or self.results_only) and self._preview is None:
            painter.setOpacity(self.visible["hints"])
            self._stripes.paint(painter, place)
            painter.setOpacity(1.0)

    def _paint_before(self, painter: QPainter, transform: Transform, place: QRectF) -> None:
        """What was given, left of the wipe."""
        if self._before is None:
            self._before = self._blend(results=False)
        whole = transform.rectangle(0, 0, *self.shape)
        whole.setWidth(whole.width() * (self.wipe or 0.0))
        painter.save()
        painter.setClipRect(whole, Qt.ClipOperation.IntersectClip)
        painter.fillRect(whole, QColor(self.look.colours.paper))
        if self.backdrop is not None:
            self.backdrop.paint(painter, transform)
        draw_visible(painter, place, self._before)
        painter.restore()

    def _blend(self, results: bool = True) -> QImage:
        """All layers in one image; without `results` only what a person gave."""
        given = self.pending.layers()
        if self._preview is not None:
            given = {**given, "observed": self._preview}
        size = next((array.shape[:2] for array in given.values()), self._part.size)
        blended = QImage(size[1], size[0], QImage.Format.Format_ARGB32_Premultiplied)
        blended.fill(QColor(self.look.colours.paper) if self.backdrop is None else Qt.GlobalColor.transparent)
        painter = QPainter(blended)
        grey = self.original_only or ("grey" in self.visible and not self.results_only)
        if self._original is not None and grey:
            self._draw(painter, "grey", self._original, 1.0 if self.original_only else self.visible["grey"])
        for name in GIVEN[1:]:
            shown = name in ORIGINAL and self._original is None if self.original_only else name in self.visible
            if name in given and shown and not self.results_only:
                array = doubt(given[name], given.get("mask_strength")) if name == "mask" else given[name]
                fresh = name == "mask" or name in self.pending.fresh
                self._draw(painter, name, array, self.visible.get(name, 1.0), fresh=fresh)
        if results and not self.original_only and self._preview is None:
            self._blend_results(painter, given)
        painter.end()
        return blended

    def _blend_results(self, painter: QPainter, given: Mapping[str, np.ndarray]) -> None:
        dim = DIMMED if self.dimmed else 1.0
        for name in INFERRED:
            if name in self._inferred and name in self.visible:
                self._draw(painter, name, self._inferred[name], self.visible[name] * dim)
        touched = self.pending.touched("observed")
        if touched is not None and "observed" in self.visible:
            # Strokes that no frame shows yet are drawn over the results: painting is seen at once.
            solid = np.uint32(0xFF000000) | np.uint32(QColor(self.look.colours.paper).rgb())
            pixels = layer_picture("observed", given["observed"], self.look)
            if pixels is not None:
                painter.drawImage(0, 0, as_image(np.where(touched, np.where(pixels == 0, solid, pixels), 0)))
        hidden = self.pending.touched("mask")
        if hidden is not None and "mask" in self.visible:
            # The same for pixels that become unknown, or known again.
            for name in ("picture", "mask"):
                array = doubt(given["mask"], given.get("mask_strength")) if name == "mask" else given[name]
                pixels = layer_picture(name, array, self.look)
                assert pixels is not None
                painter.drawImage(0, 0, as_image(np.where(hidden, pixels, 0)))
        if "strokes" in given and "strokes" in self.visible:
            self._draw(painter, "strokes", given["strokes"], self.visible["strokes"], "strokes" in self.pending.fresh)
            touched = self.pending.touched("strokes")
            if self.look.hollow and touched is not None:
                self._draw(painter, "fresh", np.where(touched, given["strokes"], 0), 1.0, fresh=True)
        if self.effect is not None and self.effect.shape == self.shape:
            self._draw(painter, "effect", self._cut(self.effect), 1.0, fresh=True)
        self._stripes.set_hints(given.get("hints"), given.get("hints_strength"), self.look)
        if self.lit_clone is not None and "clone" in self._inferred:
            glow = highlight(self._inferred["clone"] == self.lit_clone, self.look)
            painter.drawImage(painter.viewport(), as_image(glow))

    def _cut(self, image: np.ndarray) -> np.ndarray:
        """The part of a whole picture (H, W) that the arrays show."""
        (top, left), (height, width), stride = self._part.origin, self._part.size, self._part.stride
        return image[top : top + height : stride, left : left + width : stride]

    def _draw(self, painter: QPainter, name: str, array: np.ndarray, opacity: float, fresh: bool = False) -> None:
        known = self._cache.get(name)
        # An array with fresh strokes in it is drawn into again and again: its identity says nothing.
        if known is None or known[0] is not array or known[1] != self.look or fresh:
            pixels = layer_picture(name, array, self.look)
            if pixels is None:
                return
            known = (array, self.look, np.ascontiguousarray(pixels, np.uint32))
            self._cache[name] = known
        painter.setOpacity(opacity)
        painter.drawImage(painter.viewport(), as_image(known[2]))
        painter.setOpacity(1.0)


class Stripes:
    """Hints as stripes, made again only when they change and only for the part that has any."""

    def __init__(self) -> None:
        self._hints: np.ndarray | None = None
        self._strength: np.ndarray | None = None
        self._look = LayerStyle()
        self._pixels: np.ndarray | None = None
        self._part = QRectF()
        """Of the whole, in parts from 0 to 1."""

    def set_hints(self, array: np.ndarray | None, strength: np.ndarray | None, look: LayerStyle) -> None:
        """`array` (h, w) labels or NO_HINT, `strength` (h, w) in [0, 1]."""
        if _same(array, self._hints) and _same(strength, self._strength) and look.dark == self._look.dark:
            return
        # Copies: these arrays may have fresh strokes drawn into them later.
        self._hints = None if array is None else array.copy()
        self._strength = None if strength is None else strength.copy()
        self._look = look
        rows, columns = np.nonzero(array != NO_HINT) if array is not None else (np.array([]), np.array([]))
        self._pixels = None
        if array is None or not len(rows):
            return
        top, left, bottom, right = rows.min(), columns.min(), rows.max() + 1, columns.max() + 1
        cut = slice(top, bottom), slice(left, right)
        self._pixels = hints(array[cut], look, None if strength is None else strength[cut])
        height, width = array.shape
        self._part = QRectF(left / width, top / height, (right - left) / width, (bottom - top) / height)

    def paint(self, painter: QPainter, place: QRectF) -> None:
        """Draw into the place of the whole picture."""
        if self._pixels is not None:
            left, top = (
                place.left() + self._part.left() * place.width(),
                place.top() + self._part.top() * place.height(),
            )
            part = QRectF(left, top, self._part.width() * place.width(), self._part.height() * place.height())
            draw_visible(painter, part, as_image(self._pixels))


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


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
