"""What the Repair workspace adds to the menus."""

from __future__ import annotations

from mrfstudio.ui.window.actions import ActionSpec

EXAMPLES = tuple(
    ActionSpec(f"repair_{name}", f"Example: {title}", help)
    for name, title, help in (
        ("cat", "scratched cat", "A photograph of a cat with scratches and specks."),
        ("coffee", "coffee with writing", "A photograph of a cup with writing across it."),
        ("astronaut", "scratched astronaut", "A photograph of an astronaut with scratches and specks."),
        ("faces", "real faces", "Small photographs of people, each with a part hidden."),
    )
)
EXPORT_REPAIRED = ActionSpec(
    "export_repaired", "Export repaired…", "Save the repaired photograph at its own size and in its colours."
)
CLEAR_DAMAGE = ActionSpec("clear_damage", "Clear damage", "Take away everything you painted.")
FIND_DAMAGE = ActionSpec(
    "find_damage",
    "Find dust and scratches",
    "Paint over what is improbable given its surroundings.",
    ("U",),
    on_canvas=True,
)
DRAW_AGAIN = ActionSpec(
    "draw_again", "Draw again", "Show another picture that the model finds probable.", ("M",), on_canvas=True
)
