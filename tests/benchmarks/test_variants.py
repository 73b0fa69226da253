"""Graphs like those of the competitions: drawn the same from a seed, possible, and with their exact marginals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import variants
from benchmarks.arena import page
from mrfstudio.engine.files.graphs.graph import read_graph
from mrfstudio.engine.files.graphs.uai import read_evidence
from mrfstudio.engine.tasks.arena import read_marginals
from tests.engine.helpers.graphs import enumerate_all


def small(seed: int) -> dict[str, variants.Variant]:
    draw = np.random.default_rng(seed)
    return {
        "grid": variants.grid(draw, 3, False, 1.0),
        "diagnosis": variants.diagnosis(draw, 5, 5),
        "segmentation": variants.segmentation(draw, 2, 3, 3),
        "slices": variants.slices(draw, 4, 0.5),
        "relations": variants.relations(draw, 4),
        "constraints": variants.constraints(draw, 6, 2.0, 3),
        "triples": variants.triples(draw, 5, 4, 1.0),
    }


@pytest.mark.parametrize("name", list(small(0)))
def test_the_solution_that_is_written_is_that_of_counting(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.uai"
    cards, factors, observed = small(0)[name]
    variants.put(path, cards, factors, observed)
    assert read_evidence(tmp_path / f"{name}.uai.evid", read_graph(path)) == observed
    truth = enumerate_all(cards, factors, observed)
    for found, right in zip(read_marginals(tmp_path / f"{name}.uai.MAR"), truth.marginals, strict=True):
        assert np.abs(found - right).max() < 1e-9
    published = float((tmp_path / f"{name}.uai.PR").read_text().split()[-1]) * np.log(10)
    assert published == pytest.approx(truth.log_z, abs=1e-8)


def test_a_pedigree_is_possible_and_drawn_again_the_same(tmp_path: Path) -> None:
    for number in range(2):
        variants.put(tmp_path / f"{number}.uai", *variants.pedigree(np.random.default_rng(3), 6, 2))
    assert (tmp_path / "0.uai").read_bytes() == (tmp_path / "1.uai").read_bytes()
    assert "inf" not in (tmp_path / "0.uai.PR").read_text()


def test_a_page_has_a_line_for_each_graph_and_the_means() -> None:
    shared = {"seconds_given": 20.0, "clock": "processor", "log_partition": None, "wall": 1.0}
    rows = [
        {"graph": g, "algorithm": a, "hellinger": h, "estimated_error": e, "said": "join-graph: why", **shared}
        for g, a, h, e in (
            ("x", "auto", 0.1, 0.2),
            ("x", "bp", 0.3, None),
            ("y", "auto", 0.0, 0.0),
            ("y", "bp", 0.5, None),
        )
    ]
    made = page(rows, Path("nowhere"), "Arena")
    assert "Means: auto 0.0500, bp 0.4000." in made
    assert "| x | 0.1000 | 0.3000 | 0.2000 | – | 1.0 | join-graph |" in made
