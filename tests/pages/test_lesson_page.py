"""Lessons as web pages: questions are asked before anything is seen, and runs can be scrubbed."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mrfstudio.cli import main
from mrfstudio.engine.files.lesson_archive import write_archive
from mrfstudio.engine.files.lesson_file import shipped_lessons
from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.tasks.lesson_page import write_lesson_page
from tests.pages.chromium import Chromium, found


def chain() -> Lesson:
    lesson = next(each for each in shipped_lessons() if each.name == "messages-on-a-chain")
    return replace(lesson, steps=(lesson.steps[0], *lesson.steps[2:4], lesson.steps[5]))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lesson") / "chain.html"
    assert write_lesson_page(chain(), path) == path.stat().st_size < 3_000_000
    return path


def test_the_page_stands_alone(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    outside = re.sub(r'xmlns="http://www.w3.org/2000/svg"', "", text)
    assert not re.search(r'(?<![\w-])(src|href)\s*=\s*"|https?://|@import|url\(', outside)
    assert text.count("<iframe") == 3
    assert text.count('data-symbol="message"') >= 4
    assert "$" not in re.sub(r"<(script|iframe).*?</\1>", "", text, flags=re.S)


def test_a_folder_becomes_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "course"
    folder.mkdir()
    short = replace(chain(), steps=chain().steps[-1:])
    write_archive(replace(short, title="One <b>", name="one"), folder / "one.mrfl")
    write_archive(replace(short, title="Two", name="two"), folder / "two.mrfl")
    assert main(["lesson", str(folder), "--out", str(tmp_path / "site"), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [Path(each).name for each in told["pages"]] == ["index.html", "one.html", "two.html"]
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert 'href="one.html">One &lt;b&gt;</a>' in index
    assert main(["lesson", str(tmp_path), "--out", str(tmp_path / "none")]) == 2
    assert main(["lesson", "no-such-lesson", "--out", str(tmp_path / "x.html")]) == 2


@pytest.mark.skipif(found() is None, reason="there is no Chromium here")
def test_a_student_answers_before_seeing_and_moves_the_slider(page: Path, tmp_path: Path) -> None:
    with Chromium(tmp_path / "profile") as browser:
        browser.open(page)
        assert browser.value("document.querySelector('.question .seen').hidden") is True
        browser.value("document.querySelector('.question button[data-choice=\"0\"]').click()")
        assert browser.value("document.querySelector('.question .seen').hidden") is False
        assert "After 5" in browser.value("document.querySelector('.question .verdict').textContent")
        marks = browser.value("[...document.querySelectorAll('.question button')].map(b => b.dataset.mark || '')")
        assert marks == ["✗", "✓", ""]
        browser.value("document.querySelector('.question iframe').scrollIntoView()")
        inside = "document.querySelector('.question iframe').contentDocument"
        end = time.monotonic() + 60
        while browser.value(f"{inside} && {inside}.body && {inside}.body.dataset.ready") != "yes":
            assert time.monotonic() < end, "the run inside never became ready"
            time.sleep(0.05)
        assert browser.value(f"{inside}.getElementById('slider').max") == "5"
        frame = "document.querySelector('.question iframe')"
        while browser.value(f"{frame}.clientHeight < {inside}.documentElement.scrollHeight"):
            assert time.monotonic() < end, "what is inside is taller than its frame"
            time.sleep(0.05)
        slider = f"{inside}.getElementById('slider')"
        browser.value(f"{slider}.value = 2")
        browser.value(f"{slider}.dispatchEvent(new Event('input'))")
        assert browser.value(f"{inside}.getElementById('iteration').textContent") == "iteration 2 of 5"
        (tmp_path / "page.png").write_bytes(browser.picture())
