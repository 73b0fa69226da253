"""One page of every result that was kept: `python benchmarks/report.py` writes `docs/results.md`.

It reads what the other scripts left (`benchmarks/results`, the tables beside the scripts, the cards of the shipped
models) and measures nothing. Where a table has what was printed beside what came out here, a number that is worse than
print becomes bold; the reasons stand in the words of the same section.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.card_tables import faces, grids
from mrfstudio.engine.files.model_file import read_card, shipped_models

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results.md"
INSTALLED = ROOT / "benchmarks" / "results" / "installing.json"
BESIDE = ("regions.md", "region_variants.md", "region_minima.md", "saddle.md")
LONGEST_LIST = 6
"""Scores of a card that the table of models shows; the card has all."""
NUMBER = r"-?\d+(?:\.\d+)?"
WITH_PRINT = re.compile(rf"^({NUMBER})(?: ± {NUMBER})? \(({NUMBER})\)$")  # what came out here, what was printed
INTRODUCTION = """# Results

Made by `python benchmarks/report.py` from what the scripts in `benchmarks` and the cards of the models have kept; each
section says with which command, seeds and time. **Bold** numbers are worse than print. What was printed stands in
brackets, or in the column *paper*. Timings of today's machine are printed by `mrfstudio bench`.
"""

ELSEWHERE = """## Printed, and not on this page

- [QT21]: AdVIL has networks of its own, and RCV1 could not be had. The transfer function is drawn in
  `docs/algorithms/boltzmann.md`; that asking for one node is the pseudolikelihood is an identity, which
  `tests/engine/training/test_one_node_queries.py` checks.
- [PI17]: the machine of 10,000×2,000 units is timed by `mrfstudio bench rbm`.
- [Liu20]: Table 6.1 (nats a pixel of digits and clothes) says neither which noise its grey levels had nor their
  scale, so that no number can be put beside it. Norb of Table 6.2, and the recordings of Tables 7.1–7.9, could not be
  had: *Speakers* has others. Table 5.3 has seconds of a GPU.
- [WK19]: Penn Treebank could not be had, and neural variational inference is another program's bound.
"""


def pages() -> list[Path]:
    """The kept tables, in order of their titles."""
    found = [*(ROOT / "benchmarks" / name for name in BESIDE), *(ROOT / "benchmarks" / "results").rglob("*.md")]
    return sorted((page for page in found if page.exists()), key=lambda page: page.read_text("utf-8").split("\n", 1)[0])


def section(text: str) -> str:
    """A kept page as a part of a larger one: headings one level down, numbers worse than print in bold."""
    lines, header = [], []
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not header:
                header = cells
            line = "| " + " | ".join(judged(cells, header)) + " |"
        else:
            header = []
            line = re.sub(r"^(#+ )", r"#\1", line)
        lines.append(line)
    return "\n".join(lines)


def judged(cells: list[str], header: list[str]) -> list[str]:
    """A row of a table: less is better, but for correlations ρ."""
    found = list(cells)
    for column, cell in enumerate(cells):
        match = WITH_PRINT.match(cell)
        if match and worse(match[1], match[2], header[column] if column < len(header) else ""):
            found[column] = f"**{cell}**"
    return found


def worse(here: str, printed: str, title: str) -> bool:
    """Whether a number is worse than print, at the digits of whichever has fewer."""
    digits = min(len(text.partition(".")[2]) for text in (here, printed))
    ahead = round(float(here), digits) - round(float(printed), digits)
    return (-ahead if "ρ" in title else ahead) > 0


def models() -> str:
    """The shipped models and the first of their scores."""
    lines = [
        "## Shipped models",
        "",
        "| model | kind | trained on | scores on what it had not seen |",
        "| --- " * 4 + "|",
    ]
    for name in shipped_models():
        file = read_card(name)
        shown = list(flat(file.card.get("scores", {})))[:LONGEST_LIST]
        scores = "; ".join(f"{title} {value}" for title, value in shown)
        data = re.sub(r":.*/", ":", str(file.card.get("data", "")))  # the name of a file, not where it lay
        lines.append(f"| `{name}` | {file.kind} | {data} | {scores} |")
    return "\n".join(lines)


def flat(scores: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Nested scores as a list of titles and numbers with four digits."""
    found: list[tuple[str, str]] = []
    for name, value in scores.items():
        title = f"{before}{name}".replace("_", " ")
        if isinstance(value, dict):
            found += flat(value, f"{title}: ")
        elif isinstance(value, (int, float)):
            found.append((title, f"{value:.4g}"))
    return found


def installed() -> str:
    """Sizes and first starts of every way to install, as `packaging/try_wheel.sh` and `try_bundle.sh` kept them."""
    kept = json.loads(INSTALLED.read_text("utf-8"))
    lines = [
        "## Installing",
        "",
        kept["about"],
        "",
        "| way | size on disk | first start of the command |",
        "| --- " * 3 + "|",
    ]
    lines += [f"| {row['way']} | {row['size']} | {row['start']} |" for row in kept["rows"]]
    return "\n".join(lines)


def report() -> str:
    """The whole page."""
    kept = [faces(), grids(), *(page.read_text("utf-8") for page in pages())]
    parts = [INTRODUCTION.strip(), models(), *(section(text).strip() for text in kept), ELSEWHERE.strip()]
    if INSTALLED.exists():
        parts.append(installed())
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(report(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
