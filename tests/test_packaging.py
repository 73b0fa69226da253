"""The package: what a wheel holds, where shipped files are found, and that pins and contracts stay in one place."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import mrfstudio
from mrfstudio.assets import AssetNotFound, asset, doc, folder
from tests.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `pip install .` would install, built without the network."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return next(out.glob("mrfstudio-*.whl"))


def test_a_wheel_holds_code_assets_and_documentation(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"mrfstudio/__init__.py", "mrfstudio/py.typed", "mrfstudio/_assets/models/README.md"} <= names
    for kind in ("assets", "docs"):
        shipped = {path.relative_to(ROOT / kind).as_posix() for path in (ROOT / kind).rglob("*") if path.is_file()}
        assert {f"mrfstudio/_{kind}/{name}" for name in shipped} <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_a_wheel_has_the_version_and_the_command(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        information = f"mrfstudio-{mrfstudio.__version__}.dist-info"
        assert "mrfstudio = mrfstudio.cli:main" in archive.read(f"{information}/entry_points.txt").decode()


def test_an_installed_wheel_finds_its_own_files(wheel: Path, tmp_path: Path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    code = "from mrfstudio.assets import *; print(asset('models', 'README.md')); print(folder('docs'))"
    # -I: neither the checkout nor an editable install of it may be found instead.
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r}); {code}"
    result = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    package = tmp_path / "installed" / "mrfstudio"
    assert result.stdout.splitlines() == [str(package / "_assets/models/README.md"), str(package / "_docs")], (
        result.stderr
    )


def test_a_checkout_finds_the_files_beside_the_package():
    assert asset("models", "README.md") == ROOT / "assets" / "models" / "README.md"
    assert doc("architecture.md") == ROOT / "docs" / "architecture.md"
    assert folder("assets") == ROOT / "assets"


def test_a_wrong_name_is_answered_with_near_ones():
    with pytest.raises(AssetNotFound, match=r"'models/REDME.md'.*models/README.md"):
        asset("models", "REDME.md")
    with pytest.raises(AssetNotFound, match=r"architecture\.md"):
        doc("architectur.md")


def test_a_name_that_resembles_nothing_is_answered_with_what_there_is():
    with pytest.raises(AssetNotFound, match=r"there are .*README.md"):
        asset("zzzz")


@pytest.mark.parametrize("parts", [("..", "pyproject.toml"), (str(ROOT / "pyproject.toml"),)], ids=["up", "absolute"])
def test_names_cannot_leave_the_shipped_files(parts: tuple[str, ...]):
    with pytest.raises(AssetNotFound):
        asset(*parts)


def test_torch_is_pinned_in_one_place():
    pins = [line for line in PROJECT["project"]["dependencies"] if re.match(r"torch\b", line)]
    assert len(pins) == 1
    version = pins[0].removeprefix("torch==")
    files = [
        ROOT / "studio.py",
        ROOT / ".ci/run",
        *(ROOT / "mrfstudio").rglob("*.py"),
    ]
    assert [path.name for path in files if version in path.read_text(encoding="utf-8")] == []


def test_the_window_sees_of_the_engine_only_what_is_kept_free_of_torch():
    contracts = {contract["name"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
    window = next(contract for name, contract in contracts.items() if name.startswith("The window"))
    rules = [rule.split(" -> ") for rule in window["ignore_imports"]]
    allowed = {imported.removesuffix(".**") for importer, imported in rules if importer == "mrfstudio.ui.**"}
    light = contracts["What crosses to the window loads no torch"]
    assert allowed == set(light["source_modules"])
    assert {"torch", "scipy"} <= set(light["forbidden_modules"]) <= set(window["forbidden_modules"])


def test_citation_changelog_and_package_are_of_the_same_version_and_day():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {mrfstudio.__version__}\n" in citation
    day = re.search(r"^date-released: (.+)$", citation, re.M)
    assert day
    released = re.findall(r"^## \[(\d.*)\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert released[0] == (mrfstudio.__version__, day[1])
    assert len(released) > 1
    versions = [tuple(int(part) for part in version.split(".")) for version, _ in released]
    assert versions == sorted(versions, reverse=True)
