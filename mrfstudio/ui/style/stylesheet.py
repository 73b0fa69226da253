"""The stylesheet. Only what Fusion does not already do well; every length is a design pixel times `unit`."""

from __future__ import annotations

from math import ceil
from string import Template

from mrfstudio.assets import asset
from mrfstudio.ui.style.colours import Colours

SHEET = Template(
    """
QToolTip { background: $surface; color: $text; border: 1px solid $outline; padding: ${p4}px; }
QMenuBar { background: $window; border-bottom: 1px solid $border; }
QMenuBar::item { padding: ${p6}px ${p8}px; background: transparent; }
QMenuBar::item:selected { background: $accent_soft; border-radius: ${p4}px; }
QMainWindow::separator { background: $border; width: ${p4}px; height: ${p4}px; }
QMainWindow::separator:hover { background: $accent; }
QDockWidget::title { background: $window; padding: ${p6}px ${p8}px; font-weight: 600; }
QDockWidget[floating="true"] { border: ${p2}px solid $outline; background: $window; }
QLabel[role="tip"] { background: $surface; color: $text; border: 1px solid $outline; padding: ${p2}px ${p4}px; }
QToolBar { border: none; spacing: ${p4}px; padding: ${p4}px; background: $window; }
QStatusBar { background: $window; border-top: 1px solid $border; }
QStatusBar::item { border: none; }

QToolButton { border: 2px solid transparent; border-radius: ${p6}px; padding: ${p4}px; background: transparent; }
QToolButton:hover { background: $raised; }
QToolButton:pressed, QToolButton:checked { background: $accent_soft; }
QToolButton:checked { border-color: $accent; }
QToolButton:focus { border-color: $focus; }
QToolButton:checked:focus { border-color: $text; }
QToolButton[role="tool"] { padding: ${p2}px ${p4}px; }
QToolButton::menu-indicator { image: none; }
QToolButton[role="small"] { border: 1px solid $border; border-radius: ${p4}px; padding: 0 ${p4}px; color: $muted; }
QToolButton[role="small"]:checked { border-color: $accent; color: $text; }
QToolButton[role="small"]:focus { border-color: $text; color: $text; background: $accent_soft; }

QPushButton { border: 1px solid $outline; border-radius: ${p6}px; padding: ${p5}px ${p12}px; background: $surface; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton:hover { background: $raised; }
QPushButton:pressed, QPushButton:checked { background: $accent_soft; border-color: $accent; }
QPushButton:focus { border: 2px solid $focus; padding: ${q5}px ${q12}px; }
QPushButton:disabled { border-color: $border; }
QPushButton:default { background: $accent; color: $accent_text; border-color: $accent; }
QPushButton:default:disabled { background: $window; color: $outline; border-color: $border; }

QComboBox, QAbstractSpinBox, QLineEdit {
  border: 1px solid $outline; border-radius: ${p4}px; padding: ${p2}px ${p6}px; background: $surface;
  selection-background-color: $accent; selection-color: $accent_text;
}
QComboBox:hover { background: $raised; }
QComboBox:focus, QAbstractSpinBox:focus, QLineEdit:focus { border-color: $focus; background: $accent_soft; }
QComboBox:disabled, QAbstractSpinBox:disabled, QLineEdit:disabled { border-color: $border; background: $window; }
QComboBox { padding-right: ${p24}px; }
QComboBox::drop-down { border: none; width: ${p24}px; subcontrol-position: center right; }
QComboBox::down-arrow { image: url("$controls/down-$name.svg"); width: ${p12}px; height: ${p12}px; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $outline; outline: none; }
QAbstractSpinBox { padding-right: ${p20}px; }
QAbstractSpinBox > QLineEdit { border: none; background: transparent; }
QAbstractSpinBox::up-button { subcontrol-position: top right; border: none; width: ${p20}px; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; border: none; width: ${p20}px; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $raised; }
QAbstractSpinBox::up-arrow { image: url("$controls/up-$name.svg"); width: ${p8}px; height: ${p8}px; }
QAbstractSpinBox::down-arrow { image: url("$controls/down-$name.svg"); width: ${p8}px; height: ${p8}px; }
QAbstractSpinBox::up-arrow:off, QAbstractSpinBox::down-arrow:off { image: none; }

QCheckBox { spacing: ${p8}px; }
QCheckBox::indicator, QGroupBox::indicator, QTableView::indicator {
  width: ${p14}px; height: ${p14}px; border: 1px solid $outline; border-radius: ${p4}px; background: $surface;
}
QCheckBox::indicator:hover { border-color: $accent; background: $accent_soft; }
QCheckBox::indicator:checked, QGroupBox::indicator:checked, QTableView::indicator:checked {
  background: $accent; border-color: $accent; image: url("$controls/check-$name.svg");
}
QCheckBox::indicator:focus { border: 2px solid $focus; }
QCheckBox::indicator:disabled { border-color: $border; background: $window; }

QRadioButton { spacing: ${p4}px; }
QRadioButton::indicator {
  width: ${p14}px; height: ${p14}px; border: 1px solid $outline; border-radius: ${p7}px; background: $surface;
}
QRadioButton::indicator:hover { border-color: $accent; background: $accent_soft; }
QRadioButton::indicator:checked {
  width: ${p8}px; height: ${p8}px; border: ${p4}px solid $accent; background: $accent_text;
}
QRadioButton::indicator:focus { border-color: $focus; background: $accent_soft; }
QRadioButton::indicator:disabled { border-color: $border; background: $window; }

QSlider:horizontal { min-height: ${knob_room}px; }
QSlider::groove:horizontal { height: ${p4}px; border-radius: ${p2}px; background: $border; margin: 0 ${p2}px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: ${p2}px; }
QSlider::sub-page:horizontal:disabled { background: $border; }
QSlider::handle:horizontal {
  width: ${p12}px; height: ${p12}px; margin: -${knob_rise}px -${p2}px; border-radius: ${knob_radius}px;
  background: $surface; border: 2px solid $accent;
}
QSlider::handle:horizontal:hover { background: $accent_soft; }
QSlider::handle:horizontal:focus { background: $focus; border-color: $text; }
QSlider::handle:horizontal:disabled { border-color: $outline; background: $raised; }

QGroupBox {
  border: none; border-top: 1px solid $border; margin-top: ${title_room}px; padding-top: ${p4}px; font-weight: 600;
}
QGroupBox::title { subcontrol-origin: margin; subcontrol-position: top left; padding: ${p4}px 0; }

QTabBar::tab { padding: ${p6}px ${p12}px; border: none; border-bottom: 2px solid transparent; color: $muted; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:focus { background: $accent_soft; }
QTabWidget::pane { border: none; border-top: 1px solid $border; }

QScrollArea { border: none; background: transparent; }
QWidget#clear { background: transparent; }
QScrollBar:vertical { width: ${p12}px; background: transparent; margin: 0; }
QScrollBar:horizontal { height: ${p12}px; background: transparent; margin: 0; }
QScrollBar::handle { background: $outline; border-radius: ${p4}px; margin: ${p2}px; }
QScrollBar::handle { min-width: ${p24}px; min-height: ${p24}px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QHeaderView::section {
  background: $window; color: $muted; border: none; border-bottom: 1px solid $border; padding: ${p4}px ${p6}px;
}
QTableView, QListView { border: 1px solid $border; border-radius: ${p4}px; background: $surface; }
QTableView { gridline-color: $border; }
QTreeView { border: 1px solid $border; border-radius: ${p4}px; background: $surface; }
QTreeView::item { padding: ${p4}px; }
QPlainTextEdit, QTextEdit { border: 1px solid $border; border-radius: ${p4}px; background: $surface; }
QTableView:focus, QListView:focus, QTreeView:focus, QPlainTextEdit:focus, QTextEdit:focus { border-color: $focus; }
QScrollArea[role="page"] { border: 1px solid transparent; }
QScrollArea[role="page"]:focus { border-color: $focus; }
QLabel:focus { background: $accent_soft; }

QLabel[role="muted"] { color: $muted; }
QLabel[role="problem"] { color: $bad; }
QLabel[role="praise"] { color: $good; }
QLabel[role="heading"] { font-weight: 600; }
QLabel[role="key"] { background: $raised; border: 1px solid $border; border-radius: ${p4}px; padding: 1px ${p6}px; }
QFrame[role="message"] { background: $surface; border: 1px solid $accent; border-radius: ${p6}px; }
QFrame[role="panel"] { background: $surface; border: 1px solid $border; border-radius: ${p6}px; }
"""
)
LENGTHS = (2, 4, 5, 6, 7, 8, 12, 14, 20, 24)
LINE = 17  # design pixels of a line of text
BORDER = 2  # of a slider's knob, in pixels


def stylesheet(colours: Colours, unit: float) -> str:
    """The stylesheet for these colours, with lengths multiplied by `unit`."""
    lengths = {f"p{length}": max(1, round(length * unit)) for length in LENGTHS}
    # The focus border is one pixel thicker: the padding gives it back, so that nothing moves.
    lengths |= {f"q{length}": max(0, lengths[f"p{length}"] - 1) for length in (5, 12)}
    # Qt draws a square when the radius is more than half the knob, and cuts a knob that is taller than the slider.
    knob = lengths["p12"] + 2 * BORDER
    lengths |= {"knob_radius": knob // 2 - 1, "knob_rise": (knob - lengths["p4"]) // 2, "knob_room": knob + 4}
    # A title that is taller than its margin would lie on the line.
    lengths["title_room"] = ceil(LINE * unit) + 2 * lengths["p4"]
    names = {name: value for name, value in vars(colours).items() if isinstance(value, str)}
    controls = asset("icons", "controls").as_posix()
    return SHEET.substitute(names, controls=controls, **{name: str(value) for name, value in lengths.items()})
