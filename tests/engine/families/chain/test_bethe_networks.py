"""Free energies of chains by networks: exact at the true beliefs of a tree; learning that the exact sum confirms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.chains import GeneratedChains
from mrfstudio.engine.families.chain.bethe_networks import BetheNetworks, _asked, free_energy
from mrfstudio.engine.families.chain.density import ChainDensity
from mrfstudio.engine.families.chain.lattice import lattice, packed
from mrfstudio.engine.families.chain.model import ChainPlan
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.many import answers
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.training.command import training_data
from mrfstudio.engine.training.trainer import Trainer


@pytest.mark.parametrize("clamped", [True, False])
def test_bethe_is_log_z_at_the_true_beliefs_of_first_order(clamped: bool) -> None:
    data = training_data(GeneratedChains(count=20, length=6).open())
    model = ChainPlan(states=3, form="undirected").build_for(data, 0)
    x = data.train[torch.arange(4)]["x"]
    lengths = torch.full((4,), 6)
    with torch.no_grad():
        emissions = model.emissions(x)
        given = emissions if clamped else torch.zeros_like(emissions)
        graph = lattice(model, 6)
        found = answers(Exact(), graph, packed(graph, given), Limits(iterations=1))
        pairs = found.factors[0].permute(0, 3, 1, 2).log()
        energy, gap = free_energy([pairs], torch.zeros(4, 6, 3, dtype=torch.float64), model.pairs(), given, lengths)
        truth = model.log_clamped(x, lengths) if clamped else model.log_free(lengths)
    assert torch.allclose(-energy, truth, atol=1e-9)
    assert float(gap.max()) < 1e-9


def test_columns_after_the_end_do_not_count() -> None:
    data = training_data(GeneratedChains(count=20, length=6).open())
    model = ChainPlan(states=3, order=3, form="undirected").build_for(data, 0)
    learner = BetheNetworks(embedding=4, lstm_width=5)
    state, network = learner.start(model, data, 0), learner.networks(model, 6)["clamped"]
    x = data.train[torch.arange(2)]["x"]
    lengths = torch.tensor([6, 4])
    other = x.clone()
    other[1, 4:] = 0
    energies = []
    for words in (x, other):
        seen = ChainDensity(model, {"x": words, "lengths": lengths})
        with torch.no_grad():
            asked, scores = _asked(model, seen)["clamped"], model.pairs().float()
            pairs, alone = learner._beliefs(network, "clamped", state, asked, scores)
            energies.append(free_energy(pairs, alone, scores, asked.given, lengths)[0])
    assert torch.allclose(energies[0], energies[1])


@pytest.mark.parametrize(("scores", "rate"), [("tables", 0.02), ("network", 0.003)])
def test_networks_learn_more_than_how_frequent_words_are(scores: str, rate: float) -> None:
    """By the exact sum: more than half of the way from a table of words to the chain that drew the data."""
    splits = GeneratedChains(count=400, length=8, concentration=0.1).open()
    data = training_data(splits)
    model = ChainPlan(states=3, order=2, form="undirected", scores=scores, width=8).build_for(data, 0)
    learner = BetheNetworks(epochs=8.0, embedding=8, lstm_width=16, learning_rate=rate, network_rate=0.01)
    before = ChainDensity.measure(model, data.validation)["nll"]  # type: ignore[arg-type]
    list(Trainer(model, learner, data).run())
    after = ChainDensity.measure(model, data.validation)["nll"]  # type: ignore[arg-type]
    counts = np.bincount(splits["train"]["x"].ravel(), minlength=6)
    words_alone = -float(np.log(counts / counts.sum())[splits["val"]["x"]].sum(1).mean())
    truth = -float(splits["val"]["logp"].mean())
    assert after < words_alone - 0.5 * (words_alone - truth)
    assert after < before - 0.5


def test_beliefs_begin_as_those_of_two_columns_alone() -> None:
    data = training_data(GeneratedChains(count=20, length=2).open())
    model = ChainPlan(states=3, order=1, form="undirected").build_for(data, 0)
    learner = BetheNetworks(embedding=4, lstm_width=5)
    state, seen = learner.start(model, data, 0), ChainDensity(model, data.train[torch.arange(5)])
    for name, of in _asked(model, seen).items():
        with torch.no_grad():
            beliefs = learner._beliefs(learner.networks(model, 2)[name], name, state, of, model.pairs().float())
            energy = of.share @ free_energy(*beliefs, model.pairs().float(), of.given, of.lengths)[0]
            truth = model.log_clamped(seen.visible, seen.lengths) if name == "clamped" else model.log_free(of.lengths)
        assert float(energy) == pytest.approx(-float(truth.mean()), abs=1e-4)


def test_directed_chains_are_refused() -> None:
    data = training_data(GeneratedChains(count=20, length=4).open())
    assert BetheNetworks().supports(ChainPlan(states=3).build_for(data, 0)) is not None
