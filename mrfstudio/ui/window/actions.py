"""Every action of the window in one table: menus, tool tips, the shortcut sheet and the palette come from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.style.keys import key_sequence, key_text
from mrfstudio.ui.workspaces import signs


@dataclass(frozen=True)
class ActionSpec:
    """One action; `help` is one sentence for a student. Who does it: `action_handlers`, as `{UNDO: self.undo}`."""

    name: str
    text: str
    help: str
    keys: tuple[str, ...] = ()
    on_canvas: bool = False
    """Single keys act only while the canvas has the focus."""
    checkable: bool = False


ActionHandlers = Mapping[ActionSpec, Callable[[], None]]
"""Who does which action."""


def window(name: str, text: str, help: str, *keys: str, checkable: bool = False) -> ActionSpec:
    """An action whose keys work everywhere in the window."""
    return ActionSpec(name, text, help, keys, checkable=checkable)


def canvas(name: str, text: str, help: str, *keys: str, checkable: bool = False) -> ActionSpec:
    """An action whose keys work while the canvas has the focus."""
    return ActionSpec(name, text, help, keys, on_canvas=True, checkable=checkable)


# File
NEW_DRAWING = window("new_drawing", "New drawing…", "Start on an empty sheet of any size up to 256×256.", "Ctrl+N")
OPEN_FILE = window("open_file", "Open…", "Open a session, a picture, a model or a graph.", "Ctrl+O")
OPEN_EXAMPLE = window(
    "open_example", "Digit or shape…", "Take a figure from a data set and hide it in noise.", "Ctrl+D"
)
NEXT_EXAMPLE = window(
    "next_example",
    "Next example",
    "Another figure or graph of the same kind, from the next seed.",
    "Ctrl+Shift+D",
)
OPEN_GRAPH_FILE = window("open_graph_file", "Open graph…", "Open a .uai or .fg graph to see how inference converges.")
SHOW_GALLERY = window("show_gallery", "Gallery", "Show or hide pictures of data sets to fill in.", "Ctrl+Shift+G")
NEXT_PICTURE = canvas("next_picture", "Next picture", "The next picture of the gallery, under the same mask.", "PgDown")
PREVIOUS_PICTURE = canvas("previous_picture", "Previous picture", "The picture before in the gallery.", "PgUp")
SAVE = window("save", "Save", "Save evidence, lanes and history to a session file.", "Ctrl+S")
SAVE_AS = window("save_as", "Save as…", "Save the session under another name.", "Ctrl+Shift+S")
EXPORT_CANVAS = window("export_canvas", "Export canvas…", "Save the canvas as it is shown, as PNG or SVG.", "Ctrl+E")
EXPORT_ANIMATION = window(
    "export_animation", "Export animation…", "Save all iterations as one GIF or WebP that plays them."
)
EXPORT_CURVES = window("export_curves", "Export curves…", "Save the curves as PNG, SVG or CSV.", "Ctrl+Shift+E")
EXPORT_FIGURE = window(
    "export_figure", "Export figure…", "Plots and canvas for paper: PDF, SVG or PNG, with the numbers beside it."
)
EXPORT_PAGE = window(
    "export_page", "Export web page…", "One file that plays the run in any browser, without a network."
)
EXPORT_GRAPH = window("export_graph", "Export graph…", "Save the graph as it is, with its strengths, as .uai or .fg.")
EXPORT_LABELS = window("export_labels", "Export labels…", "Save the decoded labels: 0 contour, 1 OUT, 2 IN.")
EXPORT_PICTURE = window(
    "export_picture", "Export filled-in picture…", "Save the mean at the picture's own size as a PNG."
)
COPY_COMMAND = window("copy_command", "Copy as command", "Copy the line that computes what is shown.", "Ctrl+Shift+C")
COPY_LINK = window("copy_link", "Copy as link", "Copy this state as text for a mail or a chat: mrfs:…")
OPEN_LINK = window("open_link", "Open link…", "Show the state that somebody sent you as mrfs:…", "Ctrl+Shift+O")
QUIT = window("quit", "Quit", "Close the window; unsaved work is asked about.", "Ctrl+Q")

# Edit
UNDO = window("undo", "Undo", "Take back the last edit; one stroke is one step.", "Ctrl+Z")
REDO = window("redo", "Redo", "Do again what was taken back.", "Ctrl+Shift+Z", "Ctrl+Y")
COPY_PICTURE = window("copy_picture", "Copy canvas", "Copy the canvas as a picture.", "Ctrl+C")
PASTE = window("paste", "Paste picture…", "Bring in a picture from the clipboard.", "Ctrl+V")
ADD_EDGES = canvas("add_edges", "Add spurious edges", "Noise: add eight short edges that bound nothing.", "N")
DELETE_CONTOURS = canvas("delete_contours", "Delete contour pixels", "Noise: hide a fifth of the contour pixels.", "D")
THIN = canvas("thin", "Thin lines", "Make every drawn line one pixel wide, as models know lines.", "T")
CLOSE_GAPS = canvas(
    "close_gaps", "Close gaps…", "Join ends of lines that only a few pixels keep apart; you say how many.", "G"
)
RENAME_RUN = window("rename_run", "Rename run", "Give the chosen training run another name.")
DUPLICATE_RUN = window("duplicate_run", "Duplicate run", "Take the chosen run's plan as that of the next run.")
DELETE_RUN = window("delete_run", "Delete runs", "Remove the chosen training runs; Undo brings them back for an hour.")
CLEAR_OBSERVED = window("clear_observed", "Clear drawing", "Wipe all contours: nothing is seen anywhere.")
CLEAR_HINTS = window("clear_hints", "Clear hints", "Take away everything you said about labels.")
INVERT_MASK = window("invert_mask", "Swap known and unknown", "Hide what is known, show the rest.", "Ctrl+Shift+I")
HIDE_ALL = window("hide_all", "Hide everything", "Make every pixel unknown: the model paints from memory.")
CLEAR_MASK = window("clear_mask", "Show everything", "Make every pixel known again.")

# View
NEXT_LAYER = canvas("next_layer", "Next result", "Mean, deviation, sample, difference to the original, in turn.", "V")
TOGGLE_WIPE = canvas("toggle_wipe", "Wipe", "Go from the picture as it was to the result, and back.", "W")
ZOOM_IN = window("zoom_in", "Zoom in", "Make the pixels larger.", "Ctrl++", "Ctrl+=")
ZOOM_OUT = window("zoom_out", "Zoom out", "Make the pixels smaller.", "Ctrl+-")
ZOOM_FIT = window("zoom_fit", "Whole picture", "Fit the whole picture into the canvas.", "Ctrl+0")
LARGER_TEXT = window(
    "larger_text", "Larger text", "Make all text larger, up to twice its size.", "Ctrl+Alt++", "Ctrl+Alt+="
)
SMALLER_TEXT = window("smaller_text", "Smaller text", "Make all text smaller.", "Ctrl+Alt+-")
PRESENT = window("present", "Present", "Canvas and one plot, large and alone, for a projector; Esc ends it.", "F5")
FULL_SCREEN = window("full_screen", "Full screen", "Use the whole screen.", "F11", checkable=True)
RESTORE_LAYOUT = window("restore_layout", "Restore layout", "Put every panel back to its first place.")

# Run
PLAY_PAUSE = canvas("play_pause", "Play or pause", "Start or stop iterating.", "Space")
STEP = canvas("step", "Step", "One iteration forward.", ".")
STEP_BACK = canvas("step_back", "Step back", "One iteration back; messages are restored too.", ",")
TO_START = window("to_start", "First iteration", "Go to before the first iteration.", "Ctrl+Home")
TO_END = window("to_end", "Last iteration", "Go to the last iteration computed.", "Ctrl+End")
RESTART = window("restart", "Restart", "Forget all messages and restart with the same evidence.", "Ctrl+R")
START_TRAINING = window("start_training", "Start training", "Begin a new training run with the plan.", "Ctrl+Return")
STOP_TRAINING = window("stop_training", "Stop training", "End the run after this batch; its best model is kept.")
SHOW_RUNS = window("show_runs", "Runs", "To the table of all training runs, and back.", "Ctrl+T")
SLOWER = canvas("slower", "Slower", "Fewer iterations a second, down to one.", "<")
FASTER = canvas("faster", "Faster", "More iterations a second, up to as fast as possible.", ">")
COMPARE = window(
    "compare",
    "Compare",
    "Run a second lane on the same evidence and show where the two differ.",
    "Ctrl+K",
    checkable=True,
)
SHOW_COMPARISON = window(
    "show_comparison",
    "Comparison of lanes",
    "All lanes against exact inference: curves, marginals, and a table that sorts and exports.",
    "Ctrl+Shift+K",
)

# Model
OPEN_MODEL = window("open_model", "Open model…", "Use a model file that you trained.", "Ctrl+M")
SHOW_CARD = window("show_card", "About this model…", "How the chosen model was trained, and its scores.")
USE_MODEL_NOW = window("use_model_now", "Use this model now", "Hand the trained model to other workspaces.", "Ctrl+U")
SHOW_SIGMA_MAP = window(
    "show_sigma_map", "Map of σ_max", "See for which α and coupling convergence is certain.", "Ctrl+G"
)
SHOW_MESSAGES = window("show_messages", "Message inspector", "See the messages of a factor over iterations.", "Ctrl+I")
SHOW_HOW = window("show_how", "How was it computed?", "Take one message apart, number by number.", "Ctrl+Shift+H")
SHOW_SUSPECTS = window(
    "show_suspects", "Suspects", "See what keeps a run from settling, and what helps.", "Ctrl+Shift+U"
)
SHOW_REGIONS = window("show_regions", "Region graph", "See the regions of gbp, renn or bethe-net.", "Ctrl+Shift+R")
SHOW_LATTICE = window(
    "show_lattice", "Lattice of a text", "Type a text and see the hidden state under each letter.", "Ctrl+Shift+T"
)
SHOW_CLONES = window("show_clones", "Clone browser", "See what each clone of CONTOUR has learned.", "Ctrl+B")
SHOW_UNITS = window("show_units", "Hidden units", "See what each hidden unit adds, and hold units on or off.", "Ctrl+H")
RELEASE_UNITS = window("release_units", "Let all units go", "No hidden unit is held any more.")

# Help
NEW_LESSON = window("new_lesson", "New lesson…", "Write a lesson: record steps while you do them.")
FIRST_STEPS = window("first_steps", "Three ways to begin", "Paint, debug or teach: the card of the first start.")
LESSONS = window("lessons", "Lessons…", "Short guided tours that you do yourself.", "Ctrl+Shift+L")
SHORTCUT_SHEET = window("shortcut_sheet", "Shortcuts", "Every key and mouse gesture on one sheet.", "F1")
WHATS_THIS = window("whats_this", "What is this?", "Then click on anything to read what it is.", "Shift+F1")
READ_PAGE = window(
    "read_page", "Page about this control", "Read with equations what the control with the focus is.", "Ctrl+F1"
)
COMMAND_PALETTE = window("command_palette", "Command palette…", "Find any action by typing its name.", "Ctrl+Shift+P")
SHOW_HINT = window("show_hint", "What to try", "Show the line that says what to try again.")
OPEN_LOG = window("open_log", "Open log folder", "Where the program writes down what went wrong.")
REPORT_BUG = window("report_bug", "Report a bug…", "See and save what helps to mend it; nothing is sent.")
CITE = window("cite", "How to cite…", "How to name MRF Studio in what you write.")
ABOUT = window("about", "About MRF Studio", "Version, libraries, device and threads.")

MENUS: dict[str, tuple[tuple[ActionSpec, ...], ...]] = {
    "File": (
        (
            NEW_DRAWING,
            OPEN_FILE,
            OPEN_EXAMPLE,
            NEXT_EXAMPLE,
            OPEN_GRAPH_FILE,
            SHOW_GALLERY,
            NEXT_PICTURE,
            PREVIOUS_PICTURE,
        ),
        (
            SAVE,
            SAVE_AS,
        ),
        (
            EXPORT_CANVAS,
            EXPORT_ANIMATION,
            EXPORT_CURVES,
            EXPORT_FIGURE,
            EXPORT_PAGE,
            EXPORT_GRAPH,
            EXPORT_LABELS,
            EXPORT_PICTURE,
        ),
        (
            COPY_COMMAND,
            COPY_LINK,
            OPEN_LINK,
        ),
        (QUIT,),
    ),
    "Edit": (
        (
            UNDO,
            REDO,
        ),
        (
            COPY_PICTURE,
            PASTE,
        ),
        (
            THIN,
            CLOSE_GAPS,
        ),
        (
            ADD_EDGES,
            DELETE_CONTOURS,
        ),
        (
            RENAME_RUN,
            DUPLICATE_RUN,
            DELETE_RUN,
        ),
        (
            CLEAR_OBSERVED,
            CLEAR_HINTS,
            INVERT_MASK,
            HIDE_ALL,
            CLEAR_MASK,
        ),
    ),
    "View": (
        (
            NEXT_LAYER,
            TOGGLE_WIPE,
        ),
        (
            ZOOM_IN,
            ZOOM_OUT,
            ZOOM_FIT,
        ),
        (
            LARGER_TEXT,
            SMALLER_TEXT,
        ),
        (
            PRESENT,
            FULL_SCREEN,
            RESTORE_LAYOUT,
        ),
    ),
    "Run": (
        (
            PLAY_PAUSE,
            STEP,
            STEP_BACK,
        ),
        (
            TO_START,
            TO_END,
            RESTART,
        ),
        (
            START_TRAINING,
            STOP_TRAINING,
            SHOW_RUNS,
        ),
        (
            SLOWER,
            FASTER,
        ),
        (
            COMPARE,
            SHOW_COMPARISON,
        ),
    ),
    "Model": (
        (
            OPEN_MODEL,
            SHOW_CARD,
        ),
        (USE_MODEL_NOW,),
        (
            SHOW_SIGMA_MAP,
            SHOW_MESSAGES,
            SHOW_HOW,
            SHOW_SUSPECTS,
            SHOW_REGIONS,
            SHOW_LATTICE,
        ),
        (
            SHOW_CLONES,
            SHOW_UNITS,
            RELEASE_UNITS,
        ),
    ),
    "Help": (
        (
            LESSONS,
            NEW_LESSON,
            FIRST_STEPS,
            SHORTCUT_SHEET,
            WHATS_THIS,
            READ_PAGE,
            COMMAND_PALETTE,
        ),
        (
            SHOW_HINT,
            OPEN_LOG,
            REPORT_BUG,
        ),
        (
            CITE,
            ABOUT,
        ),
    ),
}


def menus() -> dict[str, tuple[tuple[ActionSpec, ...], ...]]:
    """The groups of every menu; what workspaces add comes last."""
    added = [each for sign in signs() for each in sign.actions]
    own = {menu: tuple(spec for place, spec in added if place == menu) for menu in MENUS}
    return {menu: (*groups, own[menu]) if own[menu] else groups for menu, groups in MENUS.items()}


def specs() -> Iterator[tuple[str, ActionSpec]]:
    """Every action with the name of its menu, in order."""
    return ((menu, spec) for menu, groups in menus().items() for group in groups for spec in group)


class Actions(QObject):
    """QActions for the table, by name."""

    def __init__(self, window: QWidget, do: Callable[[ActionSpec], Callable[[], None]]) -> None:
        """`do` gives the function that does an action now."""
        super().__init__(window)
        self._by_name: dict[str, QAction] = {}
        for _, spec in specs():
            action = make_action(window, spec)
            # Looked up when the key is pressed: workspaces come and go.
            action.triggered.connect(lambda _=False, spec=spec: do(spec)())
            self._by_name[spec.name] = action
            if not spec.on_canvas:
                window.addAction(action)

    def __getitem__(self, name: str) -> QAction:
        return self._by_name[name]

    def bind_canvas(self, canvas: QWidget) -> None:
        """Let single keys act while this canvas has the focus."""
        for _, spec in specs():
            if spec.on_canvas:
                canvas.addAction(self[spec.name])


def make_action(window: QWidget, spec: ActionSpec) -> QAction:
    """One QAction with tool tip, status tip and "what is this?" text from its description."""
    action = QAction(spec.text, window)
    action.setObjectName(spec.name)
    action.setShortcuts([key_sequence(key) for key in spec.keys])
    if spec.on_canvas:
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
    action.setCheckable(spec.checkable)
    action.setToolTip(tip(spec))
    action.setStatusTip(spec.help)
    action.setWhatsThis(spec.help)
    return action


def tip(spec: ActionSpec) -> str:
    """The help sentence and the key that does the same."""
    keys = key_text(spec.keys[0]) if spec.keys else ""
    return f"{spec.help} ({keys})" if keys else spec.help
