"""Every action of the window in one table: menus, tool tips, the shortcut sheet and the palette come from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True)
class ActionSpec:
    """One action. `name` is also the name of the method that does it; `help` is one sentence for a student."""

    name: str
    text: str
    help: str
    keys: tuple[str, ...] = ()
    on_canvas: bool = False
    """Single keys act only while the canvas has the focus."""
    checkable: bool = False


def window(name: str, text: str, help: str, *keys: str, checkable: bool = False) -> ActionSpec:
    """An action whose keys work everywhere in the window."""
    return ActionSpec(name, text, help, keys, checkable=checkable)


def canvas(name: str, text: str, help: str, *keys: str, checkable: bool = False) -> ActionSpec:
    """An action whose keys work while the canvas has the focus."""
    return ActionSpec(name, text, help, keys, on_canvas=True, checkable=checkable)


MENUS: dict[str, tuple[tuple[ActionSpec, ...], ...]] = {
    "File": (
        (
            window("new_drawing", "New drawing…", "Start on an empty sheet of any size up to 256×256.", "Ctrl+N"),
            window("open_file", "Open…", "Open a session, a picture, a model or a graph.", "Ctrl+O"),
            window("open_example", "Digit or shape…", "Take a figure from a data set and hide it in noise.", "Ctrl+D"),
            window(
                "next_example",
                "Next example",
                "Another figure or graph of the same kind, from the next seed.",
                "Ctrl+Shift+D",
            ),
            window("open_graph_file", "Open graph…", "Open a .uai or .fg graph to see how inference converges."),
            window("show_gallery", "Gallery", "Show or hide pictures of data sets to fill in.", "Ctrl+Shift+G"),
            canvas("next_picture", "Next picture", "The next picture of the gallery, under the same mask.", "PgDown"),
            canvas("previous_picture", "Previous picture", "The picture before in the gallery.", "PgUp"),
        ),
        (
            window("save", "Save", "Save evidence, lanes and history to a session file.", "Ctrl+S"),
            window("save_as", "Save as…", "Save the session under another name.", "Ctrl+Shift+S"),
        ),
        (
            window("export_canvas", "Export canvas…", "Save the canvas as it is shown, as PNG or SVG.", "Ctrl+E"),
            window("export_animation", "Export animation…", "Save all iterations as one GIF or WebP that plays them."),
            window("export_curves", "Export curves…", "Save the curves as PNG, SVG or CSV.", "Ctrl+Shift+E"),
            window("export_graph", "Export graph…", "Save the graph as it is, with its strengths, as .uai or .fg."),
            window("export_labels", "Export labels…", "Save the decoded labels: 0 contour, 1 OUT, 2 IN."),
            window("export_picture", "Export filled-in picture…", "Save the mean at the picture's own size as a PNG."),
        ),
        (window("copy_command", "Copy as command", "Copy the line that computes what is shown.", "Ctrl+Shift+C"),),
        (window("quit", "Quit", "Close the window; unsaved work is asked about.", "Ctrl+Q"),),
    ),
    "Edit": (
        (
            window("undo", "Undo", "Take back the last edit; one stroke is one step.", "Ctrl+Z"),
            window("redo", "Redo", "Do again what was taken back.", "Ctrl+Shift+Z", "Ctrl+Y"),
        ),
        (
            window("copy_picture", "Copy canvas", "Copy the canvas as a picture.", "Ctrl+C"),
            window("paste", "Paste picture…", "Bring in a picture from the clipboard.", "Ctrl+V"),
        ),
        (
            canvas("add_edges", "Add spurious edges", "Noise: add eight short edges that bound nothing.", "N"),
            canvas("delete_contours", "Delete contour pixels", "Noise: hide a fifth of the contour pixels.", "D"),
        ),
        (
            window("rename_run", "Rename run", "Give the chosen training run another name."),
            window("duplicate_run", "Duplicate run", "Take the chosen run's plan as that of the next run."),
            window("delete_run", "Delete runs", "Remove the chosen training runs; Undo brings them back for an hour."),
        ),
        (
            window("clear_observed", "Clear drawing", "Wipe all contours: nothing is seen anywhere."),
            window("clear_hints", "Clear hints", "Take away everything you said about labels."),
            window("invert_mask", "Swap known and unknown", "Hide what is known, show the rest.", "Ctrl+Shift+I"),
            window("hide_all", "Hide everything", "Make every pixel unknown: the model paints from memory."),
            window("clear_mask", "Show everything", "Make every pixel known again."),
        ),
    ),
    "View": (
        (
            canvas("next_layer", "Next result", "Mean, deviation, sample, difference to the original, in turn.", "V"),
            canvas("toggle_wipe", "Wipe", "Go from the picture as it was to the result, and back.", "W"),
        ),
        (
            window("zoom_in", "Zoom in", "Make the pixels larger.", "Ctrl++", "Ctrl+="),
            window("zoom_out", "Zoom out", "Make the pixels smaller.", "Ctrl+-"),
            window("zoom_fit", "Whole picture", "Fit the whole picture into the canvas.", "Ctrl+0"),
        ),
        (
            window(
                "larger_text", "Larger text", "Make all text larger, up to twice its size.", "Ctrl+Alt++", "Ctrl+Alt+="
            ),
            window("smaller_text", "Smaller text", "Make all text smaller.", "Ctrl+Alt+-"),
        ),
        (
            window("full_screen", "Full screen", "Use the whole screen.", "F11", checkable=True),
            window("restore_layout", "Restore layout", "Put every panel back to its first place."),
        ),
    ),
    "Run": (
        (
            canvas("play_pause", "Play or pause", "Start or stop iterating.", "Space"),
            canvas("step", "Step", "One iteration forward.", "."),
            canvas("step_back", "Step back", "One iteration back; messages are restored too.", ","),
        ),
        (
            window("to_start", "First iteration", "Go to before the first iteration.", "Ctrl+Home"),
            window("to_end", "Last iteration", "Go to the last iteration computed.", "Ctrl+End"),
            window("restart", "Restart", "Forget all messages and begin anew with the same evidence.", "Ctrl+R"),
        ),
        (
            window("start_training", "Start training", "Begin a new training run with the plan.", "Ctrl+Return"),
            window("stop_training", "Stop training", "End the run after this batch; its best model is kept."),
            window("show_runs", "Runs", "To the table of all training runs, and back.", "Ctrl+T"),
        ),
        (
            canvas("slower", "Slower", "Fewer iterations a second, down to one.", "<"),
            canvas("faster", "Faster", "More iterations a second, up to as fast as possible.", ">"),
        ),
        (
            window(
                "compare",
                "Compare",
                "Run a second lane on the same evidence and show where the two differ.",
                "Ctrl+K",
                checkable=True,
            ),
            window(
                "show_comparison",
                "Comparison of lanes",
                "All lanes against exact inference: curves, marginals, and a table that sorts and exports.",
                "Ctrl+Shift+K",
            ),
        ),
    ),
    "Model": (
        (
            window("open_model", "Open model…", "Use a model file that you trained.", "Ctrl+M"),
            window("show_card", "About this model…", "How the chosen model was trained, and its scores."),
        ),
        (window("use_model_now", "Use this model now", "Hand the trained model to other workspaces.", "Ctrl+U"),),
        (
            window("show_sigma_map", "Map of σ_max", "See for which α and coupling convergence is certain.", "Ctrl+G"),
            window("show_messages", "Message inspector", "See both messages of an edge over iterations.", "Ctrl+I"),
            window("show_regions", "Region graph", "See the regions of gbp, renn or bethe-net.", "Ctrl+Shift+R"),
        ),
        (
            window("show_clones", "Clone browser", "See what each clone of CONTOUR has learned.", "Ctrl+B"),
            window("show_units", "Hidden units", "See what each hidden unit adds, and hold units on or off.", "Ctrl+H"),
            window("release_units", "Let all units go", "No hidden unit is held any more."),
        ),
    ),
    "Help": (
        (
            window("lessons", "Lessons…", "Short guided tours that you do yourself.", "Ctrl+Shift+L"),
            window("shortcut_sheet", "Shortcuts", "Every key and mouse gesture on one sheet.", "F1"),
            window("whats_this", "What is this?", "Then click on anything to read what it is.", "Shift+F1"),
            window("command_palette", "Command palette…", "Find any action by typing its name.", "Ctrl+Shift+P"),
        ),
        (
            window("show_hint", "What to try", "Show the line that says what to try again."),
            window("open_log", "Open log folder", "Where the program writes down what went wrong."),
        ),
        (window("about", "About MRF Studio", "Version, libraries, device and threads."),),
    ),
}


def specs() -> Iterator[tuple[str, ActionSpec]]:
    """Every action with the name of its menu, in order."""
    return ((menu, spec) for menu, groups in MENUS.items() for group in groups for spec in group)


class Actions(QObject):
    """QActions for the table, by name."""

    def __init__(self, window: QWidget, do: Callable[[str], Callable[[], None]]) -> None:
        """`do` gives the function that does an action of a name."""
        super().__init__(window)
        self._by_name: dict[str, QAction] = {}
        for _, spec in specs():
            action = make_action(window, spec)
            # Looked up when the key is pressed: workspaces come and go.
            action.triggered.connect(lambda _=False, name=spec.name: do(name)())
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
    action.setShortcuts([QKeySequence(key) for key in spec.keys])
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


def key_text(key: str) -> str:
    """A key in the words of the system, such as Ctrl+Z or ⌘Z."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
