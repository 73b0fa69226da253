"""Where a person's files lie: in the system's places, or all of them in one folder."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from mrfstudio import places


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(places.HOME, raising=False)


def test_a_folder_beside_the_checkout_holds_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "mrfstudio"
    monkeypatch.setattr(places, "__file__", str(package / "places.py"))
    assert places.portable_folder() is None
    assert places.settings_file() is None
    home = tmp_path / places.PORTABLE
    home.mkdir()
    found = [places.user_folder("runs"), places.cache_folder(), places.log_folder(), places.settings_file()]
    assert found == [home / "runs", home / "cache", home / "log", home / "settings.ini"]


def test_a_bundle_looks_beside_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "mrfstudio"))
    assert places.portable_folder() is None
    (tmp_path / places.PORTABLE).mkdir()
    assert places.user_folder() == tmp_path / places.PORTABLE


def test_the_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.HOME, str(tmp_path / "mine"))
    assert places.user_folder("models") == tmp_path / "mine" / "models"
    assert places.log_folder() == tmp_path / "mine" / "log"


@pytest.mark.parametrize(
    ("module", "cls", "variables", "expected"),
    [
        ("windows", "Windows", {"LOCALAPPDATA": r"C:\Users\ada\AppData\Local"}, ("AppData", "Local")),
        ("macos", "MacOS", {"HOME": "/Users/ada"}, ("Library", "Application Support")),
        ("unix", "Unix", {"XDG_DATA_HOME": "/home/ada/.data"}, (".data",)),
    ],
)
def test_every_system_has_its_own_place(
    module: str, cls: str, variables: dict[str, str], expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The places that `platformdirs` knows for other systems than this one."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    system = getattr(__import__(f"platformdirs.{module}", fromlist=[cls]), cls)
    if module == "windows":
        from platformdirs import windows

        monkeypatch.setattr(windows, "get_win_folder", lambda name: variables["LOCALAPPDATA"])
    monkeypatch.setattr(platformdirs, "PlatformDirs", system)
    monkeypatch.setattr(places, "__file__", "/nowhere/mrfstudio/places.py")
    parts = str(places.user_folder("runs")).replace("\\", "/").split("/")
    assert all(part in parts for part in expected)
    assert parts[-2:] == ["mrfstudio", "runs"]
