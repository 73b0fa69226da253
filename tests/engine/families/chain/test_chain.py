"""Chains of hidden states against enumeration, messages on their lattice, and each other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.chain.density import ChainDensity
from mrfstudio.engine.families.chain.lattice import lattice, packed, unpacked
from mrfstudio.engine.families.chain.model import Chain, ChainError, ChainPlan
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.many import answers
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.em import ExpectationMaximisation
from mrfstudio.engine.training.learners.likelihood import Likelihood

WORDS = torch.tensor([[0, 1, 2, 0, 3], [2, 2, 1, -1, -1], [3, -1, -1, -1, -1]])
LENGTHS = torch.tensor([5, 3, 1])
CONTEXT = BatchContext(seed=0, step=0, epoch=0, batch_size=3, rows=slice(0, 3))
SHAPES = [
    (order, form, scores)
    for order in (1, 2, 3)
    for form in ("directed", "undirected")
    for scores in ("tables", "network")
]


def chain(order: int = 1, form: str = "directed", scores: str = "tables", **more: Any) -> Chain:
    data = TrainingData(TensorSource(x=WORDS.clamp_min(0), lengths=LENGTHS), constants={"symbols": list("abcd")})
    plan = ChainPlan(start="noise", states=3, order=order, form=form, scores=scores, width=6, start_noise=2.0, **more)
    model = plan.build_for(data, 1)
    if scores == "tables":
        with torch.no_grad():
            model.tensors()["transitions"].mul_(5)
    return model


def joint(model: Chain, states: tuple[int, ...], words: list[int] | None) -> torch.Tensor:
    """log of the unnormalised probability of one path, from the printed definition."""
    total = torch.zeros((), dtype=torch.float64)
    scores = model.transitions()
    for t, state in enumerate(states):
        if model.directed:
            before = [states[t - d] if t - d >= 0 else model.states for d in range(model.order, 0, -1)]
            total = total + scores[(*before, state)]
        else:
            for d in range(1, min(model.order, t) + 1):
                total = total + model.pairs()[d - 1, states[t - d], state]
        if words is not None:
            total = total + model.words()[state, words[t]]
    return total


def enumerated(model: Chain, words: list[int]) -> torch.Tensor:
    paths = list(itertools.product(range(model.states), repeat=len(words)))
    clamped = torch.logsumexp(torch.stack([joint(model, path, words) for path in paths]), 0)
    return clamped - torch.logsumexp(torch.stack([joint(model, path, None) for path in paths]), 0)


@pytest.mark.parametrize(("order", "form", "scores"), SHAPES)
def test_the_recursion_sums_over_all_paths(order: int, form: str, scores: str) -> None:
    model = chain(order, form, scores)
    with torch.no_grad():
        found = model.log_likelihood(WORDS, LENGTHS)
        for row, length, value in zip(WORDS, LENGTHS, found, strict=True):
            assert value.item() == pytest.approx(enumerated(model, row[: int(length)].tolist()).item(), abs=1e-10)


@pytest.mark.parametrize(("order", "form"), [(1, "directed"), (2, "undirected"), (3, "directed"), (3, "undirected")])
def test_posteriors_are_those_of_enumeration(order: int, form: str) -> None:
    model = chain(order, form)
    words = [0, 1, 2, 0, 3]
    paths = list(itertools.product(range(3), repeat=5))
    with torch.no_grad():
        weights = torch.softmax(torch.stack([joint(model, path, words) for path in paths]), 0)
        expected = torch.zeros(5, 3, dtype=torch.float64)
        for path, weight in zip(paths, weights, strict=True):
            for t, state in enumerate(path):
                expected[t, state] += weight
        found = model.posteriors(model.emissions(WORDS), LENGTHS)
    assert torch.allclose(found[0], expected, atol=1e-10)
    assert torch.allclose(found.sum(-1), (torch.arange(5) < LENGTHS[:, None]).double())


@pytest.mark.parametrize(("order", "form"), [(order, form) for order, form, scores in SHAPES if scores == "tables"])
def test_exact_inference_on_the_lattice_is_the_recursion(order: int, form: str) -> None:
    model = chain(order, form)
    with torch.no_grad():
        graph, emissions = lattice(model, 5), model.emissions(WORDS[:1])
        found = answers(Exact(), graph, packed(graph, emissions), Limits(iterations=1))
        assert found.log_z.item() == pytest.approx(model.log_clamped(WORDS[:1], LENGTHS[:1]).item(), abs=1e-10)
        expected = model.posteriors(emissions, LENGTHS[:1])
    assert torch.allclose(unpacked(graph, found.beliefs, 3), expected, atol=1e-10)


def test_messages_are_exact_at_first_order_and_near_at_third() -> None:
    for order, bound in ((1, 1e-10), (3, 0.2)):
        model = chain(order, "undirected")
        with torch.no_grad():
            graph = lattice(model, 5)
            found = answers(
                BeliefPropagation(),
                graph,
                packed(graph, model.emissions(WORDS[:1])),
                Limits(iterations=200, tolerance=1e-13),
            )
            expected = model.posteriors(model.emissions(WORDS[:1]), LENGTHS[:1])
        gap = float((unpacked(graph, found.beliefs, 3) - expected).abs().max())
        assert gap < bound
        assert order == 1 or gap > 1e-6  # loops: the bound above could not fail otherwise


@pytest.mark.parametrize(
    ("order", "form", "scores"), [(1, "directed", "tables"), (2, "undirected", "tables"), (3, "directed", "network")]
)
@pytest.mark.parametrize("learner", [Likelihood, ExpectationMaximisation])
def test_learners_follow_the_gradient_of_the_likelihood(
    learner: type[Likelihood], order: int, form: str, scores: str
) -> None:
    model = chain(order, form, scores)
    batch = {"x": WORDS, "lengths": LENGTHS}
    (-model.log_likelihood(WORDS, LENGTHS).mean()).backward()
    truth = {name: tensor.grad.clone() for name, tensor in model.tensors().items() if tensor.grad is not None}
    for algorithm in ("exact", "bp") if order == 1 else ("exact",):
        for tensor in model.tensors().values():
            tensor.grad = None
        chosen = learner(algorithm=algorithm, iterations=50, tolerance=1e-13)
        state = chosen.start(model, TrainingData(TensorSource(**batch)), 0)
        result = chosen.batch(model, batch, state, CONTEXT)
        assert result.loss == pytest.approx(-model.log_likelihood(WORDS, LENGTHS).mean().item(), abs=1e-9)
        for name, gradient in truth.items():
            own = model.tensors()[name].grad
            assert own is not None
            assert torch.allclose(own, gradient, atol=1e-9), (algorithm, name)


def test_loopy_learning_points_where_exact_learning_does() -> None:
    model, batch = chain(3, "undirected"), {"x": WORDS, "lengths": LENGTHS}
    found = []
    for algorithm in ("exact", "bp"):
        for tensor in model.tensors().values():
            tensor.grad = None
        Likelihood(algorithm=algorithm, iterations=100).batch(model, batch, {}, CONTEXT)
        found.append(
            torch.cat([tensor.grad.flatten() for tensor in model.tensors().values() if tensor.grad is not None])
        )
    assert float(found[0] @ found[1]) > 0.95 * float(found[0].norm() * found[1].norm())


@pytest.mark.parametrize(
    ("emission", "more"), [("gaussian", {}), ("gaussian", {"covariance": "full"}), ("flow", {"flows": 2})]
)
def test_vectors_have_the_likelihood_of_enumeration(emission: str, more: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(0)
    frames = torch.randn(2, 4, 3, generator=generator)
    frames[1, 3:] = torch.nan
    lengths = torch.tensor([4, 3])
    data = TrainingData(TensorSource(x=frames, lengths=lengths))
    model = ChainPlan(states=2, emission=emission, topology="left-right", **more).build_for(data, 0)
    with torch.no_grad():
        for tensor in model.tensors().values():
            tensor.add_(0.2 * torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype))
        emissions, scores = model.emissions(frames), model.transitions()
        found = model.log_likelihood(frames, lengths)
        for row in range(2):
            total = []
            for path in itertools.product(range(2), repeat=int(lengths[row])):
                before = [2, *path[:-1]]
                total.append(
                    sum(scores[b, z] + emissions[row, t, z] for t, (b, z) in enumerate(zip(before, path, strict=True)))
                )
            assert found[row].item() == pytest.approx(torch.logsumexp(torch.stack(total), 0).item(), abs=1e-10)  # type: ignore[arg-type]
    if "covariance" in more:
        triangle = np.tril(model.tensors()["lower"][0].detach().numpy(), -1) + np.diag(
            np.exp(model.tensors()["log_scale"][0].detach().numpy())
        )
        away = frames[0, 0].double().numpy() - model.tensors()["means"][0].detach().numpy()
        cov = triangle @ triangle.T
        expected = -0.5 * (away @ np.linalg.solve(cov, away) + 3 * np.log(2 * np.pi) + np.linalg.slogdet(cov)[1])
        assert emissions[0, 0, 0].item() == pytest.approx(expected, abs=1e-10)


def test_noise_on_the_input_is_for_training_alone() -> None:
    data = TrainingData(TensorSource(x=torch.randn(4, 5, 2)))
    model = ChainPlan(states=2, emission="flow", input_noise=0.5).build_for(data, 0)
    seen = ChainDensity(model, {"x": torch.zeros(3, 5, 2)})
    again = seen.disturbed(CONTEXT).visible
    assert 0.3 < float(again.std()) < 0.7
    assert torch.equal(again, seen.disturbed(CONTEXT).visible)
    assert ChainPlan.restore(model.hyperparameters()).settings["input_noise"] == 0.5


def test_a_chain_is_restored_with_its_numbers() -> None:
    model = chain(2, "undirected", "network")
    other = ChainPlan.restore(model.hyperparameters())
    other.load_tensors(model.tensors())
    assert torch.equal(other.log_likelihood(WORDS, LENGTHS), model.log_likelihood(WORDS, LENGTHS))
    assert other.symbols == ("a", "b", "c", "d")


def test_words_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ChainError, match="knows 4"):
        ChainDensity(chain(), {"x": torch.tensor([[9]])})
    with pytest.raises(ChainError, match="order 1"):
        chain(2, topology="left-right")
    assert isinstance(Likelihood(algorithm="gibbs").supports(chain()), str)
