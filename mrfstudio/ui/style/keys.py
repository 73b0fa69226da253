"""Keys as this system writes them. No other file knows that macOS has marks for them, or keeps some for itself.

In code and in texts a key is written as Qt writes it, `Ctrl+Shift+K`. On macOS Qt takes ⌘ for Ctrl and ⌃ for Meta.
"""

from __future__ import annotations

import re
import sys

from PySide6.QtGui import QKeySequence

MARKS = {"Meta": "⌃", "Alt": "⌥", "Shift": "⇧", "Ctrl": "⌘"}  # in the order in which macOS writes them
NAMES = {"Return": "↩", "Up": "↑", "Down": "↓", "Home": "↖", "End": "↘", "PgUp": "⇞", "PgDown": "⇟"}
TAKEN = {"Ctrl+H": "Meta+H", "Ctrl+M": "Meta+M"}  # macOS hides a program with ⌘H and puts a window away with ⌘M
COMBINATION = re.compile(r"\b(?:(?:Ctrl|Alt|Shift|Meta)\+)+(?:[A-Za-z]\w*|\d|[-+=])")


def on_mac() -> bool:
    return sys.platform == "darwin"


def key_sequence(key: str) -> QKeySequence:
    """What to press for a key of the code: the key itself, or another where the system keeps it."""
    return QKeySequence(TAKEN.get(key, key) if on_mac() else key)


def key_text(key: str) -> str:
    """One key in the words of the system, such as Ctrl+Z or ⌘Z."""
    if on_mac():
        return NAMES.get(key) or keyed(key)
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def keyed(text: str) -> str:
    """A sentence with every combination of keys in the words of the system."""
    return COMBINATION.sub(lambda found: _with_marks(found[0]), text) if on_mac() else text


def _with_marks(keys: str) -> str:
    keys = TAKEN.get(keys, keys)
    held, _, rest = keys[:-1].rpartition("+")  # the last letter may be a plus itself
    key = rest + keys[-1]
    marks = "".join(mark for name, mark in MARKS.items() if name in held.split("+"))
    with_mouse = len(key) > 1 and key.islower()
    return f"{marks}-{key}" if with_mouse else marks + NAMES.get(key, key)
