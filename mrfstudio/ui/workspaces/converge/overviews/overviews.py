"""What shows the whole graph of Converge in another way: map of σ_max, regions, the lattice of a text, the arena."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt

from mrfstudio.engine.protocol.commands import SetAlgorithm, SetParameter, SetStrength
from mrfstudio.engine.protocol.frames import Frame, LaneFrame
from mrfstudio.ui.window.actions import SHOW_LATTICE, SHOW_REGIONS, SHOW_SIGMA_MAP, ActionHandlers
from mrfstudio.ui.workspaces.converge.actions import SHOW_ARENA
from mrfstudio.ui.workspaces.converge.overviews.lattice_panel import LATTICE_HELP, LatticePanel
from mrfstudio.ui.workspaces.converge.overviews.region_view import RegionPanel
from mrfstudio.ui.workspaces.converge.overviews.sigma_panel import SigmaPanel
from mrfstudio.ui.workspaces.shared.view import ExtraDock

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.converge.view import ConvergeView

MAP, REGIONS, LATTICE, ARENA = "sigma_map", "regions", "lattice", "arena"


class Overviews(QObject):
    """The panels, what they show, and which of them is there."""

    def __init__(self, workspace: ConvergeView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.sigma, self.regions = SigmaPanel(), RegionPanel()
        self.lattice = LatticePanel(workspace.controller, workspace)
        self.arena: Any = None
        """The page, once it was opened."""
        self._regions_shown = False
        self.sigma.chosen.connect(self.go_to)
        self.regions.lit.connect(workspace.canvas.light_nodes)
        workspace.canvas.node_clicked.connect(self.regions.light)
        workspace.questions.sigma_map.connect(self.sigma.set_map)
        workspace.questions.no_map.connect(self.sigma.say)

    # Places -----------------------------------------------------------------------------------------------------------

    def docks(self) -> list[ExtraDock]:
        right = Qt.DockWidgetArea.RightDockWidgetArea
        about_regions = "The regions of gbp, renn or bethe-net: levels, counting numbers, beliefs and disagreements."
        about_map = "σ_max over α and coupling: where convergence is certain. Click to go there."
        return [
            ExtraDock(MAP, "Map of σ_max", self.sigma, right, about_map),
            ExtraDock(REGIONS, "Regions", self.regions, right, about_regions),
            ExtraDock(LATTICE, "Lattice", self.lattice, Qt.DockWidgetArea.BottomDockWidgetArea, LATTICE_HELP),
        ]

    def action_handlers(self) -> ActionHandlers:
        toggled = self._workspace.dock_toggled
        return {
            SHOW_REGIONS: lambda: toggled.emit(REGIONS),
            SHOW_LATTICE: lambda: toggled.emit(LATTICE),
            SHOW_SIGMA_MAP: lambda: toggled.emit(MAP),
            SHOW_ARENA: self.show_arena,
        }

    def on_dock(self, name: str, shown: bool) -> bool:
        """Whether a dock or page that was shown or hidden is one of these."""
        if name == MAP:
            self._workspace.questions.show_map(shown)
        elif name == LATTICE:
            self.lattice.set_shown(shown)
            self._workspace.send_view()
        elif name == REGIONS:
            self._regions_shown = shown
            if not shown:
                self._workspace.canvas.light_nodes(())
            self._workspace.send_view()
        else:
            return name == ARENA
        return True

    def show_arena(self) -> None:
        """The arena as a page; what it runs goes on where the page is closed."""
        from mrfstudio.ui.workspaces.converge.overviews.arena_page import ArenaPage

        if self.arena is None:
            self.arena = ArenaPage(self._workspace.controller)
        pages = self._workspace.centre.pages
        if ARENA in pages.names():
            pages.choose(ARENA)
        else:
            pages.open(ARENA, "Arena", self.arena, SHOW_ARENA.help, self.arena.hide)

    # Frames -----------------------------------------------------------------------------------------------------------

    @property
    def wanted_pictures(self) -> set[str]:
        """What frames must carry for the panels that are there."""
        return self.lattice.wanted_pictures | ({REGIONS} if self._regions_shown else set())

    def set_frame(self, frame: Frame, lane: LaneFrame) -> None:
        if frame.graph is None:
            return
        if self._regions_shown:
            self.regions.set_pictures(lane.pictures, frame.graph, frame.lanes)
        self.sigma.set_point(alpha_of(lane), float(frame.graph.strengths["coupling"]))

    def go_to(self, alpha: float, coupling: float) -> None:
        """A point of the map was clicked."""
        lane = self._workspace.shown_now()
        if lane is None:
            return
        self._workspace.post(SetStrength("coupling", coupling))
        if lane.algorithm == "alpha-bp":
            self._workspace.post(SetParameter(lane.lane, "alpha", alpha))
        else:
            self._workspace.post(SetAlgorithm(lane.lane, "alpha-bp", {"alpha": alpha}))


def alpha_of(lane: LaneFrame) -> float | None:
    """The α of a lane: 1 for BP, None for algorithms without one."""
    if lane.algorithm == "alpha-bp":
        return float(lane.parameters["alpha"])
    return 1.0 if lane.algorithm == "bp" else None
