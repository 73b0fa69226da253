"""Pages that say what a thing is: a section of `docs/what`, with what the code declares about it.

A topic is a kind and a name: `algorithm/bp`, `model/grid`, `learner/cd`, `parameter/damping`, or `doc/bp` for a whole
page of `docs/algorithms`. Links between pages are topics again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrfstudio.assets import doc
from mrfstudio.engine.protocol.catalogue import Entry, Field, UnknownName, ending
from mrfstudio.engine.registry import catalogue

KINDS = {"algorithm": "algorithms", "model": "models", "learner": "learners", "parameter": "parameters"}
LINK = re.compile(r"\]\((?:\.\./algorithms/)?([\w-]+)\.md(?:#[\w-]*)?\)")


def page(topic: str) -> str:
    """The page of a topic as Markdown. Raises `UnknownName`."""
    kind, _, name = topic.partition("/")
    if kind == "doc" and re.fullmatch(r"[\w-]+", name):
        return _linked(doc(f"algorithms/{name}.md").read_text(encoding="utf-8"))
    known = entries(kind)
    written = section(kind, name) if kind in KINDS else ""
    if name not in known and not written:
        raise UnknownName(f"There is no page {topic!r}{ending(name, known)}")
    if name not in known:
        return _linked(f"# {name.replace('_', ' ').capitalize()}\n\n{written}")
    if kind == "parameter":
        return _linked("\n\n".join(_of_parameter(name, written)))
    entry = known[name][0]
    return _linked("\n\n".join(_of_entry(entry, written)))


def entries(kind: str) -> dict[str, list[Entry]]:
    """By name; of a parameter all that have it."""
    known = catalogue()
    groups = {"algorithm": known.algorithms, "model": known.models, "learner": known.learners}
    if kind in groups:
        return {entry.name: [entry] for entry in groups[kind]}
    found: dict[str, list[Entry]] = {}
    if kind == "parameter":
        from mrfstudio.engine.graphs.sketch import Strengths
        from mrfstudio.engine.graphs.sources import SOURCES

        others = [source.entry() for source in SOURCES.values()]
        for entry in (*known.algorithms, *known.models, *known.learners, *known.datasets, *others, Strengths.entry()):
            for field in entry.fields:
                found.setdefault(field.name, []).append(entry)
    return found


def section(kind: str, name: str) -> str:
    """What `docs/what` says; empty where it says nothing."""
    text = doc(f"what/{KINDS[kind]}.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1].strip() if found else ""


def _of_entry(entry: Entry, written: str) -> Iterator[str]:
    yield f"# {entry.title}"
    yield written or entry.summary
    if entry.fields:
        yield "## What you can set"
        yield "\n".join(
            f"- [{_title(field)}](parameter/{field.name}): {field.help} {_range(field)}" for field in entry.fields
        )


def _of_parameter(name: str, written: str) -> Iterator[str]:
    owners = entries("parameter")[name]
    fields = {entry: next(field for field in entry.fields if field.name == name) for entry in owners}
    yield f"# {_title(next(iter(fields.values())))}"
    if written:
        yield written
    helps: dict[tuple[str, str], list[Entry]] = {}
    for entry, field in fields.items():
        helps.setdefault((field.help, _range(field)), []).append(entry)
    for (help, spread), having in helps.items():
        yield f"{help} {spread}"
        yield "In " + ", ".join(_owner(entry) for entry in having) + "."


def _owner(entry: Entry) -> str:
    known = catalogue()
    groups = (("algorithm", known.algorithms), ("model", known.models), ("learner", known.learners))
    kind = next((kind for kind, group in groups if entry in group), "")
    return f"[{entry.title}]({kind}/{entry.name})" if kind else entry.title


def _title(field: Field) -> str:
    return field.name.replace("_", " ").capitalize()


def _range(field: Field) -> str:
    default = "on" if field.default is True else "off" if field.default is False else field.default
    return f"It is {field.range_text}; {default} unless you say otherwise." if default != "" else ""


def _linked(text: str) -> str:
    """Links to pages as topics; other files of the documentation become plain words."""
    text = LINK.sub(r"](doc/\1)", text)
    return re.sub(r"\[([^\]]+)\]\((?!algorithm/|model/|learner/|parameter/|doc/)[^)]*\)", r"\1", text)
