"""The colours of symbols in equations: those of what they stand for on the canvas, and of the plots."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mrfstudio.ui.style.colours import Colours


@lru_cache(maxsize=4)
def symbol_colours(colours: Colours) -> Mapping[str, str]:
    """By symbol of `protocol.words.SYMBOLS`; "" is the colour of the text."""
    return {
        "": colours.text,
        "message": colours.warn,  # a line whose message changes
        "belief": colours.accent,  # a node that is sure
        "evidence": colours.bad,
        "coupling": colours.good,  # a factor that favours equal states
        "control": colours.highlight,
        "energy": colours.lanes[2],
        "hidden": colours.muted,
    }
