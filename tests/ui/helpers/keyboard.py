"""A person without a mouse: Tab through a window, and what was not reached."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

KINDS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)
MOST = 300
"""More stops than any window has."""


def spoken(widget: QWidget) -> str:
    """What a screen reader says of a widget."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


def hears_the_mouse(widget: QWidget) -> bool:
    """Whether a class of this program does something where it is pressed."""
    own = (cls for cls in type(widget).__mro__ if cls.__module__.startswith("mrfstudio"))
    return any("mousePressEvent" in vars(cls) for cls in own)


def controls(root: QWidget) -> Iterator[QWidget]:
    """Everything that a hand with a mouse could use now; a heading of a table sorts, and its table has keys for it."""
    for widget in root.findChildren(QWidget):
        inner = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox | QTabBar | QLineEdit)
        alone = isinstance(widget, QTabBar) and widget.count() < 2
        if inner or alone or isinstance(widget, QScrollBar | QHeaderView):
            continue
        if widget.isVisible() and widget.isEnabled() and (isinstance(widget, KINDS) or hears_the_mouse(widget)):
            yield widget


def walked(key: Qt.Key = Qt.Key.Key_Tab) -> list[QWidget]:
    """Press a key until the focus is back where it began; every stop on the way. A text stops at each of its links."""
    stops: list[QWidget] = []
    focused = QApplication.focusWidget()
    while focused is not None and (focused not in stops[:1] or len(set(stops)) == 1):
        stops.append(focused)
        assert len(stops) < MOST, f"Tab never leaves {spoken(focused)!r}"
        QTest.keyClick(focused, key)
        focused = QApplication.focusWidget()
    return stops


def unreached(root: QWidget, stops: list[QWidget]) -> list[str]:
    """Controls that neither Tab nor arrows nor keys of their own get to."""
    return [f"{type(each).__name__} {spoken(each)!r}" for each in controls(root) if not _reached(each, stops)]


def _reached(widget: QWidget, stops: list[QWidget]) -> bool:
    if widget in stops or widget.focusProxy() in stops:
        return True
    if not isinstance(widget, QAbstractButton):
        return False
    siblings = [] if widget.group() is None else widget.group().buttons()
    if widget.autoExclusive() and widget.parentWidget() is not None:
        siblings += widget.parentWidget().findChildren(QAbstractButton)
    if any(each in stops for each in siblings):  # arrows go on from there
        return True
    actions = [*widget.actions(), *([widget.defaultAction()] if isinstance(widget, QToolButton) else [])]
    keys = [widget.shortcut(), *(action.shortcut() for action in actions if action is not None)]
    return any(not each.isEmpty() for each in keys) or "(Ctrl+" in widget.toolTip()


def looks_the_same(stop: QWidget) -> bool:
    """Whether a control with the focus cannot be told from the same one without it."""
    stop.setFocus(Qt.FocusReason.TabFocusReason)
    focused = stop.grab().toImage()
    stop.clearFocus()
    same = stop.grab().toImage() == focused
    stop.setFocus(Qt.FocusReason.TabFocusReason)
    return same
