"""Everything that can be chosen or set has its page, and links between pages lead somewhere."""

from __future__ import annotations

import re

import pytest

from mrfstudio.engine.protocol.catalogue import UnknownName
from mrfstudio.engine.registry import ALGORITHMS, LEARNERS, MODELS
from mrfstudio.engine.words.markdown import words_of
from mrfstudio.engine.words.pages import KINDS, entries, page, section
from tests.places import ROOT


@pytest.mark.parametrize(("kind", "registry"), [("algorithm", ALGORITHMS), ("model", MODELS), ("learner", LEARNERS)])
def test_every_registered_thing_has_words_of_its_own(kind: str, registry: object) -> None:
    names = [cls.name for cls in registry]  # type: ignore[attr-defined]
    assert [name for name in names if not section(kind, name)] == []


def test_every_parameter_has_a_page_and_every_link_leads_to_one() -> None:
    known = [f"{kind}/{name}" for kind in KINDS for name in entries(kind)]
    assert {"parameter/damping", "parameter/learning_rate", "parameter/coupling"} <= set(known)
    for topic in known:
        text = page(topic)
        assert text.startswith("# ")
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert link in known or (ROOT / "docs" / "algorithms" / f"{link.removeprefix('doc/')}.md").exists(), link


def test_equations_of_the_pages_can_be_set() -> None:
    count = 0
    for name in ("algorithms", "models", "learners", "parameters"):
        words = words_of((ROOT / "docs" / "what" / f"{name}.md").read_text(encoding="utf-8"))
        assert words.problems == ()
        count += sum(block.equation is not None for block in words.blocks)
    assert count > 40


def test_a_page_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean"):
        page("algorithm/mean-fild")
    with pytest.raises(UnknownName):
        page("doc/../../README")
