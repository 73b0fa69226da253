"""Hidden variables in a trainable graph: clamped and free beliefs, against enumeration; EM and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.graph.model import FieldError, TiedGraph, numbers_in, tied
from mrfstudio.engine.families.ising.model import Ising, IsingField
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.training.density import density_of
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.cd import ContrastiveDivergence
from mrfstudio.engine.training.learners.em import ExpectationMaximisation
from mrfstudio.engine.training.learners.likelihood import Likelihood
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.densities import everything, gradients
from tests.engine.helpers.graphs import random_factors

CONTEXT = BatchContext(seed=0, step=0, epoch=0, batch_size=6, rows=slice(0, 6))


def mixed(hidden: tuple[int, ...] = (1, 3), zeros: float = 0.1) -> TiedGraph:
    cards, factors = random_factors(0, variables=5, factors=6, zeros=zeros, strength=0.6)
    return tied(FactorGraph.from_factors(cards, factors), hidden=hidden)


def tree() -> TiedGraph:
    """A chain of five variables, the middle ones hidden: messages are exact on it."""
    generator = np.random.default_rng(3)
    factors = [((v, v + 1), generator.normal(size=(3, 3))) for v in range(4)]
    return tied(FactorGraph.from_factors([3] * 5, factors), hidden=(1, 2))


def loss_by_enumeration(model: TiedGraph, seen: torch.Tensor) -> torch.Tensor:
    """-log p of the visible states, a mean, differentiable."""
    states = everything(model.structure.cardinalities.tolist())
    scores = model.scores(states)
    possible = torch.isfinite(scores)
    states, scores = states[possible], scores[possible]
    own = states[:, list(model.visible)]
    items = [torch.logsumexp(scores[(own == row).all(1)], 0) for row in seen]
    return torch.logsumexp(scores, 0) - torch.stack(items).mean()


def batch_of(model: TiedGraph, count: int = 6) -> torch.Tensor:
    states = everything(model.structure.cardinalities.tolist())
    possible = states[torch.isfinite(model.scores(states))]
    generator = torch.Generator().manual_seed(5)
    return possible[torch.randint(len(possible), (count,), generator=generator)][:, list(model.visible)]


@pytest.mark.parametrize(("make", "algorithm"), [(mixed, "exact"), (tree, "exact"), (tree, "bp")])
@pytest.mark.parametrize("learner", [Likelihood, ExpectationMaximisation])
def test_loss_and_gradient_are_those_of_the_likelihood(make, algorithm: str, learner: type[Likelihood]) -> None:  # type: ignore[no-untyped-def]
    model = make()
    seen = batch_of(model)
    expected = loss_by_enumeration(model, seen)
    expected.backward()
    (truth,) = gradients(model)
    chosen = learner(algorithm=algorithm, iterations=20, tolerance=1e-12)
    result = chosen.batch(model, {"x": seen}, chosen.start(model, TrainingData(TensorSource(x=seen)), 0), CONTEXT)
    (found,) = gradients(model)
    assert result.loss == pytest.approx(expected.item(), abs=1e-9)
    assert torch.allclose(found, truth, atol=1e-9)
    assert float(truth.abs().max()) > 0.01


def test_loopy_beliefs_are_near_and_take_the_whole_batch_at_once() -> None:
    model = mixed(zeros=0.0)
    seen = batch_of(model, 6)
    loss_by_enumeration(model, seen).backward()
    (truth,) = gradients(model)
    result = Likelihood(algorithm="bp", iterations=200).batch(model, {"x": seen}, {}, CONTEXT)
    (found,) = gradients(model)
    assert result.scalars["converged"] == 1.0
    assert 0 < float((found - truth).abs().max()) < 0.05


def test_held_answers_climb_a_bound_that_touches_the_likelihood() -> None:
    """A step of gradient EM on all data never lowers the likelihood while the bound rises."""
    model = tree()
    seen = batch_of(model, 30)
    learner = ExpectationMaximisation(
        algorithm="exact",
        held=5,
        batch_size=30,
        epochs=25.0,
        optimiser="sgd",
        learning_rate=0.3,
        beta1=0.0,
        clip_norm=0.0,
    )
    likelihood, bounds = [], []
    trainer = Trainer(model, learner, TrainingData(TensorSource(x=seen)))
    likelihood.append(loss_by_enumeration(model, seen).item())
    for record in trainer.run():
        if record.state == "running":
            bounds.append(record.loss)
            likelihood.append(loss_by_enumeration(model, seen).item())
    for step, bound in enumerate(bounds):
        gap = bound - likelihood[step]
        assert gap >= -1e-9
        assert step % 5 or gap == pytest.approx(0.0, abs=1e-9)
    assert max(bound - likelihood[step] for step, bound in enumerate(bounds)) > 1e-5
    assert likelihood[-1] < likelihood[0] - 0.05


def test_hidden_spins_learn_what_visible_ones_cannot() -> None:
    """An even number of +1 among three spins: no pairwise model of the three knows it, one with hidden spins does."""
    even = torch.tensor([[-1, -1, -1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]], dtype=torch.int8).repeat(10, 1)
    data = TrainingData(TensorSource(x=even))
    scores = []
    for hidden in (0, 3):
        model = Ising(graph="complete", hidden=hidden, start_noise=0.5).build_for(data, 0)
        learner = Likelihood(algorithm="exact", batch_size=40, epochs=400.0, learning_rate=0.1, clip_norm=0.0)
        list(Trainer(model, learner, data).run())
        scores.append(loss_by_enumeration(model, model.states_of(even)).item())
    assert scores[0] == pytest.approx(np.log(8), abs=1e-3)
    assert scores[1] < np.log(4) + 0.05


def test_a_model_with_hidden_variables_is_restored() -> None:
    model = IsingField([(0, 1), (1, 2)], 3, hidden=1)
    assert Ising.restore(model.hyperparameters()).hidden == (2,)
    graph = mixed()
    from mrfstudio.engine.families.graph.model import FactorGraphField

    assert FactorGraphField.restore(graph.hyperparameters()).hidden == (1, 3)


def test_learners_that_do_not_sum_say_who_does() -> None:
    refusal = ContrastiveDivergence().supports(mixed())
    assert refusal is not None
    assert refusal.endswith("use likelihood or em.")
    assert Likelihood().supports(mixed()) is None


def test_a_sampler_is_refused_with_what_sums_over_hidden_variables() -> None:
    assert (Likelihood(algorithm="gibbs").supports(mixed()) or "").endswith("use exact or bp.")
    assert "pcd" in (Likelihood(algorithm="gibbs").supports(mixed(hidden=())) or "")


def test_nonsense_is_refused_in_a_sentence() -> None:
    with pytest.raises(FieldError, match="at least one"):
        mixed(hidden=(0, 1, 2, 3, 4))
    with pytest.raises(FieldError, match="0 to 4"):
        mixed(hidden=(7,))
    with pytest.raises(FieldError, match="such as 4,5"):
        numbers_in("two")
    assert numbers_in("1,3-5") == [1, 3, 4, 5]
    with pytest.raises(FieldError, match="3 visible variables"):
        density_of(mixed(), {"x": torch.zeros(2, 5, dtype=torch.int64)})
