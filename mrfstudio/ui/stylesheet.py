"""The stylesheet. Only what Fusion does not already do well; every length is a design pixel times `unit`."""

from __future__ import annotations

from string import Template

from mrfstudio.ui.colours import Colours

SHEET = Template(
    """
QToolTip { background: $surface; color: $text; border: 1px solid $outline; padding: ${p4}px; }
QMainWindow::separator { background: $border; width: ${p4}px; height: ${p4}px; }
QMainWindow::separator:hover { background: $accent; }
QDockWidget::title { background: $window; padding: ${p6}px ${p8}px; font-weight: 600; }
QToolBar { border: none; spacing: ${p4}px; padding: ${p4}px; background: $window; }
QStatusBar { background: $window; border-top: 1px solid $border; }
QStatusBar::item { border: none; }

QToolButton { border: 2px solid transparent; border-radius: ${p6}px; padding: ${p4}px; background: transparent; }
QToolButton:hover { background: $raised; }
QToolButton:pressed, QToolButton:checked { background: $accent_soft; }
QToolButton:checked { border-color: $accent; }
QToolButton:focus { border-color: $focus; }
QToolButton::menu-indicator { image: none; }

QPushButton { border: 1px solid $outline; border-radius: ${p6}px; padding: ${p5}px ${p12}px; background: $surface; }
QPushButton:hover { background: $raised; }
QPushButton:pressed, QPushButton:checked { background: $accent_soft; border-color: $accent; }
QPushButton:focus { border: 2px solid $focus; padding: ${q5}px ${q12}px; }
QPushButton:disabled { border-color: $border; }
QPushButton:default { background: $accent; color: $accent_text; border-color: $accent; }

QSlider::groove:horizontal { height: ${p4}px; border-radius: ${p2}px; background: $border; }
QSlider::sub-page:horizontal { height: ${p4}px; border-radius: ${p2}px; background: $accent; }
QSlider::sub-page:horizontal:disabled { background: $border; }
QSlider::handle:horizontal {
  width: ${p12}px; height: ${p12}px; margin: -${p5}px 0; border-radius: ${p7}px;
  background: $surface; border: 2px solid $accent;
}
QSlider::handle:horizontal:hover { background: $accent_soft; }
QSlider::handle:horizontal:focus { background: $focus; border-color: $text; }
QSlider::handle:horizontal:disabled { border-color: $outline; background: $raised; }

QGroupBox { border: none; border-top: 1px solid $border; margin-top: ${p24}px; padding-top: ${p4}px; font-weight: 600; }
QGroupBox::title { subcontrol-origin: margin; subcontrol-position: top left; padding: ${p4}px 0; }

QTabBar::tab { padding: ${p6}px ${p12}px; border: none; border-bottom: 2px solid transparent; color: $muted; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:focus { background: $accent_soft; }
QTabWidget::pane { border: none; border-top: 1px solid $border; }

QScrollArea { border: none; background: transparent; }
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
QTableView:focus, QListView:focus { border-color: $focus; }

QLabel[role="muted"] { color: $muted; }
QLabel[role="problem"] { color: $bad; }
QLabel[role="heading"] { font-weight: 600; }
QFrame[role="panel"] { background: $surface; border: 1px solid $border; border-radius: ${p6}px; }
"""
)
LENGTHS = (2, 4, 5, 6, 7, 8, 12, 24)


def stylesheet(colours: Colours, unit: float) -> str:
    """The stylesheet for these colours, with lengths multiplied by `unit`."""
    lengths = {f"p{length}": max(1, round(length * unit)) for length in LENGTHS}
    # The focus border is one pixel thicker: the padding gives it back, so that nothing moves.
    lengths |= {f"q{length}": max(0, lengths[f"p{length}"] - 1) for length in (5, 12)}
    names = {name: value for name, value in vars(colours).items() if isinstance(value, str)}
    return SHEET.substitute(names, **{name: str(value) for name, value in lengths.items()})
