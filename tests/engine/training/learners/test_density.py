"""Learners of likelihood and of sampling, against enumeration."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.graph.model import TiedGraph, tied
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.ising.model import IsingField
from mrfstudio.engine.families.rbm.density import exact_log_partition
from mrfstudio.engine.families.rbm.model import DBM, RBM
from mrfstudio.engine.files.model_file import load_model
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges
from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.density import contrast, density_of
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.cd import ContrastiveDivergence
from mrfstudio.engine.training.learners.likelihood import Likelihood
from mrfstudio.engine.training.learners.pcd import PersistentContrastiveDivergence
from mrfstudio.engine.training.learners.perceptron import Perceptron
from mrfstudio.engine.training.learners.pseudolikelihood import Pseudolikelihood
from mrfstudio.engine.training.progress import TrainingError
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.densities import all_scores, gradients, machine, rows
from tests.engine.helpers.graphs import random_factors
from tests.places import SHARED

CONTEXT = BatchContext(seed=0, step=0, epoch=0, batch_size=6, rows=slice(0, 6))
DATA = SHARED / "data"


def ising_model(seed: int = 0) -> IsingField:
    model = IsingField(grid_edges(2, 3), 6)
    with torch.no_grad():
        model.weights.normal_(generator=torch.Generator().manual_seed(seed))
    return model


def mixed_model() -> TiedGraph:
    """Several numbers of states, factors up to order 3 and some zeros."""
    cards, factors = random_factors(0, variables=5, factors=6, zeros=0.1, strength=0.6)
    return tied(FactorGraph.from_factors(cards, factors))


MODELS = [ising_model, mixed_model, machine]


@pytest.mark.parametrize("make", MODELS)
def test_conditionals_are_those_of_the_joint_distribution(make: Any) -> None:
    model = make()
    states, scores = all_scores(model)
    seen = density_of(model, rows(model))
    found = seen.log_conditionals(seen.visible)
    for row, logs in zip(seen.visible, found, strict=True):
        for variable in range(states.shape[1]):
            others = [v for v in range(states.shape[1]) if v != variable]
            alike = (states[:, others] == row[others]).all(1)
            own = alike & (states[:, variable] == row[variable])
            expected = torch.logsumexp(scores[own], 0) - torch.logsumexp(scores[alike], 0)
            assert logs[variable].item() == pytest.approx(expected.item(), abs=1e-9)


@pytest.mark.parametrize("make", MODELS)
def test_the_pseudolikelihood_gradient_is_that_of_its_conditionals(make: Any) -> None:
    model = make()
    batch = rows(model)
    result = Pseudolikelihood().batch(model, batch, {}, CONTEXT)
    found = gradients(model)
    seen = density_of(model, batch)
    (-seen.log_conditionals(seen.visible).mean() / math.log(2)).backward()
    for one, other in zip(found, gradients(model), strict=True):
        assert torch.allclose(one, other)
    assert result.weight == 6


@pytest.mark.parametrize("make", [ising_model, mixed_model])
def test_gibbs_cd1_with_one_random_site_is_pseudolikelihood(make: Any) -> None:
    """The theorem of [McA19]: averaged exactly over sites and values, times the number of sites."""
    model = make()
    batch = rows(model)
    seen = density_of(model, batch)
    sites = model.variables
    conditional = seen.log_conditionals(seen.visible)
    average = torch.zeros(())
    for site in range(sites):
        others = 0.0
        for value in range(int(model.structure.cardinalities[site])):
            moved = seen.visible.clone()
            moved[:, site] = value
            chance = seen.log_conditionals(moved)[:, site].exp().detach()
            possible = chance > 0  # an impossible value is never drawn, and its score is -inf
            loss = contrast(seen.part(possible), moved[possible])  # type: ignore[arg-type]
            average = average + (chance[possible] * loss).sum() / (len(moved) * sites)
            others += float(chance.sum())
        assert others == pytest.approx(len(seen.visible))
    (average * sites).backward()
    contrastive = gradients(model)
    (-conditional.sum(1).mean()).backward()
    for one, other in zip(contrastive, gradients(model), strict=True):
        assert torch.allclose(one, other, atol=1e-12)
        assert float(one.abs().max()) > 0.01


def test_a_random_site_is_drawn_from_its_conditional() -> None:
    model = ising_model()
    states = torch.zeros(60_000, 6, dtype=torch.int64)
    seen = density_of(model, {"x": states})
    uniform = torch.rand(len(states), 2, generator=torch.Generator().manual_seed(0))
    moved = seen.redraw_site(states, uniform)
    assert int((moved != states).sum(1).max()) == 1
    ones = density_of(model, {"x": torch.eye(6, dtype=torch.int64)})
    chance = torch.stack([ones.log_conditionals(ones.visible)[v, v] for v in range(6)]).exp() / 6
    assert torch.allclose(moved.double().mean(0), chance, atol=0.008)


@pytest.mark.parametrize("make", MODELS)
def test_sweeps_leave_the_model_s_own_distribution_unchanged(make: Any) -> None:
    model = make()
    states, scores = all_scores(model)
    truth = torch.softmax(scores.detach(), 0)
    generator = torch.Generator().manual_seed(2)
    drawn = torch.multinomial(truth, 40_000, replacement=True, generator=generator)
    seen = density_of(model, {"x": states})
    after = seen.sweep(states[drawn], torch.rand(len(drawn), seen.draws, generator=generator))
    assert float((after != states[drawn]).double().mean()) > 0.05
    means = after.double().mean(0)
    assert torch.allclose(means, (truth[:, None] * states).sum(0).double(), atol=0.02)
    pairs = (after.double().t() @ after.double()) / len(after)
    expected = (states.double() * truth[:, None].double()).t() @ states.double()
    assert torch.allclose(pairs, expected, atol=0.04)


@pytest.mark.parametrize("make", [ising_model, mixed_model])
def test_likelihood_with_exact_inference_is_autograd_of_the_exact_log_partition(make: Any) -> None:
    model = make()
    batch = rows(model)
    result = Likelihood(algorithm="exact").batch(model, batch, {}, CONTEXT)
    found = gradients(model)
    _, scores = all_scores(model)
    seen = density_of(model, batch)
    nll = torch.logsumexp(scores, 0) - seen.score(seen.visible).mean()
    nll.backward()
    assert result.loss == pytest.approx(nll.item())
    for one, other in zip(found, gradients(model), strict=True):
        assert torch.allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS.names() if name != "exact"])
@pytest.mark.parametrize("make", [ising_model, machine])
def test_likelihood_takes_the_marginals_of_any_algorithm_or_refuses_it(make: Any, algorithm: str) -> None:
    """With weak couplings every approximation points where the exact gradient does."""
    model = make()
    with torch.no_grad():
        for tensor in model.tensors().values():
            tensor.mul_(0.3)
    learner, batch = Likelihood(algorithm=algorithm, iterations=60), rows(model)
    refusal = learner.supports(model)
    if refusal is not None:
        only_here = algorithm in ("gibbs", "auto", "windows") or algorithm.startswith("cutout")
        assert only_here or (algorithm == "matrix-bp" and make is ising_model)
        assert "use " in refusal
        return
    assert math.isfinite(learner.batch(model, batch, {}, CONTEXT).loss)
    found = torch.cat([gradient.reshape(-1) for gradient in gradients(model)])
    Likelihood(algorithm="exact").batch(model, batch, {}, CONTEXT)
    exact = torch.cat([gradient.reshape(-1) for gradient in gradients(model)])
    assert float(found @ exact) > 0.9 * float(found.norm() * exact.norm())


def test_likelihood_with_mean_field_is_the_gradient_of_its_bound() -> None:
    model = ising_model()
    learner = Likelihood(algorithm="mean-field", iterations=2000, tolerance=1e-13)
    batch = rows(model)
    result = learner.batch(model, batch, {}, CONTEXT)
    (found,) = gradients(model)
    for place in (0, 3, 9):
        step = 1e-5
        moved = []
        for sign in (1, -1):
            with torch.no_grad():
                model.weights[place] += sign * step
            moved.append(learner.batch(model, batch, {}, CONTEXT).loss)
            with torch.no_grad():
                model.weights[place] -= sign * step
        assert (moved[0] - moved[1]) / (2 * step) == pytest.approx(float(found[place]), abs=1e-5)
    assert result.scalars["converged"] == 1.0


def test_the_log_partition_of_a_machine_is_that_of_enumeration() -> None:
    model = machine()
    _, scores = all_scores(model)
    assert exact_log_partition(*model.binary_form()) == pytest.approx(torch.logsumexp(scores, 0).item())
    measured = ContrastiveDivergence().validate(model, TensorSource(**rows(model)))
    seen = density_of(model, rows(model))
    nll = torch.logsumexp(scores, 0) - seen.score(seen.visible).mean()
    assert measured["nll"] == pytest.approx(nll.item())


def test_the_perceptron_keeps_the_best_state_it_meets_and_ignores_items_that_score_higher() -> None:
    model = ising_model()
    states, scores = all_scores(model)
    best = states[scores.argmax()]
    batch = {"x": torch.stack([best] * 3 + [states[scores.argmin()]] * 3)}
    result = Perceptron(steps=200).batch(model, batch, {}, CONTEXT)
    highest, lowest = scores.max().item(), scores.min().item()
    assert result.scalars["violated"] == 0.5
    assert result.loss == pytest.approx((highest - lowest) / 2)
    (found,) = gradients(model)
    both = density_of(model, {"x": torch.stack([best, states[scores.argmin()]])})
    score = both.score(both.visible)
    ((score[0] - score[1]) / 2).backward()
    assert torch.allclose(found, gradients(model)[0])


def test_the_perceptron_can_take_for_a_rival_where_its_sweeps_end() -> None:
    """Ends of long chains are draws of the model, not its best states; those that score less than the data are mute."""
    model = machine()
    states, scores = (found.detach() for found in all_scores(model))
    data = states[scores.argsort()[len(scores) // 2]]
    context = BatchContext(seed=0, step=0, epoch=0, batch_size=4000, rows=slice(0, 4000))
    seen = density_of(model, {"x": data.repeat(4000, 1)})
    rivals = Perceptron(steps=30, rival="last")._search(seen, context)
    found, chances = seen.score(rivals).detach(), torch.softmax(scores, 0)
    assert found.mean().item() == pytest.approx(float(chances @ scores), abs=0.05)
    gain = (scores - seen.score(seen.visible)[0].detach()).clamp_min(0)
    result = Perceptron(steps=30, rival="last").batch(model, {"x": data.repeat(4000, 1)}, {}, context)
    assert result.loss == pytest.approx(float(chances @ gain), abs=0.05)
    assert 0 < result.scalars["violated"] < 1


def test_the_search_in_a_machine_meets_the_best_answer_to_every_hidden_state() -> None:
    """Drawn visible units would not: of many, some always lie at their worse value."""
    generator = torch.Generator().manual_seed(1)
    machine = RBM(60, 3, dtype=torch.float64)
    couplings, visible = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((3, 60), (60,)))
    machine.set_binary_form(0.3 * couplings, torch.zeros(3, dtype=torch.float64), visible)
    batch = {"x": torch.zeros(6, 60, dtype=torch.float64)}
    seen = density_of(machine, batch)
    hidden = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 3)
    modes = (hidden @ seen.couplings + visible > 0).double()
    found = seen.score(Perceptron(steps=60)._search(seen, CONTEXT))
    drawn = seen.sweep(seen.alone(), CONTEXT.uniform(seen.draws, label="drawn"))
    assert found.min() >= seen.score(modes).max() - 1e-9
    assert (seen.score(drawn) < found).all()


def learned(learner: str, **options: Any) -> dict[str, float]:
    settings = {"side": 3, "count": 2000, "epochs": 4, "learning_rate": 0.1, "validation": 300, **options}
    scores: dict[str, float] = train_command("ising", learner, "ising", **settings)["scores"]
    return scores


def test_exact_learning_recovers_the_true_likelihood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[Liu20], Tables 5.1 and 5.2: within 0.01 nats of the model that drew the samples."""
    from mrfstudio.engine.data.dataset import parse_data

    monkeypatch.chdir(tmp_path)
    truth = -float(parse_data("ising").open(side=3, validation=300)["val"]["logp"].mean())
    found = learned("likelihood", algorithm="exact", batch_size=200, epochs=8)["nll"]
    assert found == pytest.approx(truth, abs=0.01)


@pytest.mark.parametrize(
    ("learner", "options"), [("pseudolikelihood", {}), ("cd", {}), ("pcd", {"steps": 3, "chains": 500})]
)
def test_cheap_learners_recover_the_true_likelihood_from_many_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learner: str, options: dict[str, Any]
) -> None:
    """With the last parameters, not the luckiest: the best of many validations would hide where a learner drifts to."""
    from mrfstudio.engine.data.dataset import parse_data

    monkeypatch.chdir(tmp_path)
    truth = -float(parse_data("ising").open(side=3, validation=300)["val"]["logp"].mean())
    many = {"count": 20_000, "batch_size": 500, "epochs": 5, "learning_rate": 0.05, "keep": "last"}
    assert learned(learner, **many, **options)["nll"] == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("make", [ising_model, mixed_model])
def test_pseudolikelihood_is_at_rest_at_the_model_that_drew_the_data(make: Any) -> None:
    """Its gradient, averaged over the model's own distribution, vanishes: it is consistent."""
    model = make()
    states, scores = all_scores(model)
    chances = torch.softmax(scores.detach(), 0)
    possible = chances > 0
    seen = density_of(model, {"x": states[possible]})
    (chances[possible] @ seen.log_conditionals(seen.visible).sum(1)).backward()
    (gradient,) = gradients(model)
    assert torch.allclose(gradient, torch.zeros_like(gradient), atol=1e-10)


def test_persistent_chains_are_kept_over_a_resume(tmp_path: Path) -> None:
    data = TrainingData(TensorSource(x=torch.randint(0, 2, (40, 6), generator=torch.Generator().manual_seed(0))))
    learner = PersistentContrastiveDivergence(chains=7, batch_size=10, epochs=2.0)
    whole = Trainer(ising_model(), learner, data, model_path=tmp_path / "whole.safetensors")
    losses = [record.loss for record in whole.run()]
    broken = Trainer(ising_model(), learner, data, model_path=tmp_path / "broken.safetensors")
    running = broken.run()
    for _ in range(3):
        next(running)
    running.close()
    saved = load_model(tmp_path / "broken.train.safetensors").tensors["learner/chains"]
    assert saved.shape == (7, 6)
    again = Trainer(ising_model(), learner, data, model_path=tmp_path / "broken.safetensors", resume=True)
    assert [record.loss for record in again.run()] == losses[3:]


def test_what_a_learner_cannot_train_it_refuses_and_names_one_that_can() -> None:
    grid, deep = GridMRF((2, 1, 1)), DBM(4, 3, 2)
    cases = [
        (ContrastiveDivergence(), grid, "use the learner query"),
        (Pseudolikelihood(), deep, "use the learner query"),
        (ContrastiveDivergence(update="site"), machine(), "use cd with the update sweep"),
        (Likelihood(algorithm="gibbs"), ising_model(), "use the learner pcd"),
        (Likelihood(algorithm="exact", algorithm_options="memory=1e-7"), ising_model(), "use bp"),
    ]
    for learner, model, words in cases:
        refusal = learner.supports(model)
        assert refusal is not None
        assert words in refusal
        assert "\n" not in refusal
        with pytest.raises(TrainingError):
            Trainer(model, learner, TrainingData(TensorSource(x=torch.zeros(2, 6))))


def test_options_of_an_algorithm_may_be_switches() -> None:
    options = "annealing=false, own-scores=true"
    algorithm = Likelihood(algorithm="renn", algorithm_options=options).inference(0).algorithm
    assert (algorithm.annealing, algorithm.own_scores) == (False, True)  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="true or false"):
        Likelihood(algorithm="renn", algorithm_options="annealing=no").inference(0)


def samples_file(path: Path) -> Path:
    """Samples of a 3 × 3 grid, drawn from the table of all 512 states, in the layout of the published files."""
    rng = np.random.default_rng(3)
    edges = np.array([(i, j) for i in range(9) for j in (i + 1, i + 3) if j < 9 and (j == i + 3 or j % 3)])
    couplings, fields = rng.normal(0, 1, len(edges)), rng.normal(0, 0.1, 9)
    states = 2 * (np.arange(512)[:, None] >> np.arange(9) & 1) - 1
    scores = (states[:, edges[:, 0]] * states[:, edges[:, 1]]) @ couplings + states @ fields
    log_z = np.log(np.exp(scores).sum())
    arrays: dict[str, np.ndarray] = {"edges": edges, "h": fields, "logZ": log_z}
    for name, count in (("train", 4000), ("valid", 50), ("test", 1000)):
        drawn = rng.choice(512, count, p=np.exp(scores - log_z))
        arrays |= {name: states[drawn].astype(np.int8), f"logp_{name}": (scores[drawn] - log_z).astype(np.float32)}
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("published", [False, *(True for _ in DATA.glob("ising_grid5_std0.1.npz"))])
def test_exact_learning_on_the_samples_of_a_file(tmp_path: Path, published: bool) -> None:
    """The published samples too, where they lie beside the checkout."""
    data = f"ising:{DATA / 'ising_grid5_std0.1.npz' if published else samples_file(tmp_path / 'samples.npz')}"
    out = tmp_path / "m.safetensors"
    options: dict[str, Any] = {"algorithm": "exact", "batch_size": 1000, "epochs": 40, "learning_rate": 0.1}
    train_command("ising", "likelihood", data, out, graph="grid", keep="last", **options)
    from mrfstudio.engine.tasks.evaluate import evaluate_model

    found = evaluate_model(out, data)
    assert found["nll"] == pytest.approx(found["true_nll"], abs=0.01)
