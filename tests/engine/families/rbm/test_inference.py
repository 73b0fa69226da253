"""Belief propagation and sampling on Boltzmann machines against factor graph and enumeration."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.transfer import Transfer, transfer
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.inference.samplers.gibbs import Gibbs
from tests.engine.helpers.boltzmann import all_states, enumerated, random_machine, unit_beliefs

TIGHT = Limits(iterations=200, tolerance=1e-12)


def some_evidence(model: RBM, seed: int = 0, *, batch: tuple[int, ...] = (), hidden: bool = True) -> Evidence:
    """About half of the visible units observed, one softly, one hidden unit clamped."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(0, 2, (*batch, model.visible), generator=generator).double()
    known = torch.rand(*batch, model.visible, generator=generator) < 0.5
    values[..., 1], known[..., 1] = 0.3, True
    odds = torch.zeros(*batch, model.hidden)
    odds[..., 0] = torch.inf
    return model.observe(values, known, hidden=odds if hidden else None)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("weight", [0.0, 1e-6, 0.7, -3.0, 15.0, -40.0])
def test_transfer_forms_agree_with_the_definition(weight: float, temperature: float) -> None:
    x = torch.linspace(-50, 50, 41, dtype=torch.float64)
    w = torch.tensor(weight, dtype=torch.float64).expand_as(x)
    found = transfer(x, w, temperature)
    if temperature == 0:
        expected = torch.maximum(x + w, torch.zeros_like(x)) - torch.maximum(x, w)
    else:
        t = temperature
        zero = torch.zeros_like(x)
        expected = t * (torch.logaddexp(zero, (x + w) / t) - torch.logaddexp(w / t, x / t))
        assert torch.allclose(t * Transfer(w / t)(x / t), expected, atol=1e-12)
        assert (found - transfer(x, w, 0.0)).abs().max() <= t * torch.log(torch.tensor(2.0)) + 1e-12
    assert torch.allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("scale", [0.5, 30.0])
def test_slopes_of_the_transfer_function(scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    x, w = (scale * torch.randn(50, generator=generator, dtype=torch.float64) for _ in range(2))
    w[:3] = 0  # where the derivative of the printed form is wrong
    by_x, by_w = Transfer(w).slopes(Transfer(w).keep(x, None)[1])
    step = 1e-6
    assert torch.allclose(by_x, (transfer(x + step, w, 1.0) - transfer(x - step, w, 1.0)) / (2 * step), atol=1e-8)
    assert torch.allclose(by_w, (transfer(x, w + step, 1.0) - transfer(x, w - step, 1.0)) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("units", [1, 2, 61])
def test_messages_as_ratios_add_up_like_their_logarithms(units: int) -> None:
    """Single precision: a product of all ratios would leave its range, at weights of ±9."""
    generator = torch.Generator().manual_seed(units)
    w = 9.0 * torch.sign(torch.randn(3, units, 4, generator=generator) + 1)
    total, heard = 100 * torch.randn(3, units, 1, generator=generator), torch.randn(w.shape, generator=generator)
    over = Transfer(w)
    for axis in (1, 2):
        found, _ = over.keep(total, heard.exp())
        expected = transfer(total - heard, w, 1.0).sum(axis)
        assert torch.allclose(over.log_total(found, axis), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("second", [0, 3])
@pytest.mark.parametrize(("temperature", "learned"), [(1.0, 1.0), (0.0, 1.0), (0.7, 2.0)])
def test_beliefs_equal_the_factor_graph_after_every_iteration(second: int, temperature: float, learned: float) -> None:
    model = random_machine(1, 5, 4, second)
    model.log_temperature.fill_(torch.log(torch.tensor(learned)))
    for given in (model.no_evidence(), some_evidence(model), some_evidence(model, 3, batch=(2, 3))):
        for damping in (0.0, 0.3):
            fast = BeliefPropagation(temperature=temperature, damping=damping)
            slow = fast.replace(kernel="generic")
            a, b = fast.init(model, given), slow.init(model, given)
            for _ in range(6):
                assert torch.allclose(
                    unit_beliefs(fast, model, given, a), unit_beliefs(slow, model, given, b), atol=1e-9
                )
                a, b = fast.step(model, given, a), slow.step(model, given, b)
            # The graph also counts messages to observed units, which nobody listens to.
            assert float(a.residual) <= float(b.residual) + 1e-9
            if not given.log_potentials.any():
                assert float(a.residual) == pytest.approx(float(b.residual), abs=1e-9)


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
def test_tree_shaped_machines_are_exact(schedule: str) -> None:
    model = random_machine(2, 4, 3)
    path = torch.zeros_like(model.weights)
    for h, v in ((0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)):
        path[h, v] = 1
    model.weights.mul_(path)
    soft = some_evidence(model, hidden=False)
    for given in (model.no_evidence(), soft, some_evidence(model)):
        algorithm = BeliefPropagation(schedule=schedule)
        outcome = run(algorithm, model, given, TIGHT)
        log_z, marginals = enumerated(model, given)
        assert outcome.converged
        assert torch.allclose(unit_beliefs(algorithm, model, given, outcome.state), marginals, atol=1e-9)
        assert algorithm.log_partition(model, given, outcome.state).value == pytest.approx(log_z, abs=1e-8)


def test_bethe_free_energy_equals_the_factor_graphs() -> None:
    model = random_machine(3, 5, 4, 2)
    for given in (model.no_evidence(), some_evidence(model)):
        fast, slow = BeliefPropagation(), BeliefPropagation(kernel="generic")
        a, b = fast.init(model, given), slow.init(model, given)
        for _ in range(4):
            a, b = fast.step(model, given, a), slow.step(model, given, b)
        found, expected = fast.log_partition(model, given, a), slow.log_partition(model, given, b)
        assert found.value == pytest.approx(expected.value, abs=1e-8)
        assert found.kind == "estimate"


def test_pairwise_beliefs_equal_the_factor_graphs() -> None:
    model = random_machine(4, 4, 3)
    given = some_evidence(model)
    algorithm = BeliefPropagation()
    graph, packed = model.as_graph(given)
    state, twin = algorithm.init(model, given), algorithm.init(graph, packed)
    for _ in range(5):
        state, twin = algorithm.step(model, given, state), algorithm.step(graph, packed, twin)
    (found,) = algorithm.factor_beliefs(model, given, state)
    (expected,) = algorithm.factor_beliefs(graph, packed, twin)
    assert torch.allclose(found.flatten(-2), expected, atol=1e-9)
    assert torch.allclose(found.sum((0, 1)), torch.ones(4, 3).double())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_huge_weights_stay_finite_in_single_precision(temperature: float) -> None:
    model = random_machine(5, 30, 20, scale=1000.0).to(torch.float32)
    given = some_evidence(model)
    algorithm = BeliefPropagation(temperature=temperature)
    exact = model.to(torch.float64)
    state, twin = algorithm.init(model, given), algorithm.init(exact, given)
    for _ in range(10):
        state, twin = algorithm.step(model, given, state), algorithm.step(exact, given, twin)
        found: Tensor = unit_beliefs(algorithm, model, given, state)
        assert torch.isfinite(found).all()
        assert torch.isfinite(state.to_hidden).all()
    assert torch.allclose(found.double(), unit_beliefs(algorithm, exact, given, twin), atol=1e-3)


def test_an_edit_keeps_the_messages_of_units_that_stay_unknown() -> None:
    model = random_machine(6, 6, 4)
    algorithm = BeliefPropagation()
    values = torch.ones(6)
    before = model.observe(values, torch.tensor([True, True, False, False, False, False]))
    after = model.observe(values, torch.tensor([True, False, True, False, False, False]))
    outcome = run(algorithm, model, before, TIGHT)
    again = run(algorithm, model, after, TIGHT, start=outcome.state)
    fresh = run(algorithm, model, after, TIGHT)
    assert torch.allclose(
        unit_beliefs(algorithm, model, after, again.state),
        unit_beliefs(algorithm, model, after, fresh.state),
        atol=1e-9,
    )
    assert (unit_beliefs(algorithm, model, after, outcome.state)[[0, 2]] == 1).all()


def test_everything_observed_leaves_the_hidden_conditionals() -> None:
    model = random_machine(7, 5, 4)
    values = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0], dtype=torch.float64)
    given = model.observe(values, torch.ones(5, dtype=torch.bool))
    algorithm = BeliefPropagation()
    outcome = run(algorithm, model, given, TIGHT)
    found = unit_beliefs(algorithm, model, given, outcome.state)
    assert torch.equal(found[:5], values)
    assert torch.allclose(found[5:], torch.sigmoid(model.hidden_logits(values)))
    assert algorithm.log_partition(model, given, outcome.state).value == pytest.approx(
        -float(model.free_energy(values))
    )


@pytest.mark.parametrize("schedule", ["alternating", "parallel"])
def test_matrix_bp_has_the_fixed_point_of_bp(schedule: str) -> None:
    model = random_machine(8, 5, 4, 2, scale=0.6)
    for given in (model.no_evidence(), some_evidence(model), some_evidence(model, 2, batch=(3,))):
        plain, matrix = BeliefPropagation(), MatrixBP(schedule=schedule)
        a, b = run(plain, model, given, TIGHT), run(matrix, model, given, TIGHT)
        assert a.converged
        assert b.converged
        assert torch.allclose(
            unit_beliefs(plain, model, given, a.state), unit_beliefs(matrix, model, given, b.state), atol=1e-9
        )
        (first,), (second,) = plain.factor_beliefs(model, given, a.state), matrix.factor_beliefs(model, given, b.state)
        assert torch.allclose(first, second, atol=1e-9)


def test_matrix_bp_steps_like_the_printed_algorithm() -> None:
    """The published update in probabilities, at weights where it is still finite, half-step by half-step."""
    model = random_machine(9, 4, 3)
    couplings, a, d = model.binary_form()
    weights = torch.exp(couplings.t())  # (V, H)
    to_v, to_h = torch.full((4, 3), 0.5).double(), torch.full((3, 4), 0.5).double()
    tau_h = torch.sigmoid(a)
    algorithm, given = MatrixBP(), model.no_evidence()
    state = algorithm.init(model, given)
    for _ in range(4):
        one, two = (1 - to_h).t() * tau_h, to_h.t() * (1 - tau_h)
        to_v = torch.sigmoid(torch.log((weights * one + two) / (one + two)))
        tau_v = torch.sigmoid(d + torch.logit(to_v).sum(1))
        one, two = (1 - to_v).t() * tau_v, to_v.t() * (1 - tau_v)
        to_h = torch.sigmoid(torch.log((weights.t() * one + two) / (one + two)))
        tau_h = torch.sigmoid(a + torch.logit(to_h).sum(1))
        state = algorithm.step(model, given, state)
        assert torch.allclose(unit_beliefs(algorithm, model, given, state), torch.cat([tau_v, tau_h]), atol=1e-9)


@pytest.mark.parametrize("product", ["max", "mixed"])
def test_max_and_mixed_product_find_the_best_state_of_a_tree(product: str) -> None:
    found_one = False
    for seed in range(6):
        model = random_machine(seed, 3, 3)
        model.weights.mul_(torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]))
        states = all_states(6)
        score = -model.energy(states[:, :3], states[:, 3:]).reshape(8, 8)
        algorithm, given = MatrixBP(product=product), model.no_evidence()
        outcome = run(algorithm, model, given, Limits(iterations=50, tolerance=1e-9))
        decoded = unit_beliefs(algorithm, model, given, outcome.state) > 0.5
        if product == "max":
            assert outcome.converged
            assert torch.equal(decoded, states[score.reshape(-1).argmax()].bool())
            continue
        # Mixed messages stop at a state that no single visible unit would leave; here it is mostly the best one.
        best = torch.logsumexp(score, 1).argmax()
        found_one = found_one or bool(torch.equal(decoded[:3], all_states(3)[best].bool()))
    assert product == "max" or found_one


def test_mixed_product_marginalises_hidden_units_exactly_where_visible_ones_are_decided() -> None:
    model = random_machine(10, 4, 3)
    model.outer_bias.copy_(torch.tensor([40.0, -40.0, 40.0, 40.0]))
    algorithm, given = MatrixBP(product="mixed"), model.no_evidence()
    outcome = run(algorithm, model, given, TIGHT)
    beliefs = unit_beliefs(algorithm, model, given, outcome.state)
    expected = torch.sigmoid(model.hidden_logits(torch.tensor([1.0, 0.0, 1.0, 1.0]).double()))
    assert torch.allclose(beliefs[4:], expected)


@pytest.mark.parametrize("product", ["sum", "max", "mixed"])
def test_matrix_bp_is_finite_at_huge_weights(product: str) -> None:
    model = random_machine(11, 20, 10, scale=1000.0).to(torch.float32)
    algorithm, given = MatrixBP(product=product), some_evidence(model)
    state = algorithm.init(model, given)
    for _ in range(10):
        state = algorithm.step(model, given, state)
    assert torch.isfinite(unit_beliefs(algorithm, model, given, state)).all()
    assert torch.isfinite(state.to_outer).all()


def test_matrix_bp_refuses_other_models_and_names_bp() -> None:
    assert "use bp" in (MatrixBP().supports(random_machine(0, 2, 2).to_factor_graph()) or "")


@pytest.mark.parametrize("second", [0, 2])
def test_blocked_gibbs_agrees_with_enumeration(second: int) -> None:
    model = random_machine(12, 4, 3, second, scale=0.8)
    for given in (model.no_evidence(), some_evidence(model)):
        algorithm = Gibbs(chains=2000, burn_in=30)
        outcome = run(algorithm, model, given, Limits(iterations=90, tolerance=0.0))
        found = unit_beliefs(algorithm, model, given, outcome.state)
        _, exact = enumerated(model, given)
        assert (found - exact).abs().max() < 5 * float(outcome.state.residual) + 1e-4
        assert float(outcome.state.residual) < 0.01
        observed = given.log_potentials.isneginf().any(1)
        assert torch.equal(found[observed], exact[observed].round())


def test_blocked_gibbs_repeats_with_its_seed_and_falls_back_for_metropolis() -> None:
    model = random_machine(13, 4, 3)
    given = some_evidence(model)
    runs = [run(Gibbs(chains=8, seed=s), model, given, Limits(iterations=5)).state.chains for s in (1, 1, 2)]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])
    slow = Gibbs(chains=300, burn_in=20, sampler="metropolis")
    outcome = run(slow, model, given, Limits(iterations=120, tolerance=0.0))
    found = unit_beliefs(slow, model, given, outcome.state)
    assert (found - enumerated(model, given)[1]).abs().max() < 5 * float(outcome.state.residual) + 1e-3
