"""What the Photograph workspace adds to the menus."""

from __future__ import annotations

from mrfstudio.ui.window.actions import ActionSpec

EXAMPLES = tuple(
    ActionSpec(f"photograph_{name}", f"Example: {name}", f"Open the photograph {what} of scikit-image, with strokes.")
    for name, what in (("astronaut", "of an astronaut"), ("coffee", "of a cup of coffee"), ("cat", "of a cat"))
)
EXPORT_CUTOUT = ActionSpec(
    "export_cutout", "Export cut-out…", "Save the chosen label with transparency, at the photograph's own size."
)
EXPORT_MASKS = ActionSpec("export_masks", "Export masks…", "Save a black and white mask for each label.")
EXPORT_OVERLAY = ActionSpec("export_overlay", "Export overlay…", "Save the photograph with the labels' colours on it.")
EXPORT_STROKES = ActionSpec("export_strokes", "Export strokes…", "Save the strokes, as --scribbles takes them.")
KEEP_MODEL = ActionSpec("keep_model", "Keep model…", "Keep what your strokes taught, to use it on other photographs.")
COPY_CUTOUT = ActionSpec(
    "copy_cutout", "Copy cut-out", "Copy the chosen label with transparency, for other programs.", ("Ctrl+Shift+X",)
)
CLEAR_STROKES = ActionSpec("clear_strokes", "Clear strokes", "Take away everything you painted.")
WHERE_NEXT = ActionSpec(
    "where_next", "Where next?", "Go to the place where a stroke would help most.", ("J",), on_canvas=True
)
SHOW_CUTOUT = ActionSpec(
    "show_cutout", "Cut-out or labels", "Show the cut-out on a checkerboard, or the labels.", ("K",), on_canvas=True
)
