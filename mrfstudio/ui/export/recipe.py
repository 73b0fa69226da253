"""What a figure was made of, as options of a command: paper, canvas, and how each plot was looked at.

--plots 'residual:y=log:smooth=0.3;free energy:y=linear:across=second:part=0..2.5:without=1' --canvas 640x480
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.ui.export.paper import Paper
from mrfstudio.ui.plots.content import Range
from mrfstudio.ui.plots.plot import Plot

USUAL = "iteration"
LARGEST = 4000
"""Pixels of a canvas along a side."""


@dataclass(frozen=True)
class PlotLook:
    """One plot by its title, and how it is looked at. Ranges are parts of the axes that were zoomed into."""

    title: str
    log_x: bool = False
    log_y: bool = False
    smoothing: float = 0.0
    across: str = USUAL
    part: Range | None = None
    heights: Range | None = None
    without: tuple[int, ...] = ()
    """Lines that are switched off, by key."""

    @classmethod
    def of(cls, plot: Plot) -> PlotLook:
        content = plot.content
        hidden = tuple(sorted(content.hidden))
        return cls(
            content.title,
            plot.log_x,
            plot.log_y,
            plot.smoothing,
            content.across or USUAL,
            plot.zoom_x,
            plot.zoom_y,
            hidden,
        )

    @property
    def words(self) -> str:
        said = [self.title, *(["x=log"] if self.log_x else []), f"y={'log' if self.log_y else 'linear'}"]
        said += [f"smooth={self.smoothing:.6g}"] if self.smoothing else []
        said += [f"across={self.across}"] if self.across != USUAL else []
        for name, span in (("part", self.part), ("heights", self.heights)):
            said += [f"{name}={span[0]!r}..{span[1]!r}"] if span is not None else []
        said += [f"without={','.join(map(str, self.without))}"] if self.without else []
        return ":".join(said)

    @classmethod
    def from_words(cls, words: str) -> PlotLook:
        """The other way round. Raises `StudioError`."""
        title, *given = words.split(":")
        try:
            said = dict(each.split("=", 1) for each in given)
            look = cls(
                title.strip(),
                said.pop("x", "") == "log",
                said.pop("y", "") == "log",
                float(said.pop("smooth", "0")),
                said.pop("across", USUAL),
                _span(said.pop("part", "")),
                _span(said.pop("heights", "")),
                tuple(int(key) for key in said.pop("without", "").split(",") if key),
            )
            if said:
                raise ValueError(said)
        except ValueError:
            raise StudioError(
                f"--plots has {words!r}: expected a title, and behind colons any of x=log, y=log, smooth=0.3, "
                "across=second, part=0..50, heights=0..1 and without=1,2."
            ) from None
        return look

    def show(self, plot: Plot) -> None:
        """Make a plot look so."""
        if self.across != (plot.content.across or USUAL) and self.across in plot.units:
            plot.set_unit(self.across)
        if (plot.log_x, plot.log_y) != (self.log_x, self.log_y):
            plot.set_logarithmic(x=self.log_x, y=self.log_y)
        plot.set_smoothing(self.smoothing)
        plot.zoom_x, plot.zoom_y = self.part, self.heights
        for key in self.without:
            plot.content.switch(key)


def _span(words: str) -> Range | None:
    if not words:
        return None
    low, _, high = words.partition("..")
    return float(low), float(high)


def options_of(paper: Paper, plots: Sequence[Plot], canvas: QSize | None) -> list[str]:
    """The options of `mrfstudio replay --figure` that make a figure again."""
    words = ["--width", f"{paper.width:g}", "--height", f"{paper.height:g}", "--columns", str(paper.columns)]
    words += ["--points", f"{paper.points:g}", "--dpi", str(paper.resolution)]
    words += ["--font", paper.family] if paper.family else []
    words += ["--plots", ";".join(PlotLook.of(plot).words for plot in plots)] if plots else []
    return words + ([] if canvas is None else ["--canvas", f"{canvas.width()}x{canvas.height()}"])


def canvas_size(words: str) -> QSize | None:
    """The size of the canvas that is meant, in pixels of a screen; None where there is to be none."""
    if not words:
        return None
    wide, _, high = words.partition("x")
    if not (wide.isdecimal() and high.isdecimal() and 0 < int(wide) <= LARGEST and 0 < int(high) <= LARGEST):
        raise StudioError(f"--canvas is {words!r}: expected a size of at most {LARGEST} pixels, such as 640x480.")
    return QSize(int(wide), int(high))


def chosen(plots: Sequence[Plot], words: str) -> list[Plot]:
    """The plots that are named, as they are to look. Raises `StudioError`."""
    found = []
    for look in [PlotLook.from_words(each) for each in words.split(";") if each.strip()]:
        plot = next((each for each in plots if each.content.title == look.title), None)
        if plot is None:
            titles = ", ".join(each.content.title for each in plots if each.content.anything)
            raise StudioError(f"This session has no plot {look.title!r}: expected one of {titles}.")
        look.show(plot)
        found.append(plot)
    return found
