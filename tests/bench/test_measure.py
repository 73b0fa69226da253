"""What measurements are made of."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mrfstudio import bench
from mrfstudio.bench.measure import Report, exponent, grown_megabytes, power_law, seconds_in_turns
from mrfstudio.cli import main
from mrfstudio.engine.runtime.memory import keep_freed_memory


def test_the_power_of_a_power_law_is_found() -> None:
    sizes = [1.0, 2.0, 4.0, 8.0]
    assert exponent(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    assert exponent(sizes, [7.0] * 4) == pytest.approx(0.0)
    assert power_law(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx([3 * size**1.5 for size in sizes])
    uneven = [2.0, 3.0, 9.0, 11.0]
    line = power_law(sizes, uneven)
    assert exponent(sizes, line) == pytest.approx(exponent(sizes, uneven))
    assert np.log(line).sum() == pytest.approx(np.log(uneven).sum())


def a_hundred_megabytes() -> Callable[[], object]:
    return lambda: np.ones(12_500_000).sum()  # given back at once


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not say")
def test_memory_that_a_call_takes_is_measured_whatever_this_process_has_left() -> None:
    keep_freed_memory()
    np.ones(12_500_000).sum()
    grown = grown_megabytes(a_hundred_megabytes)
    assert grown is not None
    assert 80 < grown < 140


def test_works_take_turns() -> None:
    done: list[str] = []
    found = seconds_in_turns(lambda: done.append("a"), lambda: done.append("b"), repeats=4, warm=1)
    assert done == ["a", "b"] * 5
    assert len(found) == 2
    assert min(found) > 0


def test_every_script_of_a_peer_says_what_it_installs_and_does() -> None:
    scripts = bench.peers()
    assert {"pgmax", "pgmpy", "hmmlearn", "pot"} <= {script.PEER.name for script in scripts}
    for script in scripts:
        assert script.PEER.how_to_install
        assert script.PEER.packages or script.PEER.name == "libdai"  # which no registry has
        assert script.PEER.tasks
        for task in script.PEER.tasks:
            assert task.tolerance > 0
            assert task.inputs()


def test_several_measurements_have_a_process_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = Report("nothing", device="none", load_before=0.0).as_dict()
    alone: list[str] = []

    def noted(name: str) -> dict[str, object]:
        alone.append(name)
        return report

    monkeypatch.setattr(bench, "run", lambda name: report)
    monkeypatch.setattr(bench, "run_alone", noted)
    assert main(["bench", "rbm", "--json", str(tmp_path / "one.json")]) == 0
    assert alone == []
    assert main(["bench", "rbm", "grbm", "--json", str(tmp_path / "two.json")]) == 0
    assert alone == ["rbm", "grbm"]


def test_what_a_process_of_its_own_measures_is_not_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "run", whose_process)
    assert bench.run_alone("any")["process"] != os.getpid()


def whose_process(name: str) -> dict[str, object]:
    return {"process": os.getpid()}
