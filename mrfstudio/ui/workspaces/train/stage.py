"""What stands in the middle of Train: the wall of queries, or the plane for models whose data are points."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.training import Snapshot
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.workspaces.train.model_picture import ModelPicture
from mrfstudio.ui.workspaces.train.plane import LAYERS, PlaneCanvas
from mrfstudio.ui.workspaces.train.query_wall import QueryWall

HELP = {
    "density": "How dense the model takes the points to be: a hue a component, lines of equal density.",
    "points": "The points that it learns from, coloured by the component that claims them.",
    "samples": "Points drawn from the model: crosses.",
    "plan": "Where the mass of generated points is carried: a line to each point of the data, darker for more.",
}
PAINT = "Left button adds points, right button removes them; [ and ] change the brush."
WAIT = "Start a run, or go on with this one, to paint points while it learns."

NARROW_ROW = 2  # switches in a row where there is little room


class TrainStage(QStackedWidget):
    """Shows the wall, or the plane with its switches."""

    def __init__(self, wall: QueryWall, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.wall, self.plane = wall, PlaneCanvas()
        self.switches = {name: QCheckBox(name.capitalize() + " ") for name in LAYERS}
        self.hint = QLabel(WAIT, wordWrap=True)
        self.hint.setObjectName("muted")
        self._row = QGridLayout()
        self._row.setHorizontalSpacing(px(self, 10))
        self._row.setVerticalSpacing(px(self, 2))
        for name, box in self.switches.items():
            box.setChecked(self.plane.layers[name])
            box.setToolTip(HELP[name])
            box.toggled.connect(lambda shown, layer=name: self.plane.set_layer(layer, shown))
        with_plane = QWidget()
        column = QVBoxLayout(with_plane)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(px(self, 4))
        column.addLayout(self._row)
        column.addWidget(self.plane, 1)
        column.addWidget(self.hint)
        self.addWidget(wall)
        self.addWidget(with_plane)
        self.set_narrow(False)

    def set_narrow(self, narrow: bool) -> None:
        """Switches in one row; where there is little room in two, and the hint is in the plane's tip."""
        in_a_row = NARROW_ROW if narrow else len(self.switches)
        for index, box in enumerate(self.switches.values()):
            self._row.removeWidget(box)
            self._row.addWidget(box, *divmod(index, in_a_row))
        for column in range(len(self.switches) + 1):
            self._row.setColumnStretch(column, int(column == in_a_row))
        self.hint.setVisible(not narrow)
        self._show_tip()

    def set_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show a moment of a run; without one the plane stays if it was there, empty."""
        self.wall.set_snapshot(snapshot)
        plane = None if snapshot is None else snapshot.plane
        self.plane.set_picture(plane)
        if snapshot is not None:
            self.setCurrentIndex(0 if plane is None else 1)
            self.switches["plan"].setVisible(plane is not None and len(plane.lines) > 0)

    def set_live(self, live: bool) -> None:
        """Whether a run goes on that would learn from what is painted."""
        self.plane.can_paint = live
        words = PAINT if live else WAIT
        if self.hint.text() != words:
            self.hint.setText(words)
            self._show_tip()

    def _show_tip(self) -> None:
        self.plane.setToolTip(self.hint.text() if self.hint.isHidden() else "")


class AnswersOnStage(QWidget):
    """The same for a hall, without switches: answers and inside of the run that is looked at, or its plane."""

    def __init__(self, empty_text: str, snapshot: Snapshot | None) -> None:
        super().__init__()
        self.wall, self.inside, self.plane = QueryWall(), ModelPicture(), PlaneCanvas()
        self.wall.set_empty_text(empty_text)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget, share in ((self.wall, 5), (self.plane, 5), (self.inside, 3)):
            row.addWidget(widget, share)
        self.set_snapshot(snapshot)

    def set_snapshot(self, snapshot: Snapshot | None) -> None:
        plane, panels = (None, ()) if snapshot is None else (snapshot.plane, snapshot.pictures)
        self.wall.set_snapshot(snapshot)
        self.plane.set_picture(plane)
        self.inside.set_panels(panels)
        self.wall.setVisible(plane is None)
        self.plane.setVisible(plane is not None)
        self.inside.setVisible(bool(panels))
