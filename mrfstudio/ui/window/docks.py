"""The panels around the canvas, and how much room the window has for them and for its text.

Controls are right, curves below; single workspaces add their own.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QWidget

from mrfstudio.ui.style.theme import px, unit_of
from mrfstudio.ui.widgets.pages import PageTabs
from mrfstudio.ui.window.scrolling import FONT_SETTLES, HorizontalScroll, VerticalScroll
from mrfstudio.ui.window.shell import TitleBar, dock
from mrfstudio.ui.workspaces.shared.view import ExtraDock, WorkspaceView

# Design pixels, see `theme.px`. Each lies a little above what the window needs without the change that it brings, so
# that the window can always be made small enough for the change to come.
TABBED = 1320.0
NARROW = 1090.0


class WidthWatcher(QObject):
    """Watches the width of a window in units of its text: 1280 pixels are plenty at 100 % and few at 200 %."""

    changed = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._unit = unit_of(window.font())  # told by the theme from then on: a window learns of its font later
        self.tabbed = False
        """Whether panels that stand beside each other are to share one place, with tabs."""
        self.narrow = False
        """Whether buttons are to show pictures and keys instead of words."""

    def look(self) -> None:
        """The window or its text has another size."""
        width = self._window.width() / self._unit
        self._set(width < TABBED, width < NARROW)

    def make(self, unit: float) -> None:
        """Text of this `unit` is about to come.

        Where it is larger, room is made before and not after it has come: Qt widens a window at once, and never makes
        it narrow again by itself.
        """
        self._unit = unit
        width = self._window.width() / unit
        self._set(self.tabbed or width < TABBED, self.narrow or width < NARROW)

    def _set(self, tabbed: bool, narrow: bool) -> None:
        if (tabbed, narrow) != (self.tabbed, self.narrow):
            self.tabbed, self.narrow = tabbed, narrow
            self.changed.emit()


RIGHT, BELOW = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
ACROSS, UPWARDS = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
CURVES_HEIGHT = 190  # design pixels
CURVES_SHARE = 0.3
"""The part of the window's height that the curves take at most by themselves."""


class Docks(QObject):
    """Two places for all panels, whichever workspace they are of: one more split for each would stack them up."""

    def __init__(self, window: QMainWindow, controls: QWidget, curves: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.controls = dock(window, "controls", "Model and layers", controls, RIGHT)
        self.curves = dock(window, "curves", "Curves", curves, BELOW)
        self._owners: dict[QDockWidget, str] = {}
        self._pages: dict[QDockWidget, PageTabs] = {}  # where each can be a page
        self._away: set[QDockWidget] = set()  # of other workspaces, to come back with theirs
        self._tabbed = False
        self._larger = False  # text has just become larger
        self._curves_height = 0  # while another dock has taken the place of the curves
        self._unit = self._least_unit = unit_of(window.font())
        self._least = (0, 0)  # width of the controls and height of the curves with the smallest text so far
        self._settling = QTimer(self, singleShot=True, interval=FONT_SETTLES + 100)
        self._settling.timeout.connect(self._give_back)
        window.resizeDocks([self.curves], [px(window, CURVES_HEIGHT)], UPWARDS)

    def all(self) -> list[QDockWidget]:
        return [self.controls, self.curves, *self._owners]

    def shown(self) -> list[QDockWidget]:
        """Extra docks that are there now."""
        return [each for each in self._owners if not each.isHidden()]

    def tab_bars(self) -> list[QTabBar]:
        """Where panels share a place: what chooses between them."""
        direct = self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        bars = [bar for bar in direct if bar.isVisible() and bar.count() > 1]
        for bar in bars:  # Qt makes them as they are needed
            bar.setAccessibleName("Panels that share this place")
        return bars

    def add(self, extra: ExtraDock, workspace: WorkspaceView) -> None:
        """One more panel, of a workspace."""
        inside = HorizontalScroll(extra.widget, tall=True) if extra.area == BELOW else extra.widget
        added = dock(self._window, extra.name, extra.title, inside, extra.area)
        self._owners[added] = workspace.name
        if workspace.pages is not None:
            self._pages[added] = workspace.pages
            title_bar = added.titleBarWidget()
            assert isinstance(title_bar, TitleBar)
            title_bar.offer_page(lambda: self.to_middle(added))
        if extra.area == BELOW:
            self._window.tabifyDockWidget(self.curves, added)
            added.toggleViewAction().toggled.connect(self._keep_curves_low)
        else:
            self.arrange()
        added.setWhatsThis(extra.help)
        added.hide()
        if extra.shown:
            self._away.add(added)
        added.visibilityChanged.connect(lambda shown: self._tell(added, workspace, extra.name, shown))
        added.toggleViewAction().toggled.connect(self._keep_controls_narrow)

    def _tell(self, panel: QDockWidget, workspace: WorkspaceView, name: str, shown: bool) -> None:
        inside: QWidget | None = panel.widget()
        if inside is not None:  # else it is a page, which tells the workspace itself
            workspace.on_dock(name, shown)

    def to_middle(self, panel: QDockWidget) -> None:
        """Show a panel as a page beside the canvas; closing the page brings it back to where it was."""
        widget: QWidget | None = panel.widget()
        pages, name = self._pages[panel], panel.objectName()
        if widget is None:
            pages.choose(name)
            return
        panel.setWidget(None)  # type: ignore[arg-type]  # Qt takes none, its annotations do not
        panel.hide()
        pages.open(name, panel.windowTitle(), widget, panel.whatsThis(), lambda: panel.setWidget(widget))
        widget.show()

    def show_those_of(self, workspace: str) -> None:
        """Docks of other workspaces hide, and come back with theirs."""
        for each, owner in self._owners.items():
            each.toggleViewAction().setVisible(owner == workspace)
            if owner != workspace and not each.isHidden():
                self._away.add(each)
                each.hide()
            elif owner == workspace and each in self._away:
                self._note_curves_height()
                self._away.discard(each)
                each.show()
                if self._tabbed:
                    self.controls.raise_()

    def toggle(self, name: str) -> None:
        """Show the panel of this name; hide it if it can be seen, not if it lies behind another one."""
        for each in self._owners:
            inside: QWidget | None = each.widget()
            if each.objectName() == name and inside is None:
                pages = self._pages[each]
                if pages.current == name:
                    pages.close_page(name)
                else:
                    pages.choose(name)
            elif each.objectName() == name:
                self._note_curves_height()
                each.setVisible(each.isHidden() or each.visibleRegion().isEmpty())
                each.raise_()

    def set_tabbed(self, tabbed: bool) -> None:
        """Panels beside the controls share their place, or stand between them and the canvas."""
        if tabbed != self._tabbed:
            self._tabbed = tabbed
            self._note_sizes()  # as a tab among others the controls would take the room of all of them
            self.arrange()
            self._settling.start()

    def text_changes(self, unit: float) -> None:
        """Text of this `unit` is about to come. Panels grow with it by themselves, also too far, but not back again."""
        self._note_sizes()
        if unit != self._unit:
            self._settling.start()
        self._larger = unit > self._unit
        self._unit = unit

    def text_changed(self) -> None:
        """It has come, which may have taken a while: panels are measured after those in them."""
        if self._settling.isActive():
            self._settling.start()

    def _note_sizes(self) -> None:
        resting = not self._settling.isActive() or self._least == (0, 0)
        if self._unit <= self._least_unit and self._window.isVisible() and resting:
            self._least_unit, self._least = self._unit, (self.controls.width(), self.curves.height())

    def _give_back(self) -> None:
        """What panels have beyond their share goes back to the canvas, which is what people look at."""
        ratio = self._unit / self._least_unit
        width, height = (round(length * ratio) for length in self._least)
        if self.controls.width() > width > 0:
            self._window.resizeDocks([self.controls], [width], ACROSS)
        height = max(height, px(self._window, CURVES_HEIGHT))
        if self._larger:  # plots grow with the text as far as the canvas can spare it
            height = min(height, max(round(CURVES_SHARE * self._window.height()), self.curves.minimumHeight()))
        if self.curves.height() > height or self._larger:
            self._window.resizeDocks([self.curves], [height], UPWARDS)
        if any(each.settling for each in self.controls.findChildren(VerticalScroll)):
            self._settling.start()  # what is inside may still become narrower
        else:
            self._larger = False

    def arrange(self) -> None:
        """Place what stands at the right; what a person has taken elsewhere stays there."""
        window = self._window
        beside = [each for each in self._owners if self._at_right(each)]
        if not beside or not self._at_right(self.controls):
            return
        hidden = [each for each in beside if each.isHidden()]
        for each in beside:  # out of their tabs first: a dock in a tab cannot be split off
            window.removeDockWidget(each)
        first = self.controls
        for each in beside:
            window.addDockWidget(RIGHT, each)
            if not self._tabbed and each is beside[0]:
                # Between canvas and controls, so that the inspector stays beside it.
                window.splitDockWidget(each, self.controls, ACROSS)
                first = each
            else:
                window.tabifyDockWidget(first, each)
            each.setVisible(each not in hidden)
        if self._tabbed:
            self.controls.raise_()

    def _at_right(self, each: QDockWidget) -> bool:
        return not each.isFloating() and self._window.dockWidgetArea(each) == RIGHT

    def _keep_controls_narrow(self, _: bool) -> None:
        """A dock that comes takes its room from the canvas, and one that goes gives it back there."""
        width = self.controls.width()
        # With the window as context: it may be gone by then.
        QTimer.singleShot(0, self, lambda: self._window.resizeDocks([self.controls], [width], ACROSS))

    def _note_curves_height(self) -> None:
        """Before a dock may take the place of the curves."""
        if self._window.isVisible() and not self._window.tabifiedDockWidgets(self.curves):
            self._curves_height = self.curves.height()

    def _keep_curves_low(self, shown: bool) -> None:
        """A dock that needs more height than the curves gives it back when it goes."""
        if not shown and self._curves_height:
            height, self._curves_height = self._curves_height, 0
            QTimer.singleShot(0, self, lambda: self._window.resizeDocks([self.curves], [height], UPWARDS))
