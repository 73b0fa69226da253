"""The documentation names files that are there, and the picture of the packages is that of the code."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

from tests.places import ROOT

ALGORITHMS = sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs" / "algorithms").glob("*.md"))
PAGES = ["docs/architecture.md", "CONTRIBUTING.md", "README.md", "docs/errata.md", "docs/experiments.md", *ALGORITHMS]
LONGEST = 120
BASES = ["", "docs", "mrfstudio", "mrfstudio/engine", "mrfstudio/ui"]
ENDINGS = (".py", ".md", ".toml", ".json", ".svg", ".png")
MADE = {".venv/bin", ".venv/studio-setup.log"}  # by `studio.py setup`


def named(page: str) -> list[str]:
    """What looks like a path of this repository: in code style or as the target of a link."""
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    words = re.findall(r"`([\w./-]+)`", prose) + re.findall(r"\]\(([\w./-]+)\)", prose)
    tops = {path.name for base in BASES for path in (ROOT / base).iterdir()}
    return [word for word in words if word.endswith(ENDINGS) or ("/" in word and word.split("/")[0] in tops)]


def is_there(path: str) -> bool:
    if path in MADE or "NAME" in path.replace(".", "/").split("/"):  # a place for a name
        return True
    if "/" not in path:  # a file by its own name, in a folder that the sentence says
        return (
            any(ROOT.joinpath("mrfstudio").rglob(path)) or any(ROOT.glob(path)) or any(ROOT.joinpath("docs").glob(path))
        )
    return any((ROOT / base / path).exists() for base in BASES)


@pytest.mark.parametrize("page", PAGES)
def test_every_path_on_a_page_exists(page: str) -> None:
    assert [
        path for path in named(page) if not is_there(path) and not (ROOT / page).parent.joinpath(path).exists()
    ] == []


def test_paths_are_found_on_pages() -> None:
    assert len(ALGORITHMS) > 15
    assert len(named("docs/architecture.md")) > 50
    assert all(named(page) for page in ALGORITHMS)


def long_lines(page: str) -> list[str]:
    """Lines of prose that are too long to read; tables, code and formulas are as wide as they must be."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    return [line for line in text.splitlines() if len(line) > LONGEST and not line.startswith(("|", "    ", "#", "!"))]


def test_lines_of_prose_are_short() -> None:
    found_in = [*ROOT.glob("*.md"), *(path for top in ("docs", "assets") for path in (ROOT / top).rglob("*.md"))]
    pages = [path.relative_to(ROOT).as_posix() for path in found_in]
    assert len(pages) > 50
    assert {page: found for page in sorted(pages) if (found := long_lines(page))} == {}


def test_a_path_that_is_not_there_would_be_found() -> None:
    assert not is_there("engine/models/ising.py")
    assert not is_there("nowhere.py")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "picture.py"))  # an import would leave a cache among the documentation


def parts_of(svg: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Boxes and arrows of a picture."""
    root = ElementTree.fromstring(svg)
    found = list(root.iter())
    boxes = {each.attrib["id"] for each in found if each.attrib.get("class") == "box"}
    return boxes, {(each.attrib["data-from"], each.attrib["data-to"]) for each in found if "data-from" in each.attrib}


def test_the_picture_shows_the_packages_as_they_are(script: dict[str, Any]) -> None:
    picture: Callable[[], str] = script["picture"]
    now = parts_of(picture())
    stored = parts_of((ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8"))
    assert stored == now, "run `python docs/picture.py`"
    boxes, arrows = now
    assert {"engine.protocol", "engine.families", "ui.engine", "ui.canvas"} <= boxes
    assert {("engine.families", "engine.training"), ("ui.workspaces", "ui.window")} <= arrows


def test_every_package_has_a_box_and_only_the_engine_thread_goes_behind_the_protocol(script: dict[str, Any]) -> None:
    folders = {
        f"{side}.{folder.name}"
        for side in ("engine", "ui")
        for folder in (ROOT / "mrfstudio" / side).iterdir()
        if (folder / "__init__.py").exists()
    }
    assert folders | {"engine.registry"} == set(script["boxes"]())
    across = {arrow for arrow in script["uses"]() if arrow[0].startswith("ui.") and arrow[1].startswith("engine.")}
    assert {used for user, used in across if user != "ui.engine"} == {"engine.protocol"}
    assert not [arrow for arrow in script["uses"]() if arrow[0].startswith("engine.") and arrow[1].startswith("ui.")]


KEY = re.compile(r"\[([A-Z][A-Za-z]{1,3}\d\d)\]")


def texts() -> dict[str, str]:
    """Every module and page that may cite something."""
    places = [
        *ROOT.glob("*.md"),
        *(path for top in ("mrfstudio", "benchmarks", "docs") for path in (ROOT / top).rglob("*")),
    ]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in places
        if path.suffix in (".py", ".md") and path.is_file()
    }


def test_whoever_is_cited_is_among_the_references() -> None:
    known = set(KEY.findall((ROOT / "docs/references.md").read_text(encoding="utf-8")))
    assert len(known) > 10
    cited = {(page, key) for page, text in texts().items() for key in KEY.findall(text)}
    assert len(cited) > 50
    assert {(page, key) for page, key in cited if key not in known} == set()


def test_sources_have_names_that_a_stranger_can_find() -> None:
    nameless = re.compile(r"\bthe (thesis|query-training paper)\b|\bseed 00\d|\bin the paper\b", re.I)
    assert [(page, found.group()) for page, text in texts().items() for found in nameless.finditer(text)] == []
