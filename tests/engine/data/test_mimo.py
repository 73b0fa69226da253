"""MIMO detection: the posterior graph is the posterior, and detectors stand in the order of [Liu20]."""

import numpy as np
import pytest

from mrfstudio.bench.mimo import error_rates
from mrfstudio.engine.data.dataset import parse_data
from mrfstudio.engine.data.mimo import (
    Mimo,
    mmse,
    mmse_log_prior,
    most_probable,
    posterior_ising,
    symbol_error_rate,
)
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.run import run


def test_rows_are_channels_of_complex_numbers_and_repeat_with_the_seed() -> None:
    data = parse_data("mimo").open(count=200, snr=5.0, seed=3)
    rows = data["test"]
    assert rows["channel"].shape == (200, 8, 8)
    np.testing.assert_array_equal(rows["channel"][:, :4, :4], rows["channel"][:, 4:, 4:])
    np.testing.assert_array_equal(rows["channel"][:, :4, 4:], -rows["channel"][:, 4:, :4])
    assert (rows["channel"] ** 2).mean() == pytest.approx(1 / 8, rel=0.05)
    noise = rows["received"] - np.einsum("nij,nj->ni", rows["channel"], rows["sent"].astype(float))
    assert noise.var() == pytest.approx(1 / 5, rel=0.1)
    louder = Mimo(count=200, snr=20.0, seed=3).open()["test"]
    np.testing.assert_array_equal(louder["channel"], rows["channel"])
    np.testing.assert_array_equal(louder["sent"], rows["sent"])
    assert float(data.constants["snr"]) == 5.0


def test_the_graph_is_the_posterior_of_every_row() -> None:
    rows = Mimo(count=3, antennas=2, snr=4.0, seed=1).open()["test"]
    channel, received = rows["channel"], rows["received"]
    graph = FactorGraph.ising(*posterior_ising(channel, received, 1 / 4.0))
    state = run(Exact(), graph, graph.no_evidence()).state
    found = np.stack(graph.unpack(Exact().beliefs(graph, graph.no_evidence(), state)))[:, 1].reshape(3, 4)
    every = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 4, indexing="ij"), -1).reshape(-1, 4)
    for row in range(3):
        weight = np.exp(-4.0 / 2 * ((every @ channel[row].T - received[row]) ** 2).sum(1))
        np.testing.assert_allclose(found[row], weight @ (every > 0) / weight.sum(), atol=1e-9)


def test_mmse_is_ridge_regression_and_its_prior_a_gaussian_at_both_symbols() -> None:
    rows = Mimo(count=2, antennas=2, snr=3.0).open()["test"]
    mean, variance = mmse(rows["channel"], rows["received"], 1 / 3.0)
    h, y = rows["channel"][1], rows["received"][1]
    precision = 3.0 * h.T @ h + np.eye(4)
    np.testing.assert_allclose(mean[1], np.linalg.solve(precision, 3.0 * h.T @ y), atol=1e-10)
    np.testing.assert_allclose(variance[1], np.diag(np.linalg.inv(precision)), atol=1e-10)
    prior = mmse_log_prior(mean, variance).reshape(2, 4, 2)
    np.testing.assert_allclose(prior[..., 1] - prior[..., 0], 2 * mean / variance, atol=1e-10)


def test_without_noise_the_most_probable_vector_is_the_sent_one() -> None:
    rows = Mimo(count=20, snr=1e9).open()["test"]
    assert symbol_error_rate(most_probable(rows["channel"], rows["received"]), rows["sent"]) == 0.0


def test_a_symbol_is_wrong_when_either_of_its_reals_is() -> None:
    sent = np.ones((2, 4), dtype=np.int8)
    estimate = np.array([[0.3, -0.1, 0.2, -0.9], [0.1, 0.1, -0.1, 0.1]])
    assert symbol_error_rate(estimate, sent) == pytest.approx(2 / 4)


def test_alpha_bp_beats_mmse_and_bp_does_not() -> None:
    """[Liu20]'s ordering at a linear SNR of 40; rates there: MMSE 0.032, α-BP 0.011, with prior 0.005, MAP 0.001."""
    rates = error_rates(40.0, 400, seed=0)
    assert rates["MAP"] < rates["α-BP 0.5"] < rates["MMSE"] < rates["damped BP"] < rates["BP"]
    assert rates["α-BP 0.5 with MMSE prior"] < rates["α-BP 0.5"]
    assert rates["α-BP 0.5"] < 0.03
