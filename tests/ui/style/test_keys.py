"""Keys are written as the system writes them; macOS is faked, nobody has tried it there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtGui import QKeySequence

from mrfstudio.ui.style import keys
from mrfstudio.ui.window.actions import specs
from tests.places import ROOT


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "sys", SimpleNamespace(platform="darwin"))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Undo (Ctrl+Z) brings it back.", "Undo (⌘Z) brings it back."),
        ("Ctrl+Shift+K shows it, Ctrl+Alt++ and Ctrl+- too.", "⇧⌘K shows it, ⌥⌘+ and ⌘- too."),
        ("Alt+click, [  ]  Ctrl+wheel", "⌥-click, [  ]  ⌘-wheel"),
        ("then Alt+Up or Alt+Down.", "then ⌥↑ or ⌥↓."),
        ("(Ctrl+Return), Shift+F1, Ctrl+1, Ctrl+2", "(⌘↩), ⇧F1, ⌘1, ⌘2"),
        ("Ctrl+H shows the hidden units, Ctrl+Home the start.", "⌃H shows the hidden units, ⌘↖ the start."),
        ("Control and Alternative+s, a+b, Space-drag", "Control and Alternative+s, a+b, Space-drag"),
    ],
)
def test_a_sentence_has_the_marks_of_macos(written: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for system, expected in (("darwin", shown), ("linux", written), ("win32", written)):
        monkeypatch.setattr(keys, "sys", SimpleNamespace(platform=system))
        assert keys.keyed(written) == expected


def test_every_key_of_an_action_has_its_marks(mac: None) -> None:
    texts = [keys.key_text(key) for _, spec in specs() for key in spec.keys]
    assert {"⌘Z", "⇧⌘Z", "⌃M", "⇧N", "⇟", "⌥⌘="} <= set(texts)
    assert [text for text in texts if "Ctrl" in text or "Alt" in text or "Shift" in text] == []


def test_no_action_has_a_key_that_macos_keeps(mac: None) -> None:
    pressed = [keys.key_sequence(key).toString() for _, spec in specs() for key in spec.keys]
    assert {"Ctrl+H", "Ctrl+M"}.isdisjoint(pressed)
    assert {"Meta+H", "Meta+M"} <= set(pressed)


def test_elsewhere_keys_are_as_they_are_written() -> None:
    assert keys.key_sequence("Ctrl+H") == QKeySequence("Ctrl+H")
    assert keys.key_text("Ctrl+Shift+K") == "Ctrl+Shift+K"


def sentences_with_keys(tree: ast.Module) -> Iterator[str]:
    """Texts with a combination of keys among words, but for what goes through `keyed` and what only code reads."""
    aside: set[int] = set()
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "keyed"
        documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if called or documents:
            aside |= {id(below) for below in ast.walk(node)}
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if id(node) not in aside and " " in text.strip() and keys.COMBINATION.search(text):
            yield text


def test_no_sentence_of_the_window_names_keys_past_the_one_place() -> None:
    found = {
        (path.name, sentence)
        for path in (ROOT / "mrfstudio" / "ui").rglob("*.py")
        for sentence in sentences_with_keys(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == {("finding.py", "[  ]  Ctrl+wheel")}  # the sheet passes all its rows on
    assert list(sentences_with_keys(ast.parse('say("Undo (Ctrl+Z)")'))) == ["Undo (Ctrl+Z)"]
    assert list(sentences_with_keys(ast.parse('say(keyed("Undo (Ctrl+Z)"))'))) == []


WALK = """
import os
from mrfstudio.ui.style import keys
keys.on_mac = lambda: True
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QWidget
from mrfstudio.engine.protocol.words import Run, TextBlock, Words
from mrfstudio.ui.export.headless import headless_window
from mrfstudio.ui.lessons.guide import Guide
from mrfstudio.ui.window.help.finding import CommandPalette, ShortcutSheet
from mrfstudio.ui.words.view import WordsView

with headless_window() as window:
    for name in ("segment", "photograph", "repair", "inpaint", "graph", "train"):
        window.show_workspace(name)
    page = WordsView()
    page.set_words(Words("", (TextBlock("paragraph", (Run("Press "), Run("Ctrl+H", code=True))),)))
    palette = CommandPalette([("Edit", action) for action in window.findChildren(QAction)])
    rows = [palette.results.topLevelItem(index).text(1) for index in range(palette.results.topLevelItemCount())]
    shown = [window, page, Guide(), ShortcutSheet(), palette]
    said = rows
    for top in shown:
        for each in (top, *top.findChildren(QWidget), *top.findChildren(QAction)):
            said += [each.toolTip(), each.statusTip(), each.whatsThis()]
            said += [each.text()] if isinstance(each, (QLabel, QAction)) else [each.accessibleDescription()]
    print(sorted({text for text in said if keys.COMBINATION.search(text)}))
    print(all(any(mark in text for text in said) for mark in ("⌘Z", "⇧⌘K", "⌥-click", "⌘-wheel", "⌃H", "⌘1")))
    os._exit(0)
"""


def test_no_text_of_the_whole_window_says_ctrl_on_macos(tmp_path: Path) -> None:
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "MRFSTUDIO_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    env["PYTHONUTF8"] = "1"
    told = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, encoding="utf-8", env=env)
    assert told.stdout.splitlines() == ["[]", "True"], told.stderr
