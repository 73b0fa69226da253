"""One plot, wherever it stands: a heading that is the legend, axes, and what hands expect of a plot.

point       a crosshair, shared by all plots of the same axis, and the exact values
wheel       zoom; Shift zooms the heights alone; over the numbers of an axis, that axis
drag        pan; Home, or Reset in the menu, shows everything again
click       goes there, where that has a meaning; on a name in the heading it switches that line
double      the whole workspace
right       a menu: logarithmic axes, smoothing, lines, copies and files
keys        + and - zoom, arrows pan, Home resets, Enter enlarges, Shift+F10 or the menu key open the menu
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from mrfstudio.ui.plots import loading
from mrfstudio.ui.plots.content import Content, Crosshair, Range
from mrfstudio.ui.plots.coordinates import Coordinates
from mrfstudio.ui.plots.drawing.looks import Dress, View
from mrfstudio.ui.plots.heading import paint_heading
from mrfstudio.ui.plots.pace import PlotPace
from mrfstudio.ui.plots.tip import ValueTip
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px, unit_of
from mrfstudio.ui.widgets.pages import host_of

if TYPE_CHECKING:
    from mrfstudio.ui.plots.drawing.body import Body

NOTCH = 120.0  # what a wheel's step counts
ZOOM = 0.8  # how much is left in sight after one step
NEAR = 6  # design pixels within which a mark is pointed at
Key = Qt.Key


class Plot(Coordinates):
    """Shows a `Content`; several plots may show the same one."""

    clicked = Signal(float, float)
    """Where, in numbers of the axes."""

    def __init__(self, content: Content, crosshair: Crosshair | None = None, parent: QWidget | None = None) -> None:
        super().__init__(content, parent)
        self.crosshair = crosshair or Crosshair(self)
        self.can_be_logarithmic = True
        self.full_contrast = False
        """Whether the numbers of axes are as dark, or as bright, as other letters: a hall has to read them."""
        self.hits: list[tuple[QRectF, int]] = []
        """Where the heading has names that switch a line."""
        self._body: Body | None = None
        self._asked = self._stale = False
        self._margin = 0  # left of the area, as the body has it
        self._measured: tuple[Range, bool, float, int] | None = None  # for which numbers at the left have room
        self._pressed: QPointF | None = None
        self._dragged = False
        self._pace = PlotPace(self._redraw, self._glance, self)
        self._tip = ValueTip(self)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        content.changed.connect(self.refresh)
        self.crosshair.moved.connect(self._point)
        self.crosshair.counted.connect(self._count)
        self.describe()

    def describe(self) -> None:
        """Name and tool tip, from the content."""
        content = self.content
        unit = f" ({content.unit})" if content.unit else ""
        along = f" over {content.across}s" if content.across and content.lines is not None else ""
        self.setAccessibleName(f"{content.title}{unit}{along}")
        self.setWhatsThis(f"<b>{content.title}{unit}</b><br>{content.help}")

    def twin(self) -> Plot:
        """Another plot of the same content, to be shown large."""
        other = Plot(self.content, self.crosshair)
        other.look_like(self)
        other.can_be_logarithmic = self.can_be_logarithmic
        other.clicked.connect(self.clicked)
        return other

    def enlarge(self) -> None:
        """Show the same in the whole workspace, where there is one."""
        host = host_of(self)
        if host is not None and self.content.anything:
            from mrfstudio.ui.plots.large import LargePlot

            title = self.content.title or self.accessibleName() or "Plot"
            host.open_page(f"plot {title}", title, LargePlot(self.twin()))

    # Drawing ----------------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw again, soon; what nobody sees is drawn when it is looked at."""
        if self.isVisible():
            self._pace.ask()
        else:
            self._stale = True

    def now(self) -> None:
        """Be up to date at once, visible or not, as a picture of it must be."""
        self._build()
        self._redraw()

    def event(self, event: QEvent) -> bool:
        # Before the first time that it is seen, or that a picture of it is taken.
        if event.type() == QEvent.Type.Polish and not self._asked:
            self._asked = True
            loading.when_loaded(self._build_if_here)
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._redraw()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tip.hide()

    def _build_if_here(self) -> None:
        try:
            self._build()
            self._redraw()
        except RuntimeError:  # it was closed while the library was loaded
            return

    def _build(self) -> None:
        if self._body is None:
            from mrfstudio.ui.plots.drawing.body import Body

            self._body = Body(self.content, self)
            self._body.lower()
            self._body.show()
            self._dress()

    @property
    def body(self) -> Body:
        """What pyqtgraph draws."""
        self._build()
        assert self._body is not None
        return self._body

    def _dress(self) -> None:
        if self._body is None:
            return
        area, room, self._margin = self.area(), self.room(), self.margins()[0]
        left, bottom = (round(area.left()) if self.axes[0] else 0), (self.margins()[3] if self.axes[1] else 0)
        self._body.setGeometry(
            round(area.left()) - left - room,
            round(area.top()) - room,
            round(area.width()) + left + 2 * room,
            round(area.height()) + bottom + room,
        )
        colours = colours_of(self)
        if self.full_contrast:
            colours = replace(colours, muted=colours.text)
        self._body.dress(Dress(colours, self.font(), unit_of(self.font()), left, bottom, room, self.inverted))

    def view(self) -> View:
        cross = self.crosshair.x
        return View(
            self.span_x(),
            self.span_y(),
            self.log_x,
            self.log_y,
            self.smoothing,
            self.smallest,
            None if cross is None else float(self.across(np.array([cross]))[0]),
        )

    def _redraw(self) -> None:
        self._stale = False
        if self._body is None:
            return
        self._body.setVisible(self.content.anything)
        if self.content.anything:
            self._body.bottom.count_whole(self.whole_numbers and not self.log_x)
            self._body.left.name_cells(self.content.rows)
            self._body.bottom.name_cells(self.content.columns)
            self._body.draw(self.view())
            if self._make_room(self._body):
                self._body.draw(self.view())
        else:
            self.numbers_width = 0
        self.update()

    def _make_room(self, body: Body) -> bool:
        """Widen the axis at the left for numbers that would lose the digits in which they differ; whether it changed.

        It does not become narrow again by itself: nothing jumps while points arrive.
        """
        measured = (self.span_y(), self.log_y, self.area().height(), self.numbers_width)
        if self.axes[0] and measured != self._measured:
            letters = self.fontMetrics()
            widths = [letters.horizontalAdvance(text) for text in body.left.texts(*measured[0], measured[2])]
            self.numbers_width = max([self.numbers_width, *widths])
            self._measured = (*measured[:3], self.numbers_width)
        if self.margins()[0] == self._margin:
            return False
        self._dress()
        return True

    def _count(self, unit: str) -> None:
        if unit in self.units:
            self.set_unit(unit)

    def _point(self, x: float | None) -> None:
        """The crosshair has moved: seen at once under the pointer, in the plots beside it as soon as they may."""
        if self._body is None or not self.isVisible():
            return
        self._body.point(None if x is None else float(self.across(np.array([x]))[0]))
        if self.underMouse():
            self._glance()
        else:
            self._pace.glance()

    def _glance(self) -> None:
        """Show the crosshair and its values, and nothing else anew."""
        if self._body is not None:
            self._body.glance()
            self.update(0, 0, self.width(), self.heading_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._stale:
            self._redraw()
        painter = QPainter(self)
        colours, area = colours_of(self), self.area()
        if self.content.title and event.rect().top() < self.heading_height():
            self.hits = paint_heading(painter, self, self.content, self.reading(), self.heading_width())
        if self._body is None or not self.content.anything:
            painter.fillRect(area, QColor(colours.surface))
            painter.setPen(QColor(colours.muted))
            words = "" if self.content.anything else self.content.empty
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, words)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 1))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def reading(self) -> float | None:
        """Where the heading reads its values: under the crosshair, else where we are."""
        return self.content.present if self.crosshair.x is None else self.crosshair.x

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._dress()
        if self._body is not None and self.isVisible():
            self._redraw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        kinds = (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange)
        if event.type() in kinds and getattr(self, "_body", None) is not None:
            self.updateGeometry()
            self.numbers_width = 0
            self._dress()
            self._redraw()

    # Hands ------------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._dragged = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        here = event.position()
        if self._pressed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            far = (here - self._pressed).manhattanLength() > QApplication.startDragDistance()
            if far or self._dragged:
                self._dragged = True
                self._tip.hide()
                self.pan(here - self._pressed)
                self._pressed = here
                return
        self.hover(here)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        dragged, self._pressed = self._dragged, None
        if dragged:
            return
        key = next((key for box, key in self.hits if box.contains(event.position())), None)
        if key is not None:
            self.content.switch(key)
        elif event.position().y() >= self.area().top() or not self.content.title:
            self.on_click(event.position())

    def on_click(self, point: QPointF) -> None:
        self.clicked.emit(*self.at(point))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        if event.button() == Qt.MouseButton.LeftButton:
            self.enlarge()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.content.anything:
            event.ignore()
            return
        here, turned = event.position(), event.angleDelta().y() or event.angleDelta().x()
        area = self.area()
        over_numbers = here.x() < area.left()
        upright = over_numbers or bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        both = not self.fits or not self.content.lines
        self.zoom(ZOOM ** (turned / NOTCH), here, across=not upright, up=upright or (both and here.y() < area.bottom()))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, middle = Key(event.key()), self.area().center()
        steps = {Key.Key_Left: QPointF(20, 0), Key.Key_Right: QPointF(-20, 0)}
        if self.zoomed and not self.content.lines:
            steps |= {Key.Key_Up: QPointF(0, 20), Key.Key_Down: QPointF(0, -20)}
        if key == Key.Key_Home:
            self.reset()
        elif key in (Key.Key_Plus, Key.Key_Equal, Key.Key_Minus):
            self.zoom(1 / ZOOM if key == Key.Key_Minus else ZOOM, middle, up=not self.content.lines)
        elif key in steps:
            self.pan(steps[key])
        elif key in (Key.Key_Return, Key.Key_Enter):
            self.enlarge()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.open_menu(event.globalPos())

    def open_menu(self, where: QPoint) -> None:
        """Everything that can be done with a plot."""
        from mrfstudio.ui.plots.menu import menu_of

        menu = menu_of(self)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(where)

    def hover(self, point: QPointF) -> None:
        """Show crosshair and exact values under a point of the widget."""
        inside = self.area().contains(point)
        self.setCursor(
            Qt.CursorShape.PointingHandCursor
            if any(box.contains(point) for box, _ in self.hits)
            else Qt.CursorShape.CrossCursor
            if inside and self.content.anything
            else Qt.CursorShape.ArrowCursor
        )
        x, y = self.at(point)
        if self.content.lines or self.units:
            self.crosshair.move(self.snapped(10.0**x if self.log_x else x) if inside else None)
        words = self.words_at(x, y, point) if inside and self.content.anything else ""
        self._tip.show_words(words, point)

    def snapped(self, x: float) -> float:
        """Where the crosshair stands: at a whole number where only those have a meaning."""
        return float(round(x)) if self.whole_numbers else x

    def words_at(self, x: float, y: float, point: QPointF) -> str:
        """Exact values under the pointer, as rich text."""
        from mrfstudio.ui.plots.heading import words_at

        near = px(self, NEAR) / self.area().width() * (self.span_x()[1] - self.span_x()[0])
        return words_at(self, x, y, near)

    def leaveEvent(self, event: QEvent) -> None:
        self.crosshair.move(None)
        self._tip.hide()
