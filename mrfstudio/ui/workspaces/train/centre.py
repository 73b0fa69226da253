"""The middle of Train: answers beside what the model has learned, snapshots below, and a tab with all runs."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QTabWidget, QVBoxLayout, QWidget

from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.pages import PageTabs


class TrainCentre(QWidget):
    """Lays out the widgets of the workspace."""

    def __init__(
        self, bar: QWidget, advice: QWidget, stage: QWidget, picture: QWidget, snapshots: QWidget, table: QWidget
    ) -> None:
        super().__init__()
        watch = QWidget()
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(stage)
        split.addWidget(picture)
        split.setStretchFactor(0, 5)
        split.setStretchFactor(1, 2)
        split.setSizes([680, 280])
        split.setChildrenCollapsible(False)
        inside = QVBoxLayout(watch)
        inside.setContentsMargins(0, px(watch, 6), 0, 0)
        inside.addWidget(split, 1)
        inside.addWidget(snapshots)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName("Watch and runs")
        self.tabs.addTab(watch, "Watch")
        self.tabs.addTab(table, "Runs")
        self.tabs.setTabToolTip(0, keyed("The run that is looked at: its answers, its inside, its snapshots. (Ctrl+T)"))
        self.tabs.setTabToolTip(1, keyed("Every run there is: compare, rename, duplicate, delete. (Ctrl+T)"))
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, margin, margin, margin)
        column.setSpacing(px(self, 6))
        column.addWidget(bar)
        column.addWidget(advice)
        self.pages = PageTabs(self.tabs, "Training")
        column.addWidget(self.pages, 1)

    def add_tab(self, widget: QWidget, title: str, help: str) -> None:
        """One more tab, at the end."""
        self.tabs.setTabToolTip(self.tabs.addTab(widget, title), help)
