"""The middle of a workspace with a canvas: transport above, tools at the left, a strip or sliders below."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.keys import key_text
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.pages import PageTabs
from mrfstudio.ui.widgets.palette import Palette
from mrfstudio.ui.widgets.transport import TransportBar
from mrfstudio.ui.window.scrolling import VerticalScroll


class ActionButton(QToolButton):
    """Does one thing to the picture with one click: a small picture and a word or two."""

    def __init__(self, picture: str, name: str, help: str, key: str) -> None:
        super().__init__()
        self._picture = picture
        self.setText(name)
        self.setProperty("role", "small")
        self.setAccessibleName(name)
        self.setToolTip(f"<b>{name}</b> ({key_text(key)})<br>{help}")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus with the canvas
        self.set_narrow(False)
        self._follow_theme()

    def set_narrow(self, narrow: bool) -> None:
        style = Qt.ToolButtonStyle
        self.setToolButtonStyle(style.ToolButtonIconOnly if narrow else style.ToolButtonTextBesideIcon)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._follow_theme()

    def _follow_theme(self) -> None:
        # Of the window: the colour that the stylesheet gives small buttons hides from them whether it is light or dark.
        self.setIcon(icon(self._picture, self.window()))
        self.setIconSize(QSize(px(self, 16), px(self, 16)))


class Centre(QWidget):
    """The same places in every workspace."""

    def __init__(
        self,
        transport: TransportBar,
        advice: QWidget,
        palette: Palette,
        canvas: QWidget,
        below: Sequence[QWidget] = (),
        action_buttons: Sequence[ActionButton] = (),
    ) -> None:
        """`action_buttons` stand at the end of the line of advice."""
        super().__init__()
        self._action_buttons = action_buttons
        self._transport, self._palette = transport, palette
        self._tools = VerticalScroll(palette, always=False)
        self._tools.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, margin, margin, margin)
        column.setSpacing(px(self, 6))
        column.addWidget(transport)
        line = QHBoxLayout()
        line.addWidget(advice, 1)
        for button in action_buttons:
            line.addWidget(button)
        column.addLayout(line)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self._tools)
        self.pages = PageTabs(canvas)
        row.addWidget(self.pages, 1)
        column.addLayout(row, 1)
        for widget in below:
            column.addWidget(widget)

    def set_narrow(self, narrow: bool) -> None:
        """Tools and transport with few words, or with all of them."""
        self._transport.set_narrow(narrow)
        self._palette.set_narrow(narrow)
        self._tools.shrink()
        for button in self._action_buttons:
            button.set_narrow(narrow)
