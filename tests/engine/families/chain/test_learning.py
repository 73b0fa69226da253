"""What chains learn: the tables that made the data, vowels without being told, and what other programs compute."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.chains import GeneratedChains, log_likelihood
from mrfstudio.engine.families.chain.baum_welch import BaumWelch
from mrfstudio.engine.families.chain.model import Chain, ChainPlan
from mrfstudio.engine.files.model_file import load_model
from mrfstudio.engine.files.open_model import build_model
from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command, training_data
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from mrfstudio.engine.training.trainer import Trainer

PROSE = (
    "the old man sat on a bench beside the river and looked at the boats that came and went all day long "
    "while his dog slept in the sun and did not care about boats or rivers or men who sit on benches "
    "in the evening they walked home along the narrow path between the fields and the wood where the owls live "
    "nobody had ever told him why the water is never the same and he had never asked anyone about it "
)


def generated(**more: Any) -> tuple[TrainingData, Any]:
    splits = GeneratedChains(**more).open()
    return training_data(splits), splits


def by_numpy(data: np.ndarray, first: np.ndarray, moves: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, ...]:
    """One iteration of Baum–Welch written down as in a textbook: (N, T) symbols, tables in, tables out."""
    _count, length = data.shape
    states = len(first)
    new_first, new_moves, new_words = np.zeros(states), np.zeros((states, states)), np.zeros_like(words)
    for row in data:
        alpha, beta = np.zeros((length, states)), np.ones((length, states))
        alpha[0] = first * words[:, row[0]]
        for t in range(1, length):
            alpha[t] = alpha[t - 1] @ moves * words[:, row[t]]
        for t in range(length - 2, -1, -1):
            beta[t] = moves @ (words[:, row[t + 1]] * beta[t + 1])
        total = alpha[-1].sum()
        chances = alpha * beta / total
        new_first += chances[0]
        for t in range(length):
            new_words[:, row[t]] += chances[t]
            if t:
                new_moves += np.outer(alpha[t - 1], words[:, row[t]] * beta[t]) * moves / total
    return tuple(table / table.sum(-1, keepdims=True) for table in (new_first, new_moves, new_words))


def tables(model: Chain) -> tuple[np.ndarray, ...]:
    scores = model.transitions().exp().detach().numpy()
    return scores[-1], scores[:-1], model.words().exp().detach().numpy()


def test_baum_welch_takes_the_steps_of_the_textbook() -> None:
    data, _ = generated(count=30, length=8)
    model = ChainPlan(states=3).build_for(data, 0)
    expected = tables(model)
    x = data.train[torch.arange(30)]["x"].numpy()
    list(Trainer(model, BaumWelch(epochs=5.0, keep="last"), data).run())
    for _ in range(5):
        expected = by_numpy(x, *expected)
    for found, table in zip(tables(model), expected, strict=True):
        assert np.abs(found - table).max() < 1e-10


def test_the_likelihood_never_falls_and_comes_near_the_truth() -> None:
    data, splits = generated(count=800, validation=0)
    model = ChainPlan(states=3).build_for(data, 0)
    losses = [record.loss for record in Trainer(model, BaumWelch(epochs=60.0), data).run() if record.state == "running"]
    assert all(late <= early + 1e-9 for early, late in itertools.pairwise(losses))
    x = torch.from_numpy(splits["test"]["x"])
    learned = -model.log_likelihood(x, torch.full((len(x),), x.shape[1])).mean().item()
    assert learned < -splits["test"]["logp"].mean() + 0.3


def test_a_drawn_likelihood_is_that_of_the_recursion() -> None:
    data, splits = generated(count=20, validation=0)
    model = ChainPlan(states=3).build_for(data, 0)
    with torch.no_grad():
        model.tensors()["words"].copy_(torch.from_numpy(splits.constants["emissions"]).log())
        moves = np.concatenate([splits.constants["transitions"], splits.constants["first"][None]])
        model.tensors()["transitions"].copy_(torch.from_numpy(moves).log())
        found = model.log_likelihood(torch.from_numpy(splits["test"]["x"]), torch.full((500,), 20))
    assert np.abs(found.numpy() - splits["test"]["logp"]).max() < 1e-9


def test_two_states_find_the_vowels(tmp_path: Path) -> None:
    """From the command, on a text of a few lines: no letter is told apart beforehand."""
    text = tmp_path / "prose.txt"
    text.write_text(PROSE * 4)
    out = tmp_path / "vowels.safetensors"
    train_command("chain", "baum-welch", f"text:{text}", out, states=2, epochs=120.0, length=40, seed=1)
    model = build_model(load_model(out))
    assert isinstance(model, Chain)
    first = model.words().argmax(0)
    vowel = first[model.symbols.index("e")]
    assert {model.symbols[n] for n in range(27) if first[n] == vowel} >= {"a", "e", "i", "o"}
    assert all(first[model.symbols.index(letter)] != vowel for letter in "tnrdlmb")
    scores = evaluate_model(out, f"text:{text}", length=40)
    assert scores["bits"] < scores["unigram_bits"] - 0.1


@pytest.mark.parametrize("emission", ["words", "diagonal", "full"])
def test_likelihoods_are_those_of_hmmlearn(emission: str) -> None:
    hmm = pytest.importorskip("hmmlearn.hmm")
    generator = torch.Generator().manual_seed(2)
    lengths = torch.tensor([12, 7, 1])
    if emission == "words":
        x = torch.randint(0, 5, (3, 12), generator=generator)
        data = TrainingData(TensorSource(x=x, lengths=lengths), constants={"symbols": list("abcde")})
        model = ChainPlan(states=4, start_noise=3.0).build_for(data, 3)
        peer = hmm.CategoricalHMM(4, init_params="")
        peer.emissionprob_ = model.words().exp().detach().numpy()
    else:
        x = torch.randn(3, 12, 3, generator=generator, dtype=torch.float64)
        data = TrainingData(TensorSource(x=x, lengths=lengths))
        model = ChainPlan(states=4, covariance=emission).build_for(data, 3)
        with torch.no_grad():
            for tensor in model.tensors().values():
                tensor.add_(0.3 * torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype))
        peer = hmm.GaussianHMM(4, covariance_type="diag" if emission == "diagonal" else "full", init_params="")
        peer.means_ = model.tensors()["means"].detach().numpy()
        from mrfstudio.engine.families.chain.emissions import cholesky

        if emission == "full":
            triangle = cholesky(model.tensors()).detach().numpy()
            peer.covars_ = triangle @ triangle.transpose(0, 2, 1)
        else:
            peer.covars_ = np.exp(2 * model.tensors()["log_scale"].detach().numpy())
    scores = model.transitions().exp().detach().numpy()
    peer.startprob_, peer.transmat_ = scores[-1], scores[:-1]
    for row, length in zip(x, lengths, strict=True):
        frames = row[: int(length)].numpy()
        theirs = peer.score(frames.reshape(-1, 1) if emission == "words" else frames)
        ours = model.log_likelihood(row[None, : int(length)], length[None]).item()
        assert ours == pytest.approx(theirs, abs=1e-8)


def test_baum_welch_ends_where_hmmlearn_ends() -> None:
    hmm = pytest.importorskip("hmmlearn.hmm")
    data, _ = generated(count=60)
    model = ChainPlan(states=3).build_for(data, 0)
    first, moves, words = tables(model)
    peer = hmm.CategoricalHMM(3, n_iter=30, tol=-np.inf, init_params="")
    peer.startprob_, peer.transmat_, peer.emissionprob_ = first, moves, words
    x = data.train[torch.arange(len(data.train))]["x"].numpy()
    peer.fit(x.reshape(-1, 1), [x.shape[1]] * len(x))
    list(Trainer(model, BaumWelch(epochs=30.0, keep="last"), data).run())
    ours = model.log_likelihood(torch.from_numpy(x), torch.full((len(x),), x.shape[1])).sum().item()
    assert ours == pytest.approx(peer.score(x.reshape(-1, 1), [x.shape[1]] * len(x)), abs=1e-8)


def test_log_likelihood_of_a_chain_of_one_state() -> None:
    found = log_likelihood(np.ones(1), np.ones((1, 1)), np.array([[0.25, 0.75]]), np.array([[0, 1, 1]]))
    assert found[0] == pytest.approx(np.log(0.25 * 0.75 * 0.75))
