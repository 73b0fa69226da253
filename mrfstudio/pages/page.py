"""Writes a run as one HTML file: style, script and numbers inside, nothing fetched.

Arrays are little-endian, compressed (zlib) and written as base64; the script unpacks them with the browser's own
`DecompressionStream`.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from mrfstudio.pages.run import CURVES, PageLane, PageRun

LARGEST = 5_000_000
"""Bytes of a page at most: what can be sent by mail and opens at once."""
Packed = dict[str, Any]


def page_of(run: PageRun, largest: int = LARGEST) -> str:
    """The whole page. Where it would be too large, iterations are left out evenly, never the last; the page says so."""
    while True:
        page = _page(run)
        if len(page.encode()) <= largest or len(run.iterations) <= 2:
            return page
        run = thinner(run)


def thinner(run: PageRun) -> PageRun:
    """Every second iteration, and the last."""
    kept = sorted({*range(0, len(run.iterations), 2), len(run.iterations) - 1})
    lanes = tuple(
        replace(
            lane,
            beliefs=lane.beliefs[kept],
            messages=None if lane.messages is None else lane.messages[kept],
            curves={name: values[kept] for name, values in lane.curves.items()},
        )
        for lane in run.lanes
    )
    note = "To keep the page small, not every iteration is in it."
    return replace(run, iterations=tuple(run.iterations[index] for index in kept), lanes=lanes, notes=(note,))


def _page(run: PageRun) -> str:
    folder = files("mrfstudio.pages")
    template = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    # `</` inside a string would end the script element.
    data = json.dumps(described(run), separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return template.substitute(
        title=html.escape(run.title),
        style=folder.joinpath("page.css").read_text(encoding="utf-8"),
        script=folder.joinpath("page.js").read_text(encoding="utf-8"),
        text=_paragraphs(run.text),
        command=html.escape(run.command),
        notes=_paragraphs(run.notes),
        data=data,
    )


def _paragraphs(text: tuple[str, ...]) -> str:
    return "\n".join(
        f"<h2>{html.escape(line.lstrip('# '))}</h2>" if line.startswith("#") else f"<p>{html.escape(line)}</p>"
        for line in text
    )


def described(run: PageRun) -> Packed:
    """The run as plain values."""
    graph = run.graph
    return {
        "title": run.title,
        "iterations": list(run.iterations),
        "labels": list(run.labels),
        "curves": {name: {"title": title, "log": log} for name, (title, log) in CURVES.items()},
        "graph": None
        if graph is None
        else {
            "positions": packed(graph.positions, "<f4"),
            "edges": packed(graph.edges, "<i4"),
            "states": packed(graph.states, "<i4"),
            "stars": None if graph.stars is None or not len(graph.stars) else packed(graph.stars, "<i4"),
            "couplings": None if graph.couplings is None else packed(graph.couplings, "<f4"),
            "labels": list(graph.labels),
        },
        "lanes": [_lane(lane) for lane in run.lanes],
    }


def _lane(lane: PageLane) -> Packed:
    whole = lane.beliefs.dtype == np.uint8
    return {
        "name": lane.name,
        "beliefs": packed(lane.beliefs, "u1" if whole else "<f4"),
        "messages": None if lane.messages is None else packed(lane.messages, "<f4"),
        "curves": {name: packed(values, "<f8") for name, values in lane.curves.items() if np.isfinite(values).any()},
    }


def packed(array: np.ndarray, kind: str) -> Packed:
    """An array as the script reads it."""
    plain = np.ascontiguousarray(array, dtype=kind)
    return {
        "kind": kind,
        "shape": list(plain.shape),
        "data": base64.b64encode(zlib.compress(plain.tobytes(), 6)).decode("ascii"),
    }
