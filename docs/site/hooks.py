"""Pages of the site that are made from the code: the catalogue, the library, notebooks with their results, changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import library  # beside this file, where MkDocs looks first
import notebooks
from mkdocs.structure.files import File, Files

from mrfstudio.pages.words import PAGE_COLOURS


def on_config(config: Any) -> Any:
    """Put every page of an algorithm into the menu, by the title in its first line."""
    folder = Path(config.docs_dir, "algorithms")
    pages = sorted(path for path in folder.glob("*.md") if path.name != "index.md")
    found = [
        {page.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# "): f"algorithms/{page.name}"} for page in pages
    ]
    reference = next(part["Reference"] for part in config.nav if "Reference" in part)
    next(part["Algorithms"] for part in reference if "Algorithms" in part).extend(found)
    next(part for part in config.nav if "Notebooks" in part)["Notebooks"] = [
        f"notebooks/{path.stem}.md" for path in notebooks_of(config)
    ]
    return config


def notebooks_of(config: Any) -> list[Path]:
    return sorted(Path(config.docs_dir, "notebooks").glob("*.ipynb"))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Formulas between dollar signs, set by the same renderer as in the window."""
    return with_formulas(markdown) if page.file.src_uri.startswith("what/") else markdown


def with_formulas(markdown: str) -> str:
    from mrfstudio.engine.words.typeset import typeset

    colours = {"": "currentColor", **PAGE_COLOURS}

    def drawn(found: re.Match[str]) -> str:
        equation = typeset(" ".join((found[1] or found[2]).split()))
        svg = equation.svg(colours, 19)
        hung = f'<svg style="vertical-align:-{equation.depth:.2f}em" '
        return f"\n{svg}\n" if found[1] else svg.replace("<svg ", hung)

    return re.sub(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", drawn, markdown, flags=re.S)


def on_files(files: Files, config: Any) -> Files:
    """Add the reference, made from the declarations that also make forms and options, and the other made pages."""
    from mrfstudio import api

    made = {
        "reference.md": reference(),
        "library.md": library.page(api),
        "changelog.md": Path(config.docs_dir).parent.joinpath("CHANGELOG.md").read_text(encoding="utf-8"),
    }
    made |= {f"notebooks/{path.stem}.md": notebooks.page(path) for path in notebooks_of(config)}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def reference() -> str:
    from mrfstudio.engine.registry import ALGORITHMS, DATASETS, LEARNERS, MODELS

    lines = ["# Catalogue", "", "Everything that can be chosen, with its parameters, as the code declares it.", ""]
    for title, registry in (
        ("Algorithms", ALGORITHMS),
        ("Models", MODELS),
        ("Learners", LEARNERS),
        ("Data sets", DATASETS),
    ):
        lines += [f"## {title}", ""]
        for cls in registry:
            lines += [f"### `{cls.name}`", "", cls.summary, ""]
            fields = cls.fields()
            if fields:
                lines += ["| option | values | default | |", "| --- | --- | --- | --- |"]
                lines += [
                    f"| `{each.option}` | {each.range_text} | {each.default} {each.unit} | {each.help} |".replace(
                        "\n", " "
                    )
                    for each in fields
                ]
                lines.append("")
    return "\n".join(lines)
