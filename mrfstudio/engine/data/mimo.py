"""MIMO detection: which symbols were sent over several antennas at once? ([Liu20], section 3.5.2)

    y = H x + e,    x in {-1, +1}^N,    e ~ N(0, σ_w² I)

H is the real form of a complex channel with A antennas on each side, N = 2A; its complex entries have variance 1/A,
and a symbol is the pair (x_i, x_{i+A}). The posterior is an Ising model on the complete graph (Eq. 3.52):
J_ij = -S_ij / σ_w², h_i = ⟨h_i, y⟩ / σ_w², S = HᵀH. "SNR" is the linear ratio 1/σ_w², as on the axis of [Liu20].
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, Dataset, Progress, Splits
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import DATASETS


@DATASETS.register
class Mimo(Dataset):
    """Channels, what was sent over them and what was received; a seed draws the same of both at every SNR."""

    name = "mimo"
    title = "MIMO detection"
    summary = (
        "Symbols sent over random channels with several antennas, as in Liu (2020); the posterior is an Ising model."
    )
    path = "none"
    path_text = ""
    yields = "channel (N, 2A, 2A) float64; received (N, 2A) float64; sent (N, 2A) int8 of -1 and +1; constants snr"

    count: int = integer(1000, "Channels to draw.", low=1, high=10_000_000, logarithmic=True)
    antennas: int = integer(4, "Antennas on each side; variables are twice as many.", low=1, high=64)
    snr: float = number(10.0, "Signal to noise variance, a linear ratio.", low=0, low_open=True, logarithmic=True)
    seed: int = integer(0, "The same seed draws the same channels.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        rng, a = np.random.default_rng(self.seed), self.antennas
        draws = rng.normal(size=(self.count, 2 * a * a + 2 * a))
        real, imaginary = draws[:, : 2 * a * a].reshape(self.count, 2, a, a).transpose(1, 0, 2, 3) / np.sqrt(2 * a)
        channel = np.concatenate([np.concatenate([real, -imaginary], 2), np.concatenate([imaginary, real], 2)], 1)
        sent = np.where(rng.random((self.count, 2 * a)) < 0.5, -1, 1).astype(np.int8)
        noise = draws[:, 2 * a * a :] / np.sqrt(self.snr)
        received = np.einsum("nij,nj->ni", channel, sent.astype(float)) + noise
        arrays: dict[str, Array] = {"channel": channel, "received": received, "sent": sent}
        return Splits({"test": arrays}, {"snr": np.array(self.snr)})


def posterior_ising(channel: Array, received: Array, noise_variance: float) -> tuple[Array, Array, Array]:
    """Edges, couplings and fields of all rows' posteriors as one Ising graph, for `FactorGraph.ising`.

    It has a component for each row; row r has the nodes r·N … r·N + N - 1.
    """
    rows, size = received.shape
    gram = np.einsum("nki,nkj->nij", channel, channel) / noise_variance
    first, second = np.triu_indices(size, 1)
    edges = (np.stack([first, second], 1)[None] + size * np.arange(rows)[:, None, None]).reshape(-1, 2)
    fields = np.einsum("nki,nk->ni", channel, received).reshape(-1) / noise_variance
    return edges, -gram[:, first, second].reshape(-1), fields


def mmse(channel: Array, received: Array, noise_variance: float) -> tuple[Array, Array]:
    """Mean and variance (rows, N) of each variable under a Gaussian prior of variance 1."""
    size = received.shape[1]
    inverse = np.linalg.inv(np.einsum("nki,nkj->nij", channel, channel) + noise_variance * np.eye(size))
    mean = np.einsum("nij,nkj,nk->ni", inverse, channel, received, optimize=True)
    return mean, noise_variance * np.diagonal(inverse, axis1=1, axis2=2)


def mmse_log_prior(mean: Array, variance: Array) -> Array:
    """The prior factors of [Liu20], log p̂(x = -1, +1) from MMSE, (rows · N, 2)."""
    states = np.array([-1.0, 1.0])
    return (-((states - mean[..., None]) ** 2) / (2 * variance[..., None])).reshape(-1, 2)


def most_probable(channel: Array, received: Array) -> Array:
    """The nearest sent vector by trying all 2^N, (rows, N)."""
    candidates = np.array(list(itertools.product((-1, 1), repeat=received.shape[1])))
    found = []
    for first in range(0, len(received), 500):  # memory
        images = np.einsum("nij,cj->nci", channel[first : first + 500], candidates.astype(float), optimize=True)
        distance = ((images - received[first : first + 500, None]) ** 2).sum(2)
        found.append(candidates[distance.argmin(1)])
    return np.concatenate(found)


def symbol_error_rate(estimate: Array, sent: Array) -> float:
    """The part of symbols (pairs x_i, x_{i+A}) with an error; `estimate` holds signs."""
    wrong = np.sign(estimate) != sent
    half = sent.shape[1] // 2
    return float((wrong[:, :half] | wrong[:, half:]).mean())
