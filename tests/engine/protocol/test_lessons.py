"""Lessons are read strictly, and goals are what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mrfstudio.engine.files.lesson_file import LessonFileError, read_lesson, shipped_lessons
from mrfstudio.engine.protocol.commands import AddLane, Paint, SetSpeed, SetStrength
from mrfstudio.engine.protocol.lessons import Goal
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.words.markdown import words_of
from tests.ui.helpers.pictures import frame, lane

SPEEDS = (1, 2, 5, 10, 30, 60, None)  # what the window's list offers
STROKE = Paint("observed", 0, ((1.5, 1.5),), 1.0)


def test_every_shipped_lesson_is_complete() -> None:
    lessons = shipped_lessons()
    assert len({lesson.title for lesson in lessons}) == len(lessons) >= 17
    for lesson in lessons:
        assert lesson.workspace in ("segment", "photograph", "inpaint", "graph", "train")
        assert any(step.asks for step in lesson.steps), "a student predicts something"
        assert sum(step.exercise for step in lesson.steps) == 1, "one exercise is left open"
        assert lesson.about.endswith(".")
        assert lesson.steps[-1].goal is None, "the last step only says goodbye"
        for step in lesson.steps:
            prose = re.sub(r"\$+[^$]+\$+", "x", step.say)
            assert len(prose) < 330, step.say
            assert step.say[-1] in ".?$"
            assert not words_of(step.say).problems
            assert not words_of(step.praise).problems
            if step.goal is not None:
                assert step.praise
            if step.goal is not None and step.goal.command:
                assert step.answer, "whoever cannot do it can have it shown"
            for command in (*step.setup, *step.answer):
                if isinstance(command, SetSpeed):
                    assert command.iterations_per_second in SPEEDS
                if isinstance(command, AddLane):
                    assert command.algorithm in {cls.name for cls in ALGORITHMS}


@pytest.mark.parametrize(
    ("goal", "given", "met"),
    [
        (Goal(command="Paint"), [], False),
        (Goal(command="Paint"), [STROKE], True),
        (Goal(command="Paint", fields={"layer": "hints"}), [STROKE], False),
        (Goal(command="SetStrength", fields={"value": (1.5, 3.0)}), [SetStrength("coupling", 1.4)], False),
        (Goal(command="SetStrength", fields={"value": (1.5, 3.0)}), [SetStrength("coupling", 3.0)], True),
        (Goal(status=("converged",)), [], False),
        (Goal(status=("running", "converged")), [], True),
        (Goal(lanes=2), [], False),
        (Goal(iteration=5), [], True),
        (Goal(iteration=6), [], False),
        (Goal(command="Paint", iteration=6), [STROKE], False),
    ],
)
def test_a_goal_is_met_when_all_of_it_is(goal: Goal, given: list[Any], met: bool) -> None:
    assert goal.met(frame(lane(5), iteration=5), given) is met


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": [{"say": "x", "answer": [{"do": "Fly"}]}]}, "Fly"),
        ({"steps": [{"say": "x", "setup": [{"do": "Paint", "colour": 1}]}]}, "no colour"),
        ({"steps": [{"say": "x", "goal": {"mood": 1}}]}, "mood"),
        ({"steps": [{}]}, "say"),
        ({"minuets": 3}, "minuets"),
    ],
)
def test_a_lesson_with_a_mistake_is_refused_in_one_sentence(change: dict, words: str, tmp_path: Path) -> None:
    good = {"title": "t", "about": "a.", "minutes": 1, "workspace": "graph", "steps": [{"say": "x"}]}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(good), encoding="utf-8")
    assert read_lesson(path).name == "mine"
    path.write_text(json.dumps(good | change), encoding="utf-8")
    with pytest.raises(LessonFileError, match=words):
        read_lesson(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(LessonFileError, match="is no lesson"):
        read_lesson(path)
    with pytest.raises(LessonFileError, match="cannot be read"):
        read_lesson(tmp_path / "none.json")
