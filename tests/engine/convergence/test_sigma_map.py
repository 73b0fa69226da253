"""The map of σ_max over (α, coupling): right at every point, coarse first, and never half a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.convergence.contraction import ContractionMatrix, sigma_max
from mrfstudio.engine.convergence.sigma_map import read_sigma_map, sigma_map
from mrfstudio.engine.graphs.ising import complete_edges, grid_edges
from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.runtime.jobs import Job

EDGES = grid_edges(3, 3)
COUPLINGS = np.random.default_rng(0).normal(size=len(EDGES))


def given(out: Path, **changes: Any) -> dict[str, Any]:
    return {"edges": EDGES.tolist(), "couplings": COUPLINGS.tolist(), "out": str(out), "levels": 2, **changes}


def test_every_point_is_an_upper_bound_within_the_tolerance(tmp_path: Path) -> None:
    sigma_map(**given(tmp_path / "map.npz"))
    found = read_sigma_map(tmp_path / "map.npz")
    assert found.sigma_max.shape == (9, 9)
    assert found.alphas[[0, -1]].tolist() == [0.05, 1.5]
    assert found.couplings[[0, -1]].tolist() == [0.0, 2.0]
    for row in range(9):
        for column in range(9):
            matrix = ContractionMatrix(EDGES, found.couplings[row] * COUPLINGS, found.alphas[column])
            true = sigma_max(matrix, 1e-6)
            assert true.lower * (1 - 1e-9) <= found.sigma_max[row, column] <= true.upper * 1.001 + 1e-9


def test_without_coupling_only_what_is_kept_of_the_old_message_is_left(tmp_path: Path) -> None:
    sigma_map(**given(tmp_path / "map.npz"))
    found = read_sigma_map(tmp_path / "map.npz")
    np.testing.assert_allclose(found.sigma_max[0], np.abs(1 - found.alphas), atol=1e-9)


def test_levels_grow_and_each_is_a_whole_file(tmp_path: Path) -> None:
    out, sizes, reports = tmp_path / "map.npz", [], []

    def report(message: dict[str, Any]) -> None:
        reports.append(message)
        if "file" in message:
            found = read_sigma_map(message["file"])
            assert not np.isnan(found.sigma_max).any()
            sizes.append(found.sigma_max.shape)

    result = sigma_map(**given(out, levels=3), report=report)
    assert sizes == [(5, 5), (9, 9), (17, 17)]
    done = [message["done"] for message in reports]
    assert done == sorted(done)
    assert done[-1] == reports[-1]["total"] == result["points"] == 17**2
    assert [path.name for path in tmp_path.iterdir()] == ["map.npz"]


def test_a_finer_level_agrees_with_the_coarse_one_where_they_meet(tmp_path: Path) -> None:
    sigma_map(**given(tmp_path / "coarse.npz", levels=1))
    sigma_map(**given(tmp_path / "fine.npz", levels=3))
    coarse, fine = read_sigma_map(tmp_path / "coarse.npz"), read_sigma_map(tmp_path / "fine.npz")
    np.testing.assert_array_equal(fine.sigma_max[::4, ::4], coarse.sigma_max)


def test_tables_with_zeros_have_infinite_couplings_and_a_map_all_the_same(tmp_path: Path) -> None:
    sigma_map(**given(tmp_path / "map.npz", edges=[[0, 1], [1, 2], [2, 0]], couplings=[np.inf, -np.inf, 0.3], levels=1))
    assert np.isfinite(read_sigma_map(tmp_path / "map.npz").sigma_max).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"couplings": [1.0]}, "one number for each"),
        ({"alpha_range": (0.0, 1.0)}, "within"),
        ({"coupling_range": (1.0, 1.0)}, "upwards"),
        ({"levels": 99}, "levels"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        sigma_map(**given(tmp_path / "map.npz", **changes))
    assert not list(tmp_path.iterdir())


def test_as_a_job_it_reports_and_a_cancelled_one_leaves_a_whole_level(tmp_path: Path) -> None:
    edges = complete_edges(40)
    big = given(tmp_path / "map.npz", edges=edges.tolist(), couplings=[0.1] * len(edges), levels=6)
    with Job(sigma_map, big) as job:
        deadline = time.monotonic() + 60
        while not any("file" in message for message in job.messages()):
            assert time.monotonic() < deadline
            assert job.poll() == "running", job.error
            time.sleep(0.01)
        job.cancel()
        assert job.wait(30) == "cancelled"
    assert not np.isnan(read_sigma_map(tmp_path / "map.npz").sigma_max).any()
