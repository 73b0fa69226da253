"""The page of all kept results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import report


def test_numbers_worse_than_print_become_bold() -> None:
    kept = "# Errors\n\n| set | here |\n| --- | --- |\n| a | 0.172 (0.167) |\n| b | 0.140 (0.148) |\n"
    assert "| a | **0.172 (0.167)** |" in report.section(kept)
    assert "| b | 0.140 (0.148) |" in report.section(kept)


def test_a_column_of_the_paper_judges_the_one_of_all_pixels_before_it() -> None:
    kept = "| method | all | changed | paper |\n|---|---|---|---|\n| LR | 1.9 | 13 | 1.8 |\n| MF | 1.7 | 11 | 1.8 |\n"
    rows = report.section(kept).splitlines()
    assert rows[2] == "| LR | **1.9** | 13 | 1.8 |"
    assert rows[3] == "| MF | 1.7 | 11 | 1.8 |"


def test_headings_go_one_level_down() -> None:
    assert report.section("# Title\n\n### Part") == "## Title\n\n#### Part"


def test_every_kept_table_is_on_the_page() -> None:
    page = report.report()
    titles = [path.read_text("utf-8").split("\n", 1)[0] for path in report.pages()]
    assert len(titles) >= 5
    assert all(f"#{title}\n" in page for title in titles)


def test_ways_to_install_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"about": "Two cores.", "rows": [{"way": "pip", "size": "1 GB", "start": "2 s"}]}
    file = tmp_path / "installing.json"
    file.write_text(json.dumps(kept), encoding="utf-8")
    monkeypatch.setattr(report, "INSTALLED", file)
    assert report.report().endswith("| pip | 1 GB | 2 s |\n")
