"""Colours of a graph: nodes by marginal, messages by how much they changed. Plain arrays in, plain arrays out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mrfstudio.ui.style.colormaps import colormap
from mrfstudio.ui.style.colours import Colours, rgb

LEVELS = 12
"""Steps in which the change of a message is shown; one pen each."""
LIGHTNESS = np.array([0.299, 0.587, 0.114])
CLEAR = 110.0
"""Steps of lightness, of 255, from which on a line is clear of its paper."""
QUIET, LOUD = -5.0, -0.5
"""Powers of ten of a change that looks like nothing, and of one that looks like the most."""


def node_colours(marginal: np.ndarray, colours: Colours) -> np.ndarray:
    """(n, 3) uint8 of marginals (n, states): blue against orange for two states, else a mixture of the labels."""
    if marginal.shape[1] == 2:
        table = colormap(f"diverging {colours.name}")
        return table[np.clip(marginal[:, 1] * 255 + 0.5, 0, 255).astype(np.uint8)]
    labels = np.array([rgb(colours.labels[state % len(colours.labels)]) for state in range(marginal.shape[1])])
    return np.clip(marginal @ labels + 0.5, 0, 255).astype(np.uint8)


def value_colours(values: np.ndarray, colours: Colours) -> np.ndarray:
    """(n, 3) uint8 of numbers (n,) from 0 to 1, such as errors: the orange half of the map of marginals."""
    table = colormap(f"diverging {colours.name}")
    return table[np.clip(128 + 127 * values + 0.5, 0, 255).astype(np.uint8)]


def state_colour(state: int, states: int, colours: Colours) -> tuple[int, int, int]:
    """The colour of a node that is surely in one state."""
    sure = np.zeros((1, max(states, 2)), np.float32)
    sure[0, state] = 1
    red, green, blue = node_colours(sure, colours)[0].tolist()
    return red, green, blue


def state_line_colour(state: int, states: int, colours: Colours) -> tuple[int, int, int]:
    """The same for a thin line or letters: a colour near that of the paper is mixed with that of the text."""
    colour, paper, text = (np.array(each, float) for each in (
        state_colour(state, states, colours), rgb(colours.surface), rgb(colours.text),
    ))  # fmt: skip
    part = max(0.0, 1 - float(np.abs((colour - paper) @ LIGHTNESS)) / CLEAR)
    red, green, blue = np.rint(colour + 0.6 * part * (text - colour)).astype(int).tolist()
    return red, green, blue


def change_levels(change: np.ndarray) -> np.ndarray:
    """0…LEVELS - 1 of changes in [0, 1], on a logarithmic scale, uint8."""
    power = np.log10(np.maximum(change, 1e-12))
    return np.clip((power - QUIET) / (LOUD - QUIET) * LEVELS, 0, LEVELS - 1).astype(np.uint8)


@lru_cache(maxsize=4)
def level_colours(colours: Colours) -> np.ndarray:
    """(LEVELS, 3) uint8: from the grey of a line at rest to the colour of trouble."""
    calm, middle, hot = (np.array(rgb(each)) for each in (colours.grid, colours.warn, colours.bad))
    part = np.linspace(0, 2, LEVELS)[:, None]
    table = np.where(part <= 1, calm + (middle - calm) * part, middle + (hot - middle) * (part - 1))
    return np.rint(table).astype(np.uint8)


def dark_text(fill: np.ndarray) -> np.ndarray:
    """Which of some colours (n, 3) need dark letters on them, (n,) bool."""
    return np.asarray(fill @ LIGHTNESS > 140)


def sign_colour(sign: int, colours: Colours) -> tuple[int, int, int]:
    """Of a factor that favours equal states (1), different ones (-1), or neither."""
    return rgb(colours.labels[3] if sign > 0 else colours.labels[4] if sign < 0 else colours.raised)
