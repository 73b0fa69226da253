"""A teacher writes a lesson by doing it; a student opens the file and plays it. Links and the first card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from mrfstudio.engine.files.lesson_file import read_lesson, shipped_lessons
from mrfstudio.engine.protocol.commands import NewGraph, Paint, Play, SetStrength
from mrfstudio.ui.lessons.author_dialog import AuthorDialog
from tests.ui.helpers.studio import Studio

LEFT = Qt.MouseButton.LeftButton


def on_a_ring(studio: Studio) -> None:
    studio.window.choose_workspace("graph")
    studio.controller.post(NewGraph("ring", {"nodes": 5}))
    studio.settle()


def writing(studio: Studio) -> AuthorDialog:
    studio.do("new_lesson")
    studio.qtbot.waitUntil(lambda: studio.window.author.dialog is not None, timeout=30_000)
    dialog = studio.window.author.dialog
    assert dialog is not None
    return dialog


def test_a_lesson_is_recorded_saved_opened_and_played(studio: Studio, tmp_path: Path) -> None:
    on_a_ring(studio)
    dialog = writing(studio)
    dialog.title.setText("Strong rings")
    dialog.say.setPlainText("Make the coupling $\\coupling{J}$ strong.")
    studio.qtbot.waitUntil(lambda: dialog.preview.text() == dialog.say.toPlainText(), timeout=30_000)
    assert dialog.preview.words.blocks[0].runs[1].equation is not None
    studio.qtbot.mouseClick(dialog.record, LEFT)
    studio.controller.post(SetStrength("coupling", 1.9))
    studio.controller.post(SetStrength("coupling", 2.0))
    studio.settle()
    studio.qtbot.mouseClick(dialog.record, LEFT)
    first = dialog.goals.item(0)
    assert first.text().startswith("Set coupling")
    assert first.checkState() == Qt.CheckState.Checked
    dialog.add_step()
    dialog.say.setPlainText("What now? Bad $\\frac{$.")
    dialog.choices.setPlainText("It swings\n* It settles")
    studio.qtbot.waitUntil(lambda: "cannot be read" in dialog.problems.text(), timeout=30_000)
    path = tmp_path / "rings.mrfl"
    studio.window.author.save(path)
    studio.qtbot.waitUntil(path.exists, timeout=30_000)
    lesson = read_lesson(path)
    assert [command.title for command in lesson.steps[0].answer] == ["Set coupling"]
    assert lesson.steps[0].setup == (Play(),)  # it ran while the teacher wrote: what a student changes runs on
    assert lesson.steps[0].goal is not None
    assert lesson.steps[0].goal.fields["name"] == "coupling"
    assert (lesson.steps[1].choices, lesson.steps[1].right) == (("It swings", "It settles"), 1)
    dialog.reject()
    studio.window.files.discard()
    studio.window.tutor.set_out(lesson)
    tutor = studio.window.tutor
    studio.qtbot.waitUntil(lambda: tutor.lesson is not None, timeout=30_000)
    studio.until(lambda: studio.frame.graph is not None and studio.frame.graph.source == "ring")
    assert not tutor.reached
    studio.controller.post(SetStrength("coupling", 1.2))
    studio.settle()
    assert not tutor.reached, "too weak: the teacher asked for about 2"
    before = studio.frame.iteration
    studio.controller.post(SetStrength("coupling", 2.1))
    studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
    studio.until(lambda: studio.frame.iteration > before)
    tutor.end()


def test_a_lesson_that_is_none_is_refused_in_the_message_bar(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "evil.mrfl"
    path.write_bytes(b"PK\x03\x04 nonsense")
    studio.window.files.open(path)
    studio.qtbot.waitUntil(lambda: any("is no lesson" in each for each in studio.messages), timeout=30_000)
    assert studio.window.tutor.lesson is None


def test_a_link_opens_the_same_state(studio: Studio) -> None:
    on_a_ring(studio)
    studio.do("copy_link")
    studio.qtbot.waitUntil(lambda: QApplication.clipboard().text().startswith("mrfs:"), timeout=30_000)
    link = QApplication.clipboard().text()
    assert len(link) <= 2048
    studio.controller.post(NewGraph("grid", {"rows": 3, "columns": 3}))
    studio.settle()
    studio.window.files.open_link(link)
    question = studio.window.files._question
    if question is not None:
        question.done(question.StandardButton.Discard.value)
    studio.until(lambda: studio.frame.graph is not None and studio.frame.graph.source == "ring")
    studio.window.files.open_link(link[:-9])
    studio.qtbot.waitUntil(lambda: any("damaged" in each for each in studio.messages), timeout=30_000)


def test_the_first_card_has_three_doors_and_goes_after_one_click(studio: Studio) -> None:
    window = studio.window
    window.settings.card_seen = False
    studio.do("first_steps")
    assert window.card.isVisible()
    assert list(window.card.doors) == ["paint", "debug", "teach"]
    assert window.card.doors["debug"].focusPolicy() & Qt.FocusPolicy.TabFocus
    studio.qtbot.mouseClick(window.card.doors["debug"], LEFT)
    assert not window.card.isVisible()
    assert window.settings.card_seen
    assert window.workspace.name == "graph"


def test_the_first_card_makes_room_for_who_paints_or_goes_elsewhere(studio: Studio) -> None:
    window = studio.window
    studio.do("first_steps")
    window.workspace.post(Paint("observed", 0, ((3.5, 3.5),), 0.5))
    assert not window.card.isVisible()
    studio.do("first_steps")
    assert window.card.isVisible()
    window.choose_workspace("graph")
    assert not window.card.isVisible()
    window.files.discard()


def test_a_lesson_is_changed_and_keeps_what_was_not(studio: Studio) -> None:
    """From the list, as a shipped lesson is or one that was opened; steps keep what they set up and wait for."""
    shipped = next(each for each in shipped_lessons() if each.name == "messages-on-a-chain")
    studio.do("lessons")
    tutor = studio.window.tutor
    studio.qtbot.waitUntil(lambda: tutor.chooser is not None and tutor.chooser.isVisible(), timeout=60_000)
    assert tutor.chooser is not None
    tutor.chooser.list.setCurrentRow([each.name for each in shipped_lessons()].index(shipped.name))
    studio.qtbot.mouseClick(tutor.chooser.edit, LEFT)
    dialog = studio.window.author.dialog
    assert dialog is not None
    assert studio.window.workspace.name == shipped.workspace
    assert studio.window.author.lesson() == replace(shipped, name="mine")
    dialog.steps.setCurrentRow(2)
    assert dialog.choices.toPlainText() == "After 1\n* After 5\nAfter 6"
    dialog.title.setFocus()
    studio.qtbot.keyClick(dialog.title, Qt.Key.Key_Return)
    assert len(dialog.drafts) == len(shipped.steps), "Enter in a line of text adds nothing"
    dialog.reject()
    studio.window.files.discard()


def test_the_page_makes_way_while_a_step_is_recorded(studio: Studio) -> None:
    on_a_ring(studio)
    dialog = writing(studio)
    before = dialog.size()
    dialog.record.setChecked(True)
    studio.qtbot.waitUntil(lambda: dialog.height() < before.height() / 2, timeout=60_000)
    assert dialog.record.isVisible()
    assert not dialog.say.isVisible()
    dialog.record.setChecked(False)
    assert dialog.size() == before
    assert dialog.say.isVisible()
    dialog.reject()
    studio.window.files.discard()
