"""Draws figures of the sources into `docs/pictures`, from the code and from kept results.

    python benchmarks/figures.py

transfer.svg    Figure 4 of [QT21]'s appendix: what a message becomes on its way over a pair, by temperature
holes.svg       Figure 3 of [PI17], and converged.svg, Figure 4: from `benchmarks/crbm_figures.py`
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from matplotlib.figure import Figure

from mrfstudio.engine.inference.messages.transfer import transfer

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
CRBM = ROOT / "benchmarks" / "results" / "crbm_figures" / "results.json"
STYLE = {"svg.hashsalt": "mrfstudio", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
COLOURS = ("#1f6fb2", "#c2571a", "#3b8750", "#7a4fa3")
WEIGHTS, TEMPERATURES = (-2.0, 0.5, 1.0, 2.0), (0.0, 1.0)


def transfer_function() -> Figure:
    """f_w(x, T) over x for some w: at T = 0 (max-product) x clipped to ±w, at T = 1 (sum-product) rounded off."""
    figure = Figure(figsize=(8, 3.2), layout="tight")
    panels = figure.subplots(1, 2, sharey=True)
    x = torch.linspace(-5, 5, 401, dtype=torch.float64)
    for panel, temperature in zip(panels, TEMPERATURES, strict=True):
        for weight, colour in zip(WEIGHTS, COLOURS, strict=True):
            y = transfer(x, torch.tensor(weight, dtype=torch.float64), temperature)
            panel.plot(x, y, color=colour, label=f"w = {weight:g}")
        kind = "max-product" if temperature == 0 else "sum-product"
        panel.set(title=f"T = {temperature:g}, {kind}", xlabel="x, log-odds that come in")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("f(x), log-odds that go out")
    panels[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure


def holes(kept: dict[str, Any]) -> Figure:
    """Error of all pixels over the side of the hole, a line a method."""
    figure = Figure(figsize=(5.4, 3.4), layout="tight")
    panel = figure.subplots()
    found = [name.split("/") for name in kept if "/" in name]
    for method, colour in zip(dict.fromkeys(method for _, method in found), COLOURS, strict=False):
        sides = sorted(int(side) for side, name in found if name == method)
        panel.plot(sides, [kept[f"{s}/{method}"]["pixel_error"] for s in sides], "o-", color=colour, label=method)
    panel.set(xlabel="side of the hole, pixels", ylabel="wrong pixels, %")
    panel.grid(alpha=0.3)
    panel.legend(frameon=False)
    return figure


def converged(kept: dict[str, Any]) -> Figure:
    """Share of items whose messages converged, over epochs."""
    figure = Figure(figsize=(5.4, 3.0), layout="tight")
    panel = figure.subplots()
    shares = [100 * share for share in kept["converged"]["by_epoch"]]
    panel.plot(range(1, len(shares) + 1), shares, "o-", color=COLOURS[0])
    panel.set(xlabel="epoch", ylabel="converged items, %", ylim=(0, 105))
    panel.grid(alpha=0.3)
    return figure


def drawn() -> dict[str, Figure]:
    """Every figure that there is something to draw from, by name."""
    found = {"transfer": transfer_function()}
    if CRBM.exists():
        kept = json.loads(CRBM.read_text("utf-8"))
        found["holes"] = holes(kept)
        if "converged" in kept:
            found["converged"] = converged(kept)
    return found


def main() -> None:
    with mpl.rc_context(STYLE):
        for name, figure in drawn().items():
            figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
            print(f"docs/pictures/{name}.svg")


if __name__ == "__main__":
    main()
