"""Small dialogs about drawings: how wide gaps may be that are closed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QLabel, QSpinBox, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.commands import WIDEST_GAP


class GapDialog(QDialog):
    """Accepted, `gap` says how many pixels may lie between two ends of lines that are joined."""

    def __init__(self, gap: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Close gaps")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.gap = QSpinBox(minimum=1, maximum=WIDEST_GAP, value=gap, suffix=" pixels")
        self.gap.setToolTip("Ends of lines that at most so many pixels keep apart are joined by a straight line.")
        self.gap.selectAll()  # what is typed replaces it
        note = QLabel("Each end is joined to the nearest other end. Undo takes it back.", wordWrap=True)
        note.setProperty("role", "muted")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        buttons.button(QDialogButtonBox.StandardButton.Ok).setText("Close gaps")
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        form = QFormLayout()
        form.addRow("Gaps &up to", self.gap)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(note)
        layout.addWidget(buttons)
