"""The page of all kept results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import card_tables, report
from mrfstudio.engine.files.model_file import read_card


def test_numbers_worse_than_print_become_bold() -> None:
    kept = "# Errors\n\n| set | here |\n| --- | --- |\n| a | 0.172 (0.167) |\n| b | 0.140 (0.148) |\n"
    assert "| a | **0.172 (0.167)** |" in report.section(kept)
    assert "| b | 0.140 (0.148) |" in report.section(kept)


def test_deviations_and_digits_do_not_hide_what_is_worse() -> None:
    kept = "| set | ℓ1 |\n|---|---|\n| a | 0.2004 ± 0.1089 (0.181) |\n| b | 0.1814 ± 0.1 (0.181) |\n"
    rows = report.section(kept).splitlines()
    assert rows[2] == "| a | **0.2004 ± 0.1089 (0.181)** |"
    assert rows[3] == "| b | 0.1814 ± 0.1 (0.181) |"  # the same as far as print goes


def test_more_is_better_of_correlations_alone() -> None:
    kept = "| n | BP, ρ | BP, ℓ1 |\n|---|---|---|\n| 25 | 0.996 (0.950) | 0.1 (0.2) |\n"
    kept += "| 9 | 0.90 (0.95) | 0.3 (0.2) |\n"
    rows = report.section(kept).splitlines()
    assert rows[2] == "| 25 | 0.996 (0.950) | 0.1 (0.2) |"
    assert rows[3] == "| 9 | **0.90 (0.95)** | **0.3 (0.2)** |"


def test_headings_go_one_level_down() -> None:
    assert report.section("# Title\n\n### Part") == "## Title\n\n#### Part"


def test_every_kept_table_is_on_the_page() -> None:
    page = report.report()
    titles = [path.read_text("utf-8").split("\n", 1)[0] for path in report.pages()]
    assert len(titles) >= 5
    assert all(f"#{title}\n" in page for title in titles)


def test_the_page_is_what_was_kept() -> None:
    page = report.PAGE.read_text("utf-8")
    assert page == report.report(), "docs/results.md is older than what was kept: python benchmarks/report.py"


def test_models_stand_beside_what_was_printed_for_them() -> None:
    faces, grids = report.faces().splitlines(), report.grids().splitlines()
    unit = next(line for line in faces if "frey-unit" in line)
    assert unit.count("(1.503)") == 1
    assert len(unit.split("|")) == len(card_tables.QUERIES) + 5
    assert unit.endswith(f"| {read_card('grbm-frey-unit').card['training_seconds']:.0f} |")
    assert any(line.startswith("| full covariance | none | -0.7") for line in faces)
    assert [line.count("**") for line in grids if "grid-border" in line and "|" in line[:2]] == [0, 4]


def test_ways_to_install_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"about": "Two cores.", "rows": [{"way": "pip", "size": "1 GB", "start": "2 s"}]}
    file = tmp_path / "installing.json"
    file.write_text(json.dumps(kept), encoding="utf-8")
    monkeypatch.setattr(report, "INSTALLED", file)
    assert report.report().endswith("| pip | 1 GB | 2 s |\n")
