"""Take a digit or a shape from a data set and hide it in noise."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QWidget,
)

from mrfstudio.engine.protocol.answers import FigureSource, Picture
from mrfstudio.engine.protocol.requests.segment import MakeFigure
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.widgets.preview import LatestQuestion, PreviewDialog

FRAME = 2  # one pixel of background on every side comes on top of the figure's size


class ExampleDialog(PreviewDialog):
    """Accepted, `picture` is what to segment and `example` how it was made."""

    def __init__(
        self,
        controller: Controller,
        figures: tuple[FigureSource, ...],
        example: MakeFigure,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Digit or shape", "Drawing the figure…", parent)
        self._figures = {source.name: source for source in figures}
        self.dataset, self.kind = QComboBox(), QComboBox()
        self.size_box = QSpinBox(minimum=12, maximum=254, suffix=" pixels")
        self.edges = QSpinBox(minimum=0, maximum=500)
        self.deletion = QDoubleSpinBox(minimum=0.0, maximum=1.0, singleStep=0.05, decimals=2)
        self.seed = QSpinBox(minimum=0, maximum=2**31 - 1)
        self.another = QPushButton("Another")
        self._explain()
        self._build()
        self._fill(example)
        self._question = LatestQuestion(controller, self._show, self.refuse)
        self._connect()
        self._ask()

    @property
    def example(self) -> MakeFigure:
        return MakeFigure(
            dataset=self.dataset.currentData(),
            kind=self.kind.currentData() or "",
            seed=self.seed.value(),
            size=self.size_box.value(),
            edges=self.edges.value(),
            deletion=self.deletion.value(),
        )

    def _explain(self) -> None:
        self.dataset.setToolTip("Where the figure comes from. Generated figures need no download.")
        self.kind.setToolTip("Which digit or shape; “any” goes through all of them.")
        self.size_box.setToolTip("Height and width of the figure; a frame of two pixels is added.")
        self.edges.setToolTip("How many short edges that bound nothing are added.")
        self.deletion.setToolTip("The part of the true contour pixels that is hidden, from 0 to 1.")
        self.seed.setToolTip("The same number gives the same figure and the same noise.")
        self.another.setToolTip("Another figure and other noise.")

    def _build(self) -> None:
        form = QFormLayout()
        form.addRow("&Data set", self.dataset)
        form.addRow("&Figure", self.kind)
        form.addRow("&Size", self.size_box)
        form.addRow("S&purious edges", self.edges)
        form.addRow("De&leted contour", self.deletion)
        seed = QHBoxLayout()
        seed.addWidget(self.seed, 1)
        seed.addWidget(self.another)
        label = QLabel("Se&ed")  # a row that is a layout gets no buddy by itself
        label.setBuddy(self.seed)
        form.addRow(label, seed)
        self.arrange(form)

    def _fill(self, example: MakeFigure) -> None:
        for source in self._figures.values():
            self.dataset.addItem(source.title, source.name)
            index = self.dataset.count() - 1
            self.dataset.setItemData(index, source.missing or source.summary, Qt.ItemDataRole.ToolTipRole)
            item = self.dataset.model().item(index)  # type: ignore[attr-defined]  # a QComboBox has a standard model
            item.setEnabled(not source.missing)
        self.dataset.setCurrentIndex(max(self.dataset.findData(example.dataset), 0))
        self._fill_kinds()
        self.kind.setCurrentIndex(max(self.kind.findData(example.kind), 0))
        self.size_box.setValue(example.size)
        self.edges.setValue(example.edges)
        self.deletion.setValue(example.deletion)
        self.seed.setValue(example.seed)

    def _fill_kinds(self) -> None:
        self.kind.clear()
        self.kind.addItem("any", "")
        source = self._figures.get(self.dataset.currentData())
        for kind in source.kinds if source else ():
            self.kind.addItem(kind, kind)
        generated = bool(source and source.kinds)
        self.kind.setEnabled(generated)
        self.size_box.setEnabled(generated)

    def _connect(self) -> None:
        self.dataset.currentIndexChanged.connect(self._fill_kinds)
        for signal in (
            self.dataset.currentIndexChanged,
            self.kind.currentIndexChanged,
            self.size_box.valueChanged,
            self.edges.valueChanged,
            self.deletion.valueChanged,
            self.seed.valueChanged,
        ):
            signal.connect(self._ask)
        self.another.clicked.connect(lambda: self.seed.setValue(self.seed.value() + 1))
        self.finished.connect(self._question.end)

    def _ask(self) -> None:
        self._question.ask(self.example)

    def _show(self, picture: Picture) -> None:
        height, width = picture.observed.shape
        self.show_picture(picture, f"{picture.name}, {width}×{height} pixels; the true labels are known.")
