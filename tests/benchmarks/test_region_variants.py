"""Other regions on complete graphs, and the figures drawn from kept results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import figures
from benchmarks.region_variants import Ordered
from benchmarks.regions import STEPS, Methods, Setting, Truth, measure
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork


def complete(nodes: int) -> Setting:
    return Setting("4.5", f"complete-{nodes}-1", "complete", nodes, "normal", 1.0)


def test_nodes_are_numbered_by_the_strength_of_their_couplings() -> None:
    plain = complete(6)
    ordered = Ordered("4.5", plain.name, "complete", 6, "normal", 1.0)
    couplings, fields = ordered.potentials(0)
    strength = np.zeros(6)
    for (left, right), coupling in zip(ordered.edges, couplings, strict=True):
        strength[[left, right]] += abs(coupling)
    assert (np.diff(strength) < 0).all()
    assert sorted(couplings) == pytest.approx(sorted(plain.potentials(0)[0]))
    assert sorted(fields) == pytest.approx(sorted(plain.potentials(0)[1]))
    assert Truth.of(ordered.graph(0)).log_z == pytest.approx(Truth.of(plain.graph(0)).log_z)


def test_a_root_that_holds_the_whole_graph_is_exact() -> None:
    setting = complete(5)
    truths = {seed: Truth.of(setting.graph(seed)) for seed in (0, 1)}
    methods: Methods = {f"{number}": (RegionEnergyNetwork(regions="shared", shared=number), STEPS) for number in (1, 3)}
    errors = {name: [found["l1"] for found in measure(setting, [0, 1], name, truths, methods)] for name in methods}
    assert max(errors["3"]) < 0.01
    assert max(errors["1"]) > max(errors["3"])


def test_the_transfer_function_is_drawn_clipped_at_temperature_zero() -> None:
    hard, soft = figures.transfer_function().axes
    for line, weight in zip(hard.lines, figures.WEIGHTS, strict=True):
        x, y = np.asarray(line.get_data())
        assert y == pytest.approx(np.sign(weight) * np.clip(x, -abs(weight), abs(weight)))
    assert all(np.abs(line.get_ydata()).max() < abs(w) for line, w in zip(soft.lines, figures.WEIGHTS, strict=True))


def test_shares_of_an_epoch_are_means_over_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(figures.__file__).parent))
    from benchmarks.crbm_figures import by_epoch

    curves = tmp_path / "a.curves.csv"
    curves.write_text("step,epoch,converged\n1,0.5,1.0\n2,1.0,0.5\n3,1.5,0.25\n4,2.0,\n", encoding="utf-8")
    assert by_epoch(curves) == [0.75, 0.25]
