"""The order in which Tab goes through the window: as it is laid out, not as its parts were made.

Forms are built again with another algorithm, and workspaces when they are first shown; Qt puts such widgets at
the end of its own order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QLayout, QScrollArea, QSplitter, QTabWidget, QWidget


def move_focus(places: Iterable[QWidget], forward: bool) -> bool:
    """Give the focus to the next control in these places, or to the one before; False where there is none."""
    order = [widget for place in places for widget in in_order(place)]
    if not order:
        return False
    now = QApplication.focusWidget()
    while now is not None and now not in order:  # such as the line of a box for numbers
        now = now.parentWidget()
    step = 1 if forward else -1
    following = order[(order.index(now) + step) % len(order)] if now is not None else order[0 if forward else -1]
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    following.setFocus(reason)
    _reveal(following)
    return True


def in_order(widget: QWidget) -> Iterator[QWidget]:
    """What Tab can reach in a widget, from its first row to its last."""
    if not widget.isVisible():
        return
    if widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
        yield widget
    for inner in _parts(widget):
        yield from in_order(inner)


def _parts(widget: QWidget) -> Iterator[QWidget]:
    """Its children in the order in which they are seen."""
    layout = widget.layout()
    if isinstance(widget, QDockWidget):
        yield widget.widget()
        yield widget.titleBarWidget()
    elif isinstance(widget, QScrollArea):
        content = widget.widget()
        assert content is not None
        yield content
    elif isinstance(widget, QSplitter | QTabWidget):
        if isinstance(widget, QTabWidget):
            yield widget.tabBar()
        for index in range(widget.count()):
            inside = widget.widget(index)
            assert inside is not None
            yield inside
    elif layout is not None:
        yield from _laid_out(layout, widget)


def _laid_out(layout: QLayout, owner: QWidget) -> Iterator[QWidget]:
    """The widgets of a layout and of those inside it, which all belong to `owner`, in their order.

    Never by `itemAt`: its item dies in C++ with its widget, the Python object for it stays, and shiboken writes into
    freed memory as soon as something else that it knows has lived and died at that address.
    """
    inner = [(layout.indexOf(each), each) for each in owner.children() if isinstance(each, QWidget)]
    nested = [(layout.indexOf(each), each) for each in layout.children() if isinstance(each, QLayout)]
    places: list[tuple[int, QWidget | QLayout]] = [*inner, *nested]
    for place, each in sorted(places, key=lambda pair: pair[0]):
        if place < 0:
            continue
        if isinstance(each, QWidget):
            yield each
        else:
            yield from _laid_out(each, owner)


def _reveal(widget: QWidget) -> None:
    place = widget.parentWidget()
    while place is not None:
        if isinstance(place, QScrollArea):
            place.ensureWidgetVisible(widget)
        place = place.parentWidget()
