"""studio.py and its launcher: what makes a start fast, what makes it install again, and what it says."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from mrfstudio.launcher import environment as environment_module
from mrfstudio.launcher import system_libraries
from mrfstudio.launcher.environment import Environment
from mrfstudio.launcher.progress import LauncherError, newest_step, run
from tests.places import ROOT

PYPROJECT = '[project]\nname = "sample"\ndependencies = ["rich", "torch==9.8.7", "torchvision==1"]\n'
ECHO = "import json, sys\nprint(json.dumps(sys.argv[1:]))\nsys.exit(7)\n"


@pytest.fixture
def project(tmp_path: Path) -> Environment:
    """A copy of the launcher, with a .venv whose `mrfstudio` and `pytest` print their arguments and exit with 7."""
    root = (tmp_path / "a folder").resolve()
    root.mkdir()
    shutil.copy(ROOT / "studio.py", root)
    shutil.copytree(
        ROOT / "mrfstudio/launcher", root / "mrfstudio/launcher", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "mrfstudio/__init__.py", root / "mrfstudio")
    (root / "pyproject.toml").write_text(PYPROJECT)
    environment = Environment(root)
    venv.EnvBuilder(symlinks=os.name != "nt").create(environment.venv)
    for name in ("mrfstudio", "pytest"):
        (environment.packages / name).mkdir()
        (environment.packages / name / "__main__.py").write_text(ECHO)
    environment.write_stamp(environment.state(), dev=True, missing=[])
    return environment


@pytest.fixture
def installs(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Installations are recorded (with dev tools or not), not done."""
    done: list[bool] = []
    monkeypatch.setattr(Environment, "install", lambda self, dev: done.append(dev))
    return done


def start(project: Environment, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project.root / "studio.py"), *arguments]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it may lead to the real studio
    return subprocess.run(command, capture_output=True, text=True, env=own, **options)  # type: ignore[call-overload]


def damage_package(project: Environment, record: str | None) -> None:
    information = project.packages / "sample-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: sample\nVersion: 1\n")
    if record is not None:
        (information / "RECORD").write_text(record)


# The entry.


def test_an_old_python_can_still_read_the_entry_to_be_refused_by_it():
    entry = ast.parse((ROOT / "studio.py").read_text(encoding="utf-8"), feature_version=(3, 7))
    assert "main" in [node.name for node in entry.body if isinstance(node, ast.FunctionDef)]


def test_an_old_python_is_refused_in_one_sentence():
    code = "import sys; sys.version_info = (3, 9, 2); import studio; sys.exit(studio.main(['infer']))"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "needs Python 3.11 or newer, not 3.9.2" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_launcher_needs_the_standard_library_only():
    for path in [ROOT / "studio.py", *(ROOT / "mrfstudio/launcher").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {name.split(".")[0] for name in names}
            assert roots <= sys.stdlib_module_names | {"mrfstudio"}, path.name


def test_arguments_and_exit_status_pass_through_and_standard_output_stays_clean(project: Environment, tmp_path: Path):
    result = start(project, "infer", "a graph.uai", "--json", "-", cwd=tmp_path)
    assert json.loads(result.stdout) == ["infer", "a graph.uai", "--json", "-"]
    assert (result.returncode, result.stderr) == (7, "")


def test_the_test_command_gives_its_arguments_to_pytest(project: Environment):
    result = start(project, "test", "-k", "grid")
    assert (json.loads(result.stdout), result.returncode) == (["-k", "grid"], 7)


def test_a_file_in_the_persons_folder_does_not_shadow_a_module(project: Environment, tmp_path: Path):
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    assert start(project, "infer", cwd=tmp_path).returncode == 7


def test_setup_names_an_option_it_does_not_know(project: Environment):
    result = start(project, "setup", "--sytem")
    assert result.returncode == 1
    assert "'--sytem'" in result.stderr
    assert "--system" in result.stderr


def test_help_needs_no_installation(project: Environment):
    project.stamp_file.unlink()
    result = start(project, "--help")
    assert result.returncode == 0
    assert "setup" in result.stdout


# When it installs.


def test_a_prepared_project_is_not_installed_again(project: Environment, installs: list[bool]):
    project.prepare(dev=True)
    project.prepare()
    assert installs == []


def test_a_changed_pyproject_is_installed_with_the_tools_it_had(project: Environment, installs: list[bool]):
    with (project.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    project.prepare()
    assert installs == [True]
    project.prepare()
    assert installs == [True]


def test_the_tools_are_installed_when_tests_need_them(project: Environment, installs: list[bool]):
    project.write_stamp(project.state(), dev=False, missing=[])
    project.prepare()
    assert installs == []
    project.prepare(dev=True)
    assert installs == [True]


def test_a_package_that_went_away_is_noticed(project: Environment, installs: list[bool]):
    shutil.rmtree(project.packages / "pytest")
    os.utime(project.packages, ns=(0, 0))  # a clock too coarse to see the change would make this test random
    project.prepare()
    assert installs == [True]


def test_a_moved_folder_is_installed_again(project: Environment, installs: list[bool], tmp_path: Path):
    project.root.rename(tmp_path / "moved")
    Environment(tmp_path / "moved").prepare()
    assert installs == [True]


@pytest.mark.parametrize("error", [KeyboardInterrupt, LauncherError])
def test_an_interrupted_installation_is_taken_up_again(
    project: Environment, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
):
    def interrupted(self: Environment, dev: bool) -> None:
        raise error

    project.stamp_file.unlink()
    monkeypatch.setattr(Environment, "install", interrupted)
    with pytest.raises(error):
        project.prepare(dev=True)
    assert not project.ready(dev=False)
    done: list[bool] = []
    monkeypatch.setattr(Environment, "install", lambda self, dev: done.append(dev))
    project.prepare()
    assert done == [True]
    assert project.ready(dev=True)


def test_a_torn_stamp_counts_as_none(project: Environment, installs: list[bool]):
    project.stamp_file.write_text('{"state": {"pypro')
    project.prepare()
    assert installs == [False]


# What it mends.


def test_a_sound_environment_has_no_damage(project: Environment):
    damage_package(project, record="mrfstudio/__main__.py,,40\nsample-1.dist-info/RECORD,,\ngone.pyc,,3\n")
    assert project.damage() is None


@pytest.mark.parametrize(
    "record", [None, "sample/gone.py,,5\n", "emptied.py,,5\n"], ids=["no record", "missing file", "emptied file"]
)
def test_damaged_packages_are_named(project: Environment, record: str | None):
    (project.packages / "emptied.py").touch()
    damage_package(project, record)
    assert project.damage() == "files are missing from sample"


def test_an_environment_without_its_python_is_made_anew(project: Environment, installs: list[bool]):
    project.python.unlink()
    assert not project.ready(dev=False)
    project.prepare()
    assert installs == [True]
    assert project.damage() is None
    assert not (project.packages / "mrfstudio").exists(), "the old content is gone"


@pytest.mark.skipif(os.name == "nt", reason="needs a script as interpreter")
def test_a_python_that_does_not_run_is_damage(project: Environment):
    project.python.unlink()
    project.python.write_text("#!/bin/sh\nexit 1\n")
    project.python.chmod(0o755)
    assert project.damage() == "its Python does not work"


# Torch.


@pytest.fixture
def commands(project: Environment, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of an installation in which everything succeeds but CPU builds of torch are not found."""
    called: list[list[str]] = []

    def record(doing: str, command: list[str], log: Path | None = None) -> str | None:
        called.append(command)
        return "ERROR: No matching distribution found" if command[-1].endswith("+cpu") else None

    monkeypatch.setattr(environment_module, "run", record)
    monkeypatch.setattr(Environment, "pip", lambda self: ["pip"])
    monkeypatch.delenv(environment_module.TORCH_INDEX, raising=False)
    return called


def test_without_a_gpu_the_cpu_build_of_the_pinned_torch_is_tried_first(
    project: Environment, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(environment_module, "wants_cpu_torch", lambda: True)
    monkeypatch.setenv(environment_module.TORCH_INDEX, "file:///somewhere")
    project.install(dev=True)
    torch, everything = commands
    assert torch[-1] == "torch==9.8.7+cpu"
    assert "--no-deps" in torch
    assert torch[torch.index("--extra-index-url") + 1] == "file:///somewhere"
    assert everything[-2:] == ["--editable", f"{project.root}[dev]"]
    assert environment_module.TORCH_INDEX in capsys.readouterr().err, "the several gigabytes are announced"


def test_with_a_gpu_torch_comes_as_pyproject_says(
    project: Environment, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(environment_module, "wants_cpu_torch", lambda: False)
    project.install(dev=False)
    assert [command[-1] for command in commands] == [str(project.root)]


def test_a_failed_installation_quotes_pip(project: Environment, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Environment, "pip", lambda self: ["pip"])
    monkeypatch.setattr(environment_module, "wants_cpu_torch", lambda: False)
    monkeypatch.setattr(environment_module, "run", lambda *_: "Collecting x\nERROR: no space left\nmore\n")
    with pytest.raises(LauncherError, match="ERROR: no space left") as stopped:
        project.install(dev=False)
    assert str(project.log) in str(stopped.value)


# The system's libraries.

LDD = """
	libEGL.so.1 => not found
	libGL.so.1 => /lib/x86_64-linux-gnu/libGL.so.1 (0x00007f)
	libxcb-cursor.so.0 => not found
	libEGL.so.1 => not found
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="root is a notion of Unix")
@pytest.mark.parametrize(("user", "sudo"), [(0, ""), (1000, "sudo ")], ids=["root", "person"])
def test_missing_libraries_come_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, user: int, sudo: str
):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    sentence = system_libraries.missing_sentence(system_libraries.not_found(LDD))
    assert "libEGL.so.1, libxcb-cursor.so.0" in sentence
    assert sentence.endswith(f"`{sudo}apt-get install --yes --no-install-recommends libegl1 libxcb-cursor0`.")


def test_without_apt_the_libraries_are_named_all_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "libEGL.so.1" in system_libraries.missing_sentence(["libEGL.so.1"])


def test_missing_libraries_are_reported_until_they_are_there(
    project: Environment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    project.write_stamp(project.state(), dev=False, missing=["libEGL.so.1"])
    monkeypatch.setattr(environment_module, "missing_libraries", lambda packages: ["libEGL.so.1"])
    project.report_missing()
    assert "libEGL.so.1" in capsys.readouterr().err
    monkeypatch.setattr(environment_module, "missing_libraries", lambda packages: [])
    project.report_missing()
    assert project.stamp()["missing"] == []
    assert project.ready(dev=False)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="root is a notion of Unix")
def test_without_root_the_exact_command_is_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LauncherError, match="`sudo apt-get install --yes --no-install-recommends libegl1`"):
        system_libraries.apt_install(["libegl1"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux leaves Qt's libraries to the system")
def test_every_library_that_qt_takes_from_the_system_has_a_package():
    qt = Path(importlib.util.find_spec("PySide6").submodule_search_locations[0])  # type: ignore[union-attr, index]
    files = [file for pattern in system_libraries.QT_FILES for file in qt.glob(pattern)]
    files += [qt / f"Qt/lib/libQt6{name}.so.6" for name in ("Core", "Gui", "Widgets", "DBus", "OpenGL", "XcbQpa")]
    assert len(files) >= 12, "Qt's files have other names now"
    names = {
        name.decode() for file in files for name in re.findall(rb"\0(lib[\w.+-]+\.so\.\d+)(?=\0)", file.read_bytes())
    }
    brought = ("libQt6", "libpyside6", "libshiboken6", "libicu")
    always_there = ("libc.", "libm.", "libgcc_s.", "libstdc++.")
    assert {name for name in names if not name.startswith(brought + always_there)} == set(
        system_libraries.DEBIAN_PACKAGES
    )


# The progress line.


def test_output_is_kept_and_returned_only_after_a_failure(tmp_path: Path):
    log = tmp_path / "log"
    assert run("Trying", [sys.executable, "-c", "print('well')"], log) is None
    failed = run("Trying", [sys.executable, "-c", "import sys; print('badly'); sys.exit(3)"], log)
    assert failed == "badly\n"
    assert "well\n" in log.read_text()
    assert "badly\n" in log.read_text()


def test_the_progress_line_shows_the_newest_step():
    lines = [
        "Collecting torch==2.0 (from mrfstudio==0.1.0)\n",
        "  Downloading file:///wheels/torch-2.0-cp311.whl (191.8 MB)\n",
        "something else\n",
    ]
    assert newest_step(lines) == "downloading torch-2.0-cp311.whl (191.8 MB)"
    assert newest_step(lines[:1]) == "collecting torch==2.0"
    assert newest_step([*lines, "Installing collected packages: mpmath, rich, torch\n"]) == "unpacking 3 packages"
    assert newest_step([]) == ""
