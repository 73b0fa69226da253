"""Query training of Boltzmann machines: the unrolled answer, its gradient, and that it learns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.rbm import query as query_rbm
from mrfstudio.engine.families.rbm.bipartite import unknown_units, unrolled_log_odds
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.families.rbm.query import Scaled, binary_scores, parts, query_nats
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.transfer import transfer
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.query import Query
from mrfstudio.engine.training.queries import QueryError
from tests.engine.helpers.boltzmann import enumerated, random_machine


def some_problem(
    seed: int, scale: float, items: int = 3, outer: int = 4, hidden: int = 3
) -> tuple[Tensor, list[Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    draw = {"generator": generator, "dtype": torch.float64}
    columns = scale * torch.randn(outer + 1, hidden, **draw)
    columns[-1], columns[1, 1] = 0, 0  # padding; and where the printed transfer function has no derivative
    unit = unknown_units(torch.rand(items, outer, generator=generator) < 0.4)
    rest = [torch.randn(size, **draw) for size in (unit.shape, (hidden,), (items, hidden))]
    return unit, [tensor.requires_grad_() for tensor in (columns, *rest)]


@pytest.mark.parametrize("iterations", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_gradient_of_the_unrolled_answer(iterations: int, scale: float) -> None:
    unit, (columns, outer, hidden, field) = some_problem(iterations, scale)

    def answer(c: Tensor, o: Tensor, h: Tensor, f: Tensor) -> Tensor:
        return unrolled_log_odds(c, unit, o, h, f, iterations)

    assert torch.autograd.gradcheck(answer, (columns, outer, hidden, field), atol=1e-6)


def test_gradient_in_single_precision_at_full_size_equals_autograd() -> None:
    """Both in float32 and at size 64×50; autograd differentiates a smooth form of the transfer function."""
    generator = torch.Generator().manual_seed(0)
    columns = 0.3 * torch.randn(65, 50, generator=generator)
    columns[-1] = 0
    unit = unknown_units(torch.rand(40, 64, generator=generator) < 0.5)
    rest = [torch.randn(size, generator=generator) for size in (unit.shape, (50,), (40, 50))]
    found, expected = [], []
    for unroll, gradients in ((unrolled_log_odds, found), (_plain, expected)):
        leaves = [tensor.clone().requires_grad_() for tensor in (columns, *rest)]
        odds = unroll(leaves[0], unit, *leaves[1:], 10)
        loss = torch.nn.functional.softplus(odds).sum()
        gradients += [odds.detach(), *torch.autograd.grad(loss, leaves)]
    expected[1][-1] = found[1][-1] = 0  # nobody uses what the padding gets
    for mine, theirs in zip(found, expected, strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-3, atol=1e-4)


def _plain(columns: Tensor, unit: Tensor, outer: Tensor, hidden: Tensor, field: Tensor, iterations: int) -> Tensor:
    """All messages of both directions, left to autograd."""
    weights = columns[unit]
    to_hidden = to_outer = torch.zeros_like(weights)
    said = torch.zeros_like(field)

    def smooth(x: Tensor) -> Tensor:
        return torch.logaddexp(x + weights, torch.zeros(())) - torch.logaddexp(x, weights)

    for _ in range(iterations):
        h_total, o_total = hidden + said + to_hidden.sum(1), outer + to_outer.sum(2)
        to_outer, to_hidden = smooth(h_total[:, None] - to_hidden), smooth(o_total[:, :, None] - to_outer)
        said = field
    return outer + to_outer.sum(2)


def test_autograd_of_the_printed_form_is_wrong_at_weight_zero() -> None:
    """Why the backward pass is written by hand: ∂f/∂w at w = 0 is tanh(x/2), and the clamped form gives another."""
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    x = torch.ones(1, dtype=torch.float64)
    (printed,) = torch.autograd.grad(transfer(x, weight, 1.0).sum(), weight)
    assert printed.item() != pytest.approx(math.tanh(0.5), abs=1e-3)
    columns = torch.zeros(2, 1, dtype=torch.float64, requires_grad=True)
    unit, ones = torch.zeros(1, 1, dtype=torch.int64), torch.ones(1, dtype=torch.float64)
    odds = unrolled_log_odds(columns, unit, torch.zeros(1, 1).double(), ones, torch.zeros(1, 1).double(), 1)
    assert torch.autograd.grad(odds.sum(), columns)[0][0, 0].item() == pytest.approx(math.tanh(0.5))


@pytest.mark.parametrize("second", [0, 3])
@pytest.mark.parametrize("iterations", [1, 4, 5])
def test_training_sees_the_answers_of_bp(second: int, iterations: int) -> None:
    model = random_machine(1, 6, 4, second)
    model.log_temperature.fill_(math.log(2.5))
    generator = torch.Generator().manual_seed(2)
    rows = torch.randint(0, 2, (9, 6), generator=generator).double()
    rows[0, 0], rows[1, 2] = 0.3, 0.8  # soft evidence where given, soft targets where asked for
    unknown = torch.rand(9, 6, generator=generator) < 0.5
    algorithm, given = BeliefPropagation(), model.observe(rows, ~unknown)
    state = algorithm.init(model, given)
    for _ in range(iterations):
        state = algorithm.step(model, given, state)
    bits = model.bits(algorithm.beliefs(model, given, state), rows)[unknown]
    found = binary_scores(model, rows, unknown, iterations)
    assert (found.items, found.targets) == (9, int(unknown.sum()))
    assert found.means()["nce_bits"] == pytest.approx(float(bits.mean()), abs=1e-9)
    nats = query_nats(model, Scaled.of(model), rows, unknown, iterations)
    assert float(nats) / math.log(2) == pytest.approx(float(bits.sum()), abs=1e-9)


@pytest.mark.parametrize("readouts", [1, 3])
def test_gradient_of_a_batch_is_that_of_its_loss(readouts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through chunks, the division by T and the second layer; against differences of the loss."""
    monkeypatch.setattr(query_rbm, "AT_ONCE", 20)
    model = random_machine(3, 5, 3, 2).train_all()
    with torch.no_grad():
        model.log_temperature.fill_(0.7)
    rows = torch.randint(0, 2, (7, 5), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    learner = Query(iterations=4, growth=0.0, jitter=0, readouts=readouts, batch_size=7)
    context = BatchContext(0, 0, 0, 7, slice(0, 7))

    state = {"centre": torch.zeros(7).double()}  # the gradient itself, not that around the mean of the data

    def loss() -> float:
        return learner.batch(model, {"x": rows}, state, context).loss

    loss()
    gradients = {name: tensor.grad.clone() for name, tensor in model.tensors().items() if tensor.grad is not None}
    assert set(gradients) == set(model.tensors())
    for name, tensor in model.tensors().items():
        place = (0,) * tensor.ndim
        middle, losses = tensor.detach()[place].clone(), []
        for step in (1e-5, -1e-5):
            tensor.data[place] = middle + step
            losses.append(loss())
        tensor.data[place] = middle
        assert gradients[name][place].item() == pytest.approx((losses[0] - losses[1]) / 2e-5, abs=1e-7)


def test_second_hidden_layer_is_out_of_the_loss() -> None:
    """With nothing between the layers, the second one changes nothing, whatever its biases."""
    model = random_machine(4, 5, 3, 2)
    model.weights[:, 5:] = 0
    rows, unknown = torch.ones(4, 5), torch.ones(4, 5, dtype=torch.bool)
    before = binary_scores(model, rows, unknown, 6)
    model.outer_bias[5:] = 10.0
    after = binary_scores(model, rows, unknown, 6)
    assert before.bits == pytest.approx(after.bits)
    assert after.targets == 20


def test_parts_hold_every_item_once_and_are_of_like_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_rbm, "AT_ONCE", 60)
    model = RBM(8, 5)
    generator = torch.Generator().manual_seed(0)
    unknown = torch.rand(30, 8, generator=generator) < 0.5
    groups = parts(model, torch.zeros(30, 8), unknown)
    assert torch.equal(torch.cat(groups).sort().values, torch.arange(30))
    for group in groups:
        count = unknown[group].sum(1)
        assert len(group) == 1 or len(group) * int(count.max()) * 5 <= 60


def striped_rows(path: Path) -> Path:
    """Rows whose second half repeats the first, so that half of them tells the other."""
    rng = np.random.default_rng(0)
    half = rng.integers(0, 2, (600, 4), dtype=np.uint8)
    rows = np.concatenate([half, half], 1)
    np.savez(path, train=rows[:400], valid=rows[400:500], test=rows[500:])
    return path


@pytest.mark.parametrize("kind", ["rbm", "dbm"])
def test_training_learns_what_repeats_and_the_file_answers_alike(tmp_path: Path, kind: str) -> None:
    data = f"binary:{striped_rows(tmp_path / 'rows.npz')}"
    out = tmp_path / "m.safetensors"
    result = train_command(kind, "query", data, out, hidden=8, epochs=25, batch_size=50, learning_rate=0.1)
    # A copy is known with probability ½, otherwise nothing is: at best ½ bit.
    assert 0.45 < result["scores"]["nce_bits"] < 0.6
    model = open_model(out)
    assert model.kind == kind
    assert float(model.temperature) != 5.0


def test_queries_that_do_not_fit_are_refused_before_training(tmp_path: Path) -> None:
    data = f"binary:{striped_rows(tmp_path / 'rows.npz')}"
    with pytest.raises(QueryError, match="need pictures"):
        train_command("rbm", "query", data, tmp_path / "m.safetensors", queries="patch:2x2")


def test_temperature_of_a_trained_machine_is_kept() -> None:
    data = TrainingData(TensorSource(x=torch.zeros(4, 3, dtype=torch.uint8)))
    fresh, trained = RBM(3, 2), RBM(3, 2, temperature=2.0)
    for model, expected in ((fresh, 5.0), (trained, 2.0)):
        Query().start(model, data, 0)
        assert float(model.temperature) == pytest.approx(expected)


@pytest.mark.parametrize("second", [0, 3])
def test_evaluation_compares_with_independent_units(tmp_path: Path, second: int) -> None:
    data = f"binary:{striped_rows(tmp_path / 'rows.npz')}"
    model = random_machine(5, 8, 4, second).to(torch.float32)
    path = tmp_path / "m.safetensors"
    save_model(path, model.kind, model.tensors(), {"hyperparameters": model.hyperparameters()})
    found = evaluate_model(path, data, queries="uniform:0.5", seed=3, iterations=7)
    assert found["images"] == 100
    assert found["iterations"] == 7
    assert found["baselines"]["independent_units"]["nce_bits"] == pytest.approx(1.0, abs=0.02)
    rows = torch.from_numpy(np.load(tmp_path / "rows.npz")["test"]).float()
    unknown = torch.rand(100, 8, generator=torch.Generator().manual_seed(3)) < 0.5
    assert found["targets"] == int(unknown.sum())
    assert found["nce_bits"] == pytest.approx(binary_scores(model, rows, unknown, 7).means()["nce_bits"])
    with pytest.raises(StudioError, match="need pictures"):
        evaluate_model(path, data, queries="half:left")
    likely = evaluate_model(path, data, log_z=100)
    log_z, _ = enumerated(model.to(torch.float64))
    assert likely["log_partition"] == pytest.approx(log_z, abs=0.3)
    assert ("nll" in likely) == (second == 0)
    if not second:
        expected = log_z + float(model.free_energy(rows).mean())
        assert likely["nll"] == pytest.approx(expected, abs=0.3)


def test_evaluation_refuses_items_of_another_size(tmp_path: Path) -> None:
    data = f"binary:{striped_rows(tmp_path / 'rows.npz')}"
    model = random_machine(5, 7, 4).to(torch.float32)
    path = tmp_path / "m.safetensors"
    save_model(path, model.kind, model.tensors(), {"hyperparameters": model.hyperparameters()})
    with pytest.raises(StudioError, match="8 units an item: this model has 7"):
        evaluate_model(path, data)


def test_a_step_around_the_centre_keeps_what_hidden_units_hear_at_the_mean() -> None:
    """The weights move; at the mean of the data, and with biases held, what hidden units hear stays."""
    model = random_machine(6, 5, 3, 2).train_all()
    rows = torch.randint(0, 2, (20, 5), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    learner = Query(iterations=4, growth=0.0, jitter=0, readouts=1)
    state = learner.start(model, TrainingData(TensorSource(x=rows)), 0)
    learner.batch(model, {"x": rows}, state, BatchContext(0, 0, 0, 20, slice(0, 20)))
    centre = state["centre"]
    heard = (model.weights @ centre + model.hidden_bias).detach().clone()
    with torch.no_grad():
        model.weights -= 0.1 * model.weights.grad
        learner.after_step(model)
    assert torch.allclose(model.weights @ centre + model.hidden_bias, heard)
    assert torch.allclose(centre, torch.cat([2 * rows.double().mean(0) - 1, torch.zeros(2).double()]))
