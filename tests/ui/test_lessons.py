"""Every shipped lesson, played in the real window with the real models: each goal can be reached, and is noticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox

from mrfstudio.engine.commands import SetSpeed
from mrfstudio.engine.files.lesson_file import shipped_lessons
from mrfstudio.ui.lessons.tutor import Tutor
from tests.ui.studio import Studio

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
        studio.controller.post(SetSpeed(None))
        assert tutor.number == number
        assert f"step {number + 1} of {len(lesson.steps)}" in guide.heading.text()
        assert guide.words.text() == step.say
        if step.answer:
            assert not tutor.reached
            assert not guide.praise.isVisible()
            studio.qtbot.mouseClick(guide.show_me, LEFT)
        if step.goal is not None:
            studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
            assert guide.praise.isVisible()
            assert step.praise in guide.praise.text()
        studio.qtbot.mouseClick(guide.next, LEFT)
    assert tutor.lesson is None
    assert not guide.isVisible()


def test_every_step_is_read_without_scrolling_on_a_small_screen(studio: Studio) -> None:
    window = studio.window
    size = window.size()
    window.resize(1272, 760)
    tutor = begun(studio, "inside-and-outside")
    bar = tutor.guide._text.verticalScrollBar()
    for _ in range(5):
        studio.qtbot.waitUntil(lambda: bar.maximum() == 0)
        tutor.go(1)
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
