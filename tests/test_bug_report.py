"""A bug report holds what was shown, and no names."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from mrfstudio import __version__, bug_report
from mrfstudio.bug_report import LOG, LOG_LINES, SESSION, SUMMARY, report_parts, without_names, write_report


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bug_report, "log_folder", lambda: tmp_path)
    return tmp_path / LOG


def test_versions_device_and_the_end_of_the_log(log: Path) -> None:
    assert set(report_parts("CPU")) == {SUMMARY}
    log.write_text("\n".join(f"line {i}" for i in range(1000)), encoding="utf-8")
    parts = report_parts("CPU, 2 threads")
    assert f"mrfstudio {__version__}" in parts[SUMMARY]
    assert "device: CPU, 2 threads" in parts[SUMMARY]
    assert "torch 2" in parts[SUMMARY]
    assert parts[LOG].splitlines() == [f"line {i}" for i in range(1000 - LOG_LINES, 1000)]


def test_a_persons_folder_is_taken_out() -> None:
    home = Path("/home/ada")
    text = "opened /home/ada/pictures/cat.png and /mnt/home/ada/x, C:\\Users\\ada\\y; adamant"
    assert without_names(text, home) == "opened ~/pictures/cat.png and /mnt~/x, C:\\Users\\~\\y; adamant"


def test_the_zip_holds_the_texts_and_the_session_only_if_given(tmp_path: Path) -> None:
    session = tmp_path / "s.mrfs"
    session.write_bytes(b"session")
    for given, names in ((None, {SUMMARY}), (session, {SUMMARY, SESSION})):
        write_report(tmp_path / "report.zip", {SUMMARY: "text"}, given)
        with zipfile.ZipFile(tmp_path / "report.zip") as archive:
            assert set(archive.namelist()) == names
            assert archive.read(SUMMARY) == b"text"
    assert {path.name for path in tmp_path.iterdir()} == {"s.mrfs", "report.zip"}


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        write_report(tmp_path / "nowhere" / "report.zip", {SUMMARY: "text"})
    with pytest.raises(OSError, match="none"):
        write_report(tmp_path / "report.zip", {SUMMARY: "text"}, tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
