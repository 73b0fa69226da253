"""The menu of a plot: axes, smoothing, lines, copies and files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QIcon, QPixmap
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QMenu, QSlider, QWidget, QWidgetAction

from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.pages import host_of

STEPS = 100
"""Places of the slider."""


def menu_of(plot: Plot) -> QMenu:
    """Everything that can be done with a plot, as it is now."""
    menu = QMenu(plot)
    menu.setToolTipsVisible(True)
    enlarge = _add(menu, "Enlarge", plot.enlarge, "Show it in the whole workspace. A double click does the same.")
    enlarge.setEnabled(host_of(plot) is not None and plot.content.anything)
    _add(menu, "Reset zoom", plot.reset, "Show everything again (Home).").setEnabled(plot.zoomed)
    if plot.content.lines:
        _axes(menu, plot)
    if len(plot.units) > 1:
        _units(menu.addMenu("Across"), plot)
    if len(plot.content.switches()) > 1:
        _lines(menu.addMenu("Show"), plot)
    menu.addSeparator()
    _add(menu, "Copy picture", lambda: copy_picture(plot), "Into the clipboard, as it looks now.")
    _add(menu, "Copy numbers", lambda: QApplication.clipboard().setText(plot.content.to_csv()), "As a table.")
    menu.addSeparator()
    for words, ending in (("Save as PNG…", "png"), ("Save as SVG…", "svg"), ("Save numbers as CSV…", "csv")):
        _add(menu, words, partial(ask_and_save, plot, ending), "")
    return menu


def _add(menu: QMenu, words: str, do: Callable[[], object], help: str) -> QAction:
    action = menu.addAction(words)
    action.setToolTip(help)
    action.triggered.connect(lambda _=False: do())
    return action


def _tick(menu: QMenu, words: str, on: bool, do: Callable[[bool], object], help: str = "") -> QAction:
    action = menu.addAction(words)
    action.setCheckable(True)
    action.setChecked(on)
    action.setToolTip(help)
    action.toggled.connect(do)
    return action


def _axes(menu: QMenu, plot: Plot) -> None:
    menu.addSeparator()
    about = "Powers of ten at equal distances: small values then change as visibly as large ones."
    if plot.can_be_logarithmic:
        _tick(menu, "Logarithmic heights", plot.log_y, lambda on: plot.set_logarithmic(y=on), about)
    _tick(menu, f"Logarithmic {plot.content.across or 'x'}", plot.log_x, lambda on: plot.set_logarithmic(x=on), about)
    fits = "Wheel and drag then move along the axis alone, and heights follow what is in sight."
    _tick(menu, "Fit heights to what is in sight", plot.fits, lambda on: set_fits(plot, on), fits)
    menu.addAction(_Smoothing(plot, menu))


def _units(menu: QMenu, plot: Plot) -> None:
    """What the horizontal axis counts, here and in the plots beside it."""
    for unit in plot.units:
        count = partial(plot.crosshair.counted.emit, unit)
        _tick(menu, f"{unit}s", unit == plot.content.across, partial(_ignoring, count))


def _ignoring(do: Callable[[], object], _: bool) -> None:
    """A tick that only says that something is to happen."""
    do()


def set_fits(plot: Plot, on: bool) -> None:
    plot.fits = on
    plot.zoom_y = None
    plot.refresh()


def _lines(menu: QMenu, plot: Plot) -> None:
    for key, (name, paint) in plot.content.switches().items():
        swatch = QPixmap(px(plot, 12), px(plot, 12))
        swatch.fill(paint(colours_of(plot)))
        on = key not in plot.content.hidden
        action = _tick(menu, name or str(key), on, partial(_ignoring, partial(plot.content.switch, key)))
        action.setIcon(QIcon(swatch))


class _Smoothing(QWidgetAction):
    """A slider in the menu."""

    def __init__(self, plot: Plot, menu: QMenu) -> None:
        super().__init__(menu)
        self.setDefaultWidget(smoothing_slider(plot))


def smoothing_slider(plot: Plot) -> QWidget:
    """How much of the noise is averaged away."""
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(px(plot, 8), px(plot, 2), px(plot, 8), px(plot, 2))
    label, slider = QLabel("&Smoothing"), QSlider(Qt.Orientation.Horizontal)
    label.setBuddy(slider)
    slider.setRange(0, STEPS)
    slider.setValue(round(plot.smoothing**2 * STEPS))
    slider.setMinimumWidth(px(plot, 90))
    slider.setAccessibleName("Smoothing")
    slider.setToolTip("A running mean over more and more points; the numbers below stay as measured.")
    slider.valueChanged.connect(lambda value: plot.set_smoothing((value / STEPS) ** 0.5 * 0.995))
    row.addWidget(label)
    row.addWidget(slider, 1)
    return holder


def copy_picture(plot: Plot) -> None:
    """The plot as it looks now, into the clipboard."""
    from mrfstudio.ui.export.pictures import drawing_of

    plot.now()
    QApplication.clipboard().setImage(drawing_of(plot).image())


def save_plot(plot: Plot, path: Path) -> None:
    """Write picture or numbers, as the ending says."""
    from mrfstudio.ui.export.pictures import drawing_of, save_drawing, save_text

    if path.suffix.lower() == ".csv":
        save_text(plot.content.to_csv(), path)
    else:
        plot.now()
        save_drawing(drawing_of(plot), path, plot.content.title)


def ask_and_save(plot: Plot, ending: str) -> None:
    """Ask where to, and write."""
    from mrfstudio.ui.export.pictures import CSV, PNG, SVG, ExportError, ask_path
    from mrfstudio.ui.window.settings import Settings

    host = host_of(plot)
    settings = getattr(host, "settings", None) or Settings()
    name = "".join(letter if letter.isalnum() else "-" for letter in plot.content.title or "plot").strip("-")
    kinds = {"png": PNG, "svg": SVG, "csv": CSV}
    path = ask_path(plot, settings, "Save plot", f"{name}.{ending}", [kinds[ending]])
    if path is None:
        return
    try:
        save_plot(plot, path)
    except ExportError as error:
        if host is not None:
            host.say(str(error))
