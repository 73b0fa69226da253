"""Every shipped lesson, played in the real window with the real models: each goal can be reached, and is noticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMessageBox

from mrfstudio.engine.files.lesson_file import shipped_lessons
from mrfstudio.engine.protocol.commands import SetSpeed
from mrfstudio.ui.lessons.tutor import Tutor
from tests.ui.helpers.studio import Studio

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(autouse=True)
def _no_lesson_stays(studio: Studio) -> Iterator[None]:
    yield
    studio.window.tutor.end()


def begun(studio: Studio, name: str) -> Tutor:
    lesson = next(each for each in shipped_lessons() if each.name == name)
    tutor = studio.window.tutor
    tutor.begin(lesson)
    wait_for_lesson(studio)
    return tutor


def wait_for_lesson(studio: Studio) -> None:
    question = studio.window.files._question
    if question is not None:  # about what the lesson before has left
        studio.qtbot.mouseClick(question.button(QMessageBox.StandardButton.Discard), LEFT)
    studio.qtbot.waitUntil(lambda: studio.window.tutor.lesson is not None, timeout=30_000)


@pytest.mark.parametrize("name", [lesson.name for lesson in shipped_lessons()])
def test_whoever_has_every_step_shown_reaches_every_goal(studio: Studio, name: str) -> None:
    tutor = begun(studio, name)
    guide, lesson = tutor.guide, tutor.lesson
    assert lesson is not None
    assert guide.isVisible()
    for number, step in enumerate(lesson.steps):
        if studio.window.workspace.has_session:
            studio.controller.post(SetSpeed(None))
        assert tutor.number == number
        assert f"{number + 1} of {len(lesson.steps)}" in guide.heading.text()
        assert guide.words.text() == step.say
        studio.qtbot.waitUntil(lambda: not guide.missing(), timeout=30_000)  # formulas are there
        assert not [problem for view in (guide.words, guide.praise) for problem in view.words.problems]
        if step.asks:
            assert not tutor.reached, "nothing is seen before the student has said what to expect"
            assert not guide.praise.isVisible()
            picked = number % len(step.choices)
            studio.qtbot.mouseClick(guide.choices[picked], LEFT)
            studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
            assert guide.choices[step.right].text().startswith("✓")
            assert guide.choices[picked].text()[0] == ("✓" if picked == step.right else "✗")
        elif step.answer:
            assert not tutor.reached
            assert not guide.praise.isVisible()
            studio.qtbot.mouseClick(guide.show_me, LEFT)
        if step.goal is not None:
            studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
        if step.goal is not None or step.asks:
            assert guide.praise.isVisible()
            assert step.praise in guide.praise.text()
        bar = guide._text.verticalScrollBar()  # a step is read without scrolling, once formulas have their place
        studio.qtbot.waitUntil(lambda bar=bar: bar.maximum() == 0, timeout=60_000)
        studio.qtbot.mouseClick(guide.next, LEFT)
    assert tutor.lesson is None
    assert not guide.isVisible()


def test_every_step_is_read_without_scrolling_on_a_small_screen(studio: Studio) -> None:
    window = studio.window
    size = window.size()
    window.resize(1272, 760)
    tutor = begun(studio, "inside-and-outside")
    bar = tutor.guide._text.verticalScrollBar()
    texts = set()
    for _ in range(5):
        studio.qtbot.waitUntil(lambda: bar.maximum() == 0)
        texts.add(tutor.guide.words.text())
        tutor.go(1)
    assert len(texts) == 5
    tutor.end()
    window.resize(size)


def test_doing_it_by_hand_counts_and_other_deeds_do_not(studio: Studio) -> None:
    tutor = begun(studio, "inside-and-outside")
    tutor.go(1)
    studio.stroke((3, 3), (3, 8))  # draws, where erasing was asked for
    studio.settle()
    assert not tutor.reached
    studio.stroke((3, 3), (3, 8), button=Qt.MouseButton.RightButton)
    studio.qtbot.waitUntil(lambda: tutor.reached, timeout=30_000)
    assert not tutor.guide.show_me.isEnabled()
    tutor.go(-1)
    assert not tutor.guide.back.isEnabled()


def test_the_guide_stays_with_its_workspace_and_can_be_sent_away(studio: Studio) -> None:
    tutor = begun(studio, "inside-and-outside")
    studio.window.choose_workspace("graph")
    assert not tutor.guide.isVisible()
    studio.window.choose_workspace("segment")
    assert tutor.guide.isVisible()
    studio.qtbot.mouseClick(tutor.guide.close_button, LEFT)
    assert not tutor.guide.isVisible()
    assert studio.window.focusWidget() is studio.canvas


def test_lessons_are_chosen_from_a_list_with_the_keyboard(studio: Studio) -> None:
    tutor = studio.window.tutor
    studio.do("lessons")
    studio.qtbot.waitUntil(lambda: tutor.chooser is not None and tutor.chooser.isVisible(), timeout=30_000)
    chooser = tutor.chooser
    assert chooser is not None
    assert chooser.list.count() == len(shipped_lessons())
    studio.qtbot.keyClick(chooser.list, Qt.Key.Key_Down)
    studio.qtbot.keyClick(chooser.list, Qt.Key.Key_Return)
    wait_for_lesson(studio)
    assert tutor.lesson is not None
    assert tutor.lesson.title == shipped_lessons()[1].title
    assert studio.window.workspace.name == tutor.lesson.workspace


def test_a_question_is_answered_with_the_keyboard_alone(studio: Studio) -> None:
    """Tab reaches every button of the guide from the canvas; Alt and its number answer at once."""
    tutor = begun(studio, "messages-on-a-chain")
    tutor.go(1)
    tutor.go(1)
    guide, canvas = tutor.guide, studio.window.workspace.canvas
    studio.window.activateWindow()  # a question about unsaved work may have been asked
    studio.qtbot.waitUntil(studio.window.isActiveWindow, timeout=60_000)
    canvas.setFocus()
    reached = set()
    for _ in range(200):
        studio.window.focusNextPrevChild(True)
        reached.add(QApplication.focusWidget())
        if QApplication.focusWidget() is canvas:
            break
    assert {*guide.choices, guide.back, guide.next, guide.close_button} <= reached
    assert [button.shortcut().toString() for button in guide.choices] == ["Alt+1", "Alt+2", "Alt+3"]
    studio.qtbot.keyClick(canvas, Qt.Key.Key_2, Qt.KeyboardModifier.AltModifier)
    studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
    assert guide.choices[1].text() == "✓ After 5"


def test_unsaved_work_is_asked_about_before_a_lesson_begins(studio: Studio) -> None:
    studio.stroke((3, 3), (3, 8))
    studio.settle()
    tutor = studio.window.tutor
    tutor.begin(shipped_lessons()[0])
    question = studio.window.files._question
    assert question is not None
    question.reject()
    studio.settle()
    assert tutor.lesson is None
    assert studio.frame.modified
