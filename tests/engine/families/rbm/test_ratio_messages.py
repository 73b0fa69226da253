"""Messages as ratios: the same answers as the kernels in log-odds, iteration by iteration."""

from __future__ import annotations

import pytest
import torch

from mrfstudio.engine.families.crbm.decoding import decoded
from mrfstudio.engine.families.crbm.model import CRBM
from mrfstudio.engine.families.rbm import ratio_messages
from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.families.rbm.ratio_messages import LARGEST_COUPLING, answers
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.ratios import MOST_TERMS, log_of_products, terms_of
from mrfstudio.engine.inference.run import Limits, run

ALGORITHMS: list[Algorithm] = [MeanField(), *(MatrixBP(product=name) for name in ("sum", "max", "mixed"))]


def conditional(scale: float = 1.0, dtype: torch.dtype = torch.float64) -> tuple[CRBM, torch.Tensor]:
    """A machine with layers of odd sizes, and features of five items."""
    model = CRBM(7, 4, 5, dtype=dtype)
    generator = torch.Generator().manual_seed(2)
    for name in ("couplings", "hidden_bias", "visible_bias", "hidden_features", "visible_features"):
        getattr(model, name).normal_(generator=generator).mul_(scale)
    return model, torch.rand(5, 4, generator=generator, dtype=dtype).round()


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=["mean-field", "sum", "max", "mixed"])
@pytest.mark.parametrize("at_once", [1, 2 * 35, 1000])
def test_ratios_are_the_kernels_messages(algorithm: Algorithm, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratio_messages, "PAIRS_AT_ONCE", at_once)
    model, features = conditional(2.0)
    machine, evidence = model.machine(features)
    before = None
    for iterations in (1, 2, 3, 6):
        found = answers(algorithm, model.couplings, *model.biases(features), iterations)
        assert found is not None
        state = run(algorithm, machine, evidence, Limits(iterations=iterations, tolerance=0.0)).state
        visible = algorithm.beliefs(machine, evidence, state)[..., 1]
        assert torch.allclose(torch.sigmoid(found.visible), visible, atol=1e-12)
        assert torch.allclose(
            torch.sigmoid(found.hidden), algorithm.hidden_beliefs(machine, evidence, state), atol=1e-12
        )
        if found.pairs is not None:
            (tables,) = algorithm.factor_beliefs(machine, evidence, state)
            assert torch.allclose(found.pairs, tables[:, 1, 1].mean(0).t(), atol=1e-12)
        if iterations in (2, 3):
            assert before is not None
            assert torch.allclose(found.change, (visible - before).abs().amax(1), atol=1e-12)
        before = visible
    assert (found.pairs is None) == (getattr(algorithm, "product", "sum") != "sum")


@pytest.mark.parametrize("product", ["sum", "mixed", "max"])
def test_strong_couplings_and_biases_stay_finite_in_single_precision(product: str) -> None:
    model, features = conditional(3.0, torch.float32)
    with torch.no_grad():
        model.couplings.clamp_(-1, 1).mul_(LARGEST_COUPLING)
        model.hidden_bias.mul_(100)
        model.visible_bias.mul_(100)
    found = answers(MatrixBP(product=product), model.couplings, *model.biases(features), 20)
    assert found is not None
    for tensor in (found.visible, found.hidden, found.change, found.pairs):
        assert tensor is None or bool(torch.isfinite(tensor).all())


@pytest.mark.parametrize("product", ["sum", "mixed"])
def test_single_precision_holds_the_strongest_couplings(product: str) -> None:
    """The second form of the messages subtracts: up to the largest coupling that costs less than what matters."""
    exact, features = conditional(2.0)
    with torch.no_grad():
        exact.couplings.clamp_(-1, 1).mul_(LARGEST_COUPLING)
    rounded, _ = conditional(2.0, torch.float32)
    rounded.load_tensors(exact.tensors())
    right, found = (
        answers(MatrixBP(product=product), model.couplings, *model.biases(features.to(model.dtype)), 5)
        for model in (exact, rounded)
    )
    assert right is not None
    assert found is not None
    assert torch.allclose(torch.sigmoid(found.visible).double(), torch.sigmoid(right.visible), atol=1e-4)
    if product == "sum":
        assert found.pairs is not None
        assert right.pairs is not None
        assert torch.allclose(found.pairs.double(), right.pairs, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 6, 7, 12, 13])
def test_products_of_some_terms_have_the_logarithm_of_all(size: int) -> None:
    ratios = torch.rand(2, size, 3, dtype=torch.float64) + 0.1
    for terms in (1, 2, 3, 5, 20):
        assert torch.allclose(log_of_products(ratios, 1, terms), ratios.log().sum(1))
        assert torch.allclose(log_of_products(ratios.transpose(1, 2), 2, terms), ratios.log().sum(1))
    assert terms_of(100.0) == 1
    assert terms_of(1.0) == 80
    assert terms_of(0.0) == MOST_TERMS


def test_what_ratios_cannot_hold_is_left_to_the_log_odds() -> None:
    model, features = conditional()
    biases = model.biases(features)
    assert answers(MatrixBP(damping=0.1), model.couplings, *biases, 2) is None
    assert answers(MatrixBP(schedule="parallel"), model.couplings, *biases, 2) is None
    assert answers(MeanField(damping=0.1), model.couplings, *biases, 2) is None
    with torch.no_grad():
        model.couplings[0, 0] = 2 * LARGEST_COUPLING
    assert answers(MatrixBP(), model.couplings, *biases, 2) is None
    slow = decoded(model, features, decoder="sum", iterations=3)
    assert bool(torch.isfinite(slow.visible).all())
    assert slow.change.shape == (5,)


@pytest.mark.parametrize("product", ["sum", "mixed", "max"])
def test_large_machines_stop_where_an_item_has_converged(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item for itself: beside others it gets the answer that it gets alone, after fewer iterations."""
    monkeypatch.setattr(ratio_messages, "WORTH_STOPPING", 1)
    model, features = conditional(0.5)
    algorithm, couplings = MatrixBP(product=product), model.couplings
    hidden, visible = model.biases(features)
    together = answers(algorithm, couplings, hidden, visible, 500, 1e-3)
    settled = answers(algorithm, couplings, hidden, visible, 500)
    assert together is not None
    assert settled is not None
    assert bool((together.change <= 1e-3).all())
    assert not torch.equal(together.visible, settled.visible) or product != "sum"
    assert torch.allclose(torch.sigmoid(together.visible), torch.sigmoid(settled.visible), atol=0.01)
    for item in range(5):
        part = slice(item, item + 1)
        own = answers(algorithm, couplings, hidden[part], visible[part], 500, 1e-3)
        assert own is not None
        assert torch.equal(own.visible, together.visible[part])


def test_a_logistic_regression_is_a_start_for_a_model_with_hidden_units() -> None:
    model, features = conditional()
    plain = CRBM(7, 4, 0, dtype=torch.float64)
    plain.visible_features.fill_(0.3)
    before = model.couplings.clone()
    model.load_tensors(plain.tensors())
    assert torch.equal(model.couplings, before)
    assert torch.equal(model.visible_features, plain.visible_features)
    model.couplings.zero_()
    answer, expected = decoded(model, features), decoded(plain, features)
    assert torch.allclose(answer.visible, expected.visible)
