"""A combo box that ends a choice it has no room for in an ellipsis, and says it whole in its tool tip."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter, QToolTip, QWidget

from mrfstudio.ui.widgets.number_box import WheelGuard

GAP = 4  # pixels that the style keeps free around the text


class ChoiceBox(QComboBox):
    """As wide as `letters` at least: what is chosen does not change the width of a panel.

    The wheel chooses only where the box has the focus: a person who scrolls a panel changes nothing on the way.
    """

    def __init__(self, letters: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(letters)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.installEventFilter(WheelGuard(self))

    def shown_text(self) -> str:
        """The choice as far as there is room for it."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        return self._elided(option)

    def _elided(self, option: QStyleOptionComboBox) -> str:
        field = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room.width() - GAP // 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        option.currentText = self._elided(option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def event(self, event: QEvent) -> bool:
        if (
            isinstance(event, QHelpEvent)
            and event.type() == QEvent.Type.ToolTip
            and self.shown_text() != self.currentText()
        ):
            words = f"<p><b>{escape(self.currentText())}</b></p><p>{escape(self.toolTip())}</p>"
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return super().event(event)
