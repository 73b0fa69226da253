"""The desktop entry: written, readable by a desktop, and taken away again."""

from __future__ import annotations

import configparser
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from mrfstudio import desktop
from mrfstudio.cli import main
from mrfstudio.engine.protocol.errors import StudioError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(desktop, "REFRESH", ())
    return tmp_path


def test_what_is_written_names_this_copy_and_every_file_type(home: Path) -> None:
    assert main(["desktop"]) == 0
    entry = configparser.ConfigParser(interpolation=None)
    entry.read(home / "applications/mrfstudio.desktop", encoding="utf-8")
    words = entry["Desktop Entry"]
    assert words["Exec"].endswith("%f")
    assert sys.executable in words["Exec"]
    types = ElementTree.parse(home / "mime/packages/mrfstudio.xml").getroot()
    names = {each.attrib["type"] for each in types}
    assert set(words["MimeType"].strip(";").split(";")) == names
    patterns = {child.attrib["pattern"] for each in types for child in each if "pattern" in child.attrib}
    assert patterns == {"*.mrfs", "*.mrfl", "*.uai", "*.fg"}
    assert (home / "icons/hicolor/scalable/apps/mrfstudio.svg").read_text(encoding="utf-8").startswith("<svg")
    assert main(["desktop", "--remove"]) == 0
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_bundle_is_started_itself_and_odd_names_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", '/opt/my "apps"/100%/mrfstudio')
    assert desktop.program() == '"/opt/my \\"apps\\"/100%%/mrfstudio"'


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_are_told_where_to_read(system: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(StudioError, match=r"docs/installing\.md"):
        desktop.install()
    assert list(home.iterdir()) == []
