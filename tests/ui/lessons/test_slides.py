"""A lesson on the stage: words as slides, steps turned and questions answered by keys, hands that reach the graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from mrfstudio.ui.graph_canvas.on_stage import StageGraph
from mrfstudio.ui.window.stage import Stage
from mrfstudio.ui.words.view import EquationView
from tests.ui.helpers.studio import Studio
from tests.ui.lessons.test_lessons import begun

Key = Qt.Key


@pytest.fixture(autouse=True)
def _everything_ends(studio: Studio) -> Iterator[None]:
    yield
    if studio.window.showing.stage is not None:
        studio.window.showing.stage.close_stage()
    studio.window.tutor.end()
    studio.window.files.discard()


def staged(studio: Studio, lesson: str) -> Stage:
    tutor = begun(studio, lesson)
    studio.qtbot.waitUntil(lambda: not tutor.guide.missing(), timeout=60_000)
    studio.do("present")
    stage = studio.window.showing.stage
    assert stage is not None
    return stage


def test_a_lesson_is_given_from_the_stage(studio: Studio) -> None:
    stage = staged(studio, "messages-on-a-chain")
    tutor, view = studio.window.tutor, stage.slide
    assert tutor.lesson is not None
    assert view.findChildren(EquationView), "formulas are set, not written as TeX"
    assert "$" not in "".join(label.text() for label, _ in view.say._labels)
    QTest.keyClick(stage, Key.Key_Right)
    assert tutor.number == 1
    assert "step 2 of 7" in view.heading.text()
    assert isinstance(stage.canvas, StageGraph)
    studio.until(lambda: studio.controller.answered and stage.canvas.graph is not None)
    place = stage.canvas.transform.to_widget(*stage.canvas.graph.positions[0].tolist())
    QTest.mouseClick(stage.canvas, Qt.MouseButton.LeftButton, pos=QPoint(round(place.x()), round(place.y())))
    studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
    assert view.praise.text() == tutor.lesson.steps[1].praise
    QTest.keyClick(stage, Key.Key_Right)
    assert [label.text() for label in view.choices] == ["1   After 1", "2   After 5", "3   After 6"]
    QTest.keyClick(stage, Key.Key_1)
    studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
    assert [label.text()[4:5] for label in view.choices] == ["✗", "✓", "A"]
    while not (view.slide and view.slide.last):
        QTest.keyClick(stage, Key.Key_PageDown)
    QTest.keyClick(stage, Key.Key_PageDown)
    assert tutor.lesson is not None, "the last slide stays; Esc leaves the stage, and the lesson goes on in the window"
    QTest.keyClick(stage, Key.Key_Escape)
    assert studio.window.showing.stage is None
    assert tutor.guide.isVisible()


def test_enter_shows_a_step_and_typed_captions_have_formulas(studio: Studio) -> None:
    stage = staged(studio, "messages-on-a-chain")
    tutor = studio.window.tutor
    QTest.keyClick(stage, Key.Key_Right)
    QTest.keyClick(stage, Key.Key_Return)
    studio.qtbot.waitUntil(lambda: tutor.reached, timeout=60_000)
    QTest.keyClick(stage, Key.Key_T)
    stage.typed.setText("So $\\belief{b_0}$ is known")
    QTest.keyClick(stage.typed, Key.Key_Return)
    studio.qtbot.waitUntil(
        lambda: any(run.equation for block in stage.caption.words.blocks for run in block.runs), timeout=60_000
    )


def test_training_is_staged_too(studio: Studio) -> None:
    studio.window.choose_workspace("train")
    studio.do("present")
    stage = studio.window.showing.stage
    assert stage is not None
    assert stage.canvas.isVisible()
    stage.close_stage()
