"""Lessons that people write come back as they were; broken and hostile ones are refused in one sentence."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from mrfstudio.engine.files.lesson_archive import FORMAT, read_archive, write_archive
from mrfstudio.engine.files.lesson_file import LessonFileError, read_lesson, shipped_lessons
from mrfstudio.engine.protocol.lessons import Lesson


@pytest.mark.parametrize("lesson", shipped_lessons(), ids=lambda lesson: lesson.name)
def test_every_lesson_survives_being_written(lesson: Lesson, tmp_path: Path) -> None:
    path = write_archive(lesson, tmp_path / f"{lesson.name}.mrfl")
    assert read_lesson(path) == lesson


def test_a_session_goes_with_it(tmp_path: Path) -> None:
    lesson = Lesson("mine", "T", "A.", 1, "graph", shipped_lessons()[0].steps, b"what a session file holds")
    assert read_archive(write_archive(lesson, tmp_path / "mine.mrfl")) == lesson


def packed(path: Path, **members: bytes | str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return path


def good() -> dict:
    steps = [{"say": "x"}]
    return {
        "format": FORMAT,
        "version": 1,
        "title": "t",
        "about": "a.",
        "minutes": 1,
        "workspace": "graph",
        "steps": steps,
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "something else"}, "another kind"),
        ({"version": 99}, "version 99"),
        ({"steps": []}, "0 steps"),
        ({"steps": [{"say": "x"}] * 300}, "300 steps"),
        ({"steps": [{"say": "x", "answer": [{"do": "os.system", "name": "rm"}]}]}, "os.system"),
        ({"steps": [{"say": "x", "choices": ["a", "b"], "right": 7}]}, "number 7"),
        ({"steps": [{"say": 5}]}, "say"),
        ({"session": "/etc/passwd"}, "session"),
    ],
)
def test_what_is_wrong_is_said(change: dict, words: str, tmp_path: Path) -> None:
    assert read_archive(packed(tmp_path / "good.mrfl", lesson_json=json.dumps(good()))).title == "t"
    path = packed(tmp_path / "bad.mrfl", lesson_json=json.dumps(good() | change))
    with pytest.raises(LessonFileError, match=words) as refused:
        read_archive(path)
    assert "\n" not in str(refused.value)


def test_hostile_archives_are_refused_before_they_are_believed(tmp_path: Path) -> None:
    text = json.dumps(good())
    hostile = [
        packed(tmp_path / "more.mrfl", lesson_json=text, evil_sh="x"),
        packed(tmp_path / "empty.mrfl", start_mrfs=b""),
        packed(tmp_path / "bomb.mrfl", lesson_json=text, start_mrfs=b"\0" * (80 << 20)),
    ]
    (tmp_path / "text.mrfl").write_text("no zip", encoding="utf-8")
    for path in [*hostile, tmp_path / "text.mrfl", tmp_path / "none.mrfl"]:
        with pytest.raises(LessonFileError):
            read_archive(path)
