"""The middle of a workspace with a canvas: transport above, tools at the left, a strip or sliders below."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.ui.panels.palette import Palette
from mrfstudio.ui.panels.transport import TransportBar
from mrfstudio.ui.shell import Scrolled
from mrfstudio.ui.theme import px


class Centre(QWidget):
    """The same places in every workspace."""

    def __init__(
        self, transport: TransportBar, advice: QWidget, palette: Palette, canvas: QWidget, below: Sequence[QWidget] = ()
    ) -> None:
        super().__init__()
        self._transport, self._palette = transport, palette
        self._tools = Scrolled(palette, always=False)
        self._tools.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, margin, margin, margin)
        column.setSpacing(px(self, 6))
        column.addWidget(transport)
        column.addWidget(advice)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self._tools)
        row.addWidget(canvas, 1)
        column.addLayout(row, 1)
        for widget in below:
            column.addWidget(widget)

    def set_narrow(self, narrow: bool) -> None:
        """Tools and transport with few words, or with all of them."""
        self._transport.set_narrow(narrow)
        self._palette.set_narrow(narrow)
        self._tools.shrink()
