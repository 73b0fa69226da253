"""Forms of parameters: what is typed or dragged is emitted in its own type, what does not fit is said."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QScrollArea, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.widgets.number_box import NumberBox
from mrfstudio.ui.widgets.parameter_form import ParameterForm
from tests.ui.helpers.widgets import ENTRY, LEFT, emitted, shown


@pytest.fixture
def form(qtbot: QtBot) -> ParameterForm:
    form = ParameterForm()
    form.set_entry(ENTRY)
    shown(qtbot, form, 320, 600)
    return form


def box(form: ParameterForm, name: str) -> NumberBox:
    editor = form.row(name).editor
    assert isinstance(editor, NumberBox)
    return editor


def write(editor: NumberBox, words: str) -> None:
    editor.setFocus()
    editor.selectAll()
    QTest.keyClicks(editor, words)


def test_a_form_has_every_field_at_its_default(form: ParameterForm) -> None:
    assert form.values() == {field.name: field.default for field in ENTRY.fields}


def test_typed_values_are_emitted_in_their_own_type(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    write(box(form, "iterations"), "7")
    write(box(form, "tolerance"), "1e-3")
    assert [(name, value) for name, value, _ in changes if value in (7, 1e-3)] == [
        ("iterations", 7),
        ("tolerance", 1e-3),
    ]
    assert isinstance(form.values()["iterations"], int)


def test_a_decimal_comma_is_understood(form: ParameterForm) -> None:
    write(box(form, "damping"), "0,25")
    assert form.values()["damping"] == 0.25


def test_what_does_not_fit_is_said_kindly_and_not_emitted(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    write(box(form, "damping"), "1")
    problem = form.row("damping").problem
    assert problem.isVisible()
    assert "expected a number in [0, 1)" in problem.text()
    assert changes == []
    QTest.keyClick(box(form, "damping"), Qt.Key.Key_Escape)
    assert not problem.isVisible()
    assert box(form, "damping").lineEdit().text() == "0"
    write(box(form, "iterations"), "many")
    assert form.row("iterations").problem.isVisible()
    box(form, "damping").setFocus()
    assert not form.row("iterations").problem.isVisible()
    assert box(form, "iterations").lineEdit().text() == "15"


def test_sliders_reach_their_ends_and_respect_open_ones(form: ParameterForm) -> None:
    for name, low, high in (("damping", 0.0, 0.999), ("iterations", 1, 1000)):
        slider = form.row(name).slider
        assert slider is not None
        slider.setValue(slider.maximum())
        assert form.values()[name] == high
        slider.setValue(0)
        assert form.values()[name] == low
    slider = form.row("tolerance").slider
    assert slider is not None
    slider.setValue(0)
    assert 0 < form.values()["tolerance"] < 1e-6


def test_one_drag_is_one_gesture_and_two_are_two(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    slider = form.row("damping").slider
    assert slider is not None
    for end in (300, 600):
        slider.setSliderDown(True)
        for position in range(end - 50, end, 10):
            slider.setValue(position)
        slider.setSliderDown(False)
    gestures = [gesture for _, _, gesture in changes]
    assert len(changes) == 10
    assert len(set(gestures[:5])) == 1
    assert len(set(gestures)) == 2


def test_arrows_step_the_number_and_stop_at_open_ends(form: ParameterForm) -> None:
    editor = box(form, "iterations")
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_Up)
    assert form.values()["iterations"] == 16
    assert box(form, "damping").stepEnabled() == NumberBox.StepEnabledFlag.StepUpEnabled


def test_values_from_elsewhere_are_shown_and_not_emitted(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    form.set_values({"damping": 0.5, "schedule": "sequential", "normalise": False, "path": "there", "other": 3})
    assert changes == []
    assert form.values() | {"damping": 0.5, "schedule": "sequential"} == form.values()
    slider = form.row("damping").slider
    assert slider is not None
    assert slider.value() == 500


def test_defaults_go_back_in_one_gesture(form: ParameterForm) -> None:
    form.set_values({"damping": 0.5, "iterations": 3})
    changes = emitted(form.changed)
    form.reset()
    assert {(name, value) for name, value, _ in changes} == {("damping", 0.0), ("iterations", 15)}
    assert len({gesture for _, _, gesture in changes}) == 1


def test_every_field_has_help_with_its_range_and_an_accessible_name(form: ParameterForm) -> None:
    for field in ENTRY.fields:
        row = form.row(field.name)
        assert field.help in row.editor.toolTip()
        assert field.option in row.editor.toolTip()
        assert row.editor.accessibleName()
        assert field.help in row.editor.accessibleDescription()
    assert "Tolerance (bits)" in {label.text() for label in form.findChildren(QLabel)}


def test_advanced_fields_wait_behind_a_fold(form: ParameterForm) -> None:
    row = form.row("kernel")
    assert not row.isVisible()
    fold = next(button for button in form.findChildren(QToolButton) if "Advanced" in button.text())
    QTest.mouseClick(fold, LEFT)
    assert row.isVisible()


def test_scrolling_over_a_form_changes_nothing(form: ParameterForm, qtbot: QtBot) -> None:
    changes = emitted(form.changed)
    for name in ("damping", "schedule", "iterations"):
        editor = form.row(name).editor
        editor.clearFocus()
        place = QPointF(editor.rect().center())
        event = QWheelEvent(
            place,
            editor.mapToGlobal(place),
            QPoint(),
            QPoint(0, -240),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(editor, event)
    assert changes == []


def test_an_entry_without_parameters_says_so(qtbot: QtBot) -> None:
    form = ParameterForm()
    shown(qtbot, form)
    assert any("Nothing to adjust" in label.text() for label in form.findChildren(QLabel))


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_no_text_of_a_form_is_cut(theme: Theme, qtbot: QtBot, scale: float) -> None:
    theme.set_scale(scale)
    area, form = QScrollArea(), ParameterForm()
    form.set_entry(ENTRY)
    area.setWidgetResizable(True)
    area.setWidget(form)
    shown(qtbot, area, round(300 * scale), 500)
    for name in form.values():
        row = form.row(name)
        for widget in row.findChildren(QWidget):
            words = widget.text() if hasattr(widget, "text") and callable(widget.text) else ""
            if words and widget.isVisible() and not isinstance(widget, QComboBox):
                assert widget.width() >= widget.fontMetrics().horizontalAdvance(words), (name, words)
                assert widget.height() >= widget.fontMetrics().height() - 1, (name, words)
