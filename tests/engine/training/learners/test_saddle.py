"""Saddle-point learning: its gradient, its network as state, and the likelihood it reaches."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.ising.model import IsingField
from mrfstudio.engine.families.rbm.density import exact_log_partition
from mrfstudio.engine.families.rbm.model import DBM, RBM
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.run import run
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.density import density_of
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.saddle import Saddle
from mrfstudio.engine.training.trainer import Trainer

CONTEXT = BatchContext(seed=0, step=0, epoch=0, batch_size=8, rows=slice(0, 8))
SETTLED: dict[str, Any] = {
    "attention": 0,
    "residual_layers": 0,
    "network_rate": 0.1,
    "penalty": 50.0,
    "warm_up_steps": 300,
    "network_steps": 1,
}


ENERGIES = ("bethe", "regions")


def tree_model() -> IsingField:
    model = IsingField([(0, 1), (1, 2), (1, 3)], 4)
    with torch.no_grad():
        model.weights.normal_(generator=torch.Generator().manual_seed(1))
    return model


def spins(nodes: int, rows: int = 8) -> dict[str, torch.Tensor]:
    return {"x": torch.randint(0, 2, (rows, nodes), generator=torch.Generator().manual_seed(2))}


def machine(hidden: int = 1) -> RBM:
    model = RBM(4, hidden, dtype=torch.float64)
    generator = torch.Generator().manual_seed(3)
    for tensor in (model.weights, model.outer_bias, model.hidden_bias):
        tensor.normal_(generator=generator)
    return model.train_all()


def loss_and_gradients(learner: Saddle, model: Any, batch: dict[str, torch.Tensor]) -> tuple[float, list[torch.Tensor]]:
    state = learner.start(model, TrainingData(TensorSource(**batch)), 0)
    result = learner.batch(model, batch, state, CONTEXT)
    found = [t.grad for t in model.tensors().values() if t.grad is not None]
    for tensor in model.tensors().values():
        tensor.grad = None
    return result.loss, found


@pytest.mark.parametrize("energy", ENERGIES)
def test_on_a_tree_loss_and_gradient_are_those_of_the_likelihood(energy: str) -> None:
    model, batch = tree_model(), spins(4)
    loss, (found,) = loss_and_gradients(Saddle(energy=energy, **SETTLED), model, batch)
    seen = density_of(model, batch)
    graph = model.graph()
    detached = graph.with_potentials(graph.unary.detach(), [g.tables.detach() for g in graph.groups])
    log_z = float(run(Exact(), detached, detached.no_evidence()).state.log_z)
    assert loss == pytest.approx(log_z - float(seen.score(seen.visible).detach().mean()), abs=0.01)
    every = {"x": torch.from_numpy(np.stack([a.ravel() for a in np.indices([2] * 4)], 1))}
    whole = density_of(model, every)
    nll = torch.logsumexp(whole.score(whole.visible), 0) - seen.score(seen.visible).mean()
    (expected,) = torch.autograd.grad(nll, model.weights)
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0)


def test_two_shared_variables_make_a_complete_graph_of_four_exact_and_cycles_do_not() -> None:
    """Every region is then the whole graph; cycles share one variable, and the others are Bethe's."""
    model = IsingField([(i, j) for i in range(4) for j in range(i)], 4)
    with torch.no_grad():
        model.weights.normal_(0.0, 2.0, generator=torch.Generator().manual_seed(4))
    every = {"x": torch.from_numpy(np.stack([a.ravel() for a in np.indices([2] * 4)], 1))}
    batch = spins(4)
    seen, whole = density_of(model, batch), density_of(model, every)
    nll = torch.logsumexp(whole.score(whole.visible), 0) - seen.score(seen.visible).mean()
    (expected,) = torch.autograd.grad(nll, model.weights)
    off = {}
    for shared in (0, 2):
        loss, (found,) = loss_and_gradients(Saddle(energy="regions", shared=shared, **SETTLED), model, batch)
        off[shared] = abs(loss - float(nll.detach())), float((found - expected).abs().max())
    assert max(off[2]) < 1e-6
    assert min(off[0]) > 0.05


def test_the_joint_graph_of_an_rbm_holds_its_hidden_units() -> None:
    model = machine(hidden=3)
    seen = density_of(model, {"x": torch.zeros(1, 4)})
    graph = seen.joint()
    assert graph.variables == 7
    detached = graph.with_potentials(graph.unary.detach(), [g.tables.detach() for g in graph.groups])
    log_z = float(run(Exact(), detached, detached.no_evidence()).state.log_z)
    assert log_z == pytest.approx(exact_log_partition(*model.binary_form()), abs=1e-9)


def test_an_rbm_with_one_hidden_unit_is_a_tree_and_learned_exactly() -> None:
    model = machine()
    batch = {"x": spins(4)["x"].float()}
    loss, found = loss_and_gradients(Saddle(**SETTLED), model, batch)
    every = {"x": torch.from_numpy(np.stack([a.ravel() for a in np.indices([2] * 4)], 1)).float()}
    seen, whole = density_of(model, batch), density_of(model, every)
    nll = torch.logsumexp(whole.score(whole.visible), 0) - seen.score(seen.visible).mean()
    assert loss == pytest.approx(float(nll.detach()), abs=0.02)
    tensors = [t for t in model.tensors().values() if t.requires_grad]
    expected = [g for g in torch.autograd.grad(nll, tensors, allow_unused=True) if g is not None]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=0.03, rtol=0)


def test_the_network_goes_on_after_a_resume(tmp_path: Path) -> None:
    data = TrainingData(TensorSource(**spins(4, 40)))
    learner = Saddle(batch_size=10, epochs=2.0, embedding=8, warm_up_steps=5)
    whole = Trainer(tree_model(), learner, data, model_path=tmp_path / "whole.safetensors")
    losses = [record.loss for record in whole.run()]
    running = Trainer(tree_model(), learner, data, model_path=tmp_path / "broken.safetensors").run()
    for _ in range(3):
        next(running)
    running.close()
    again = Trainer(tree_model(), learner, data, model_path=tmp_path / "broken.safetensors", resume=True)
    assert [record.loss for record in again.run()] == losses[3:]


def test_regions_learn_a_grid_better_than_bethe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in [Liu20]'s Table 5.1, and within 0.1 nats of the model that drew the samples."""
    from mrfstudio.engine.data.dataset import parse_data

    monkeypatch.chdir(tmp_path)
    truth = -float(parse_data("ising").open(side=4, validation=400)["val"]["logp"].mean())
    options: dict[str, Any] = {"attention": 0, "residual_layers": 0, "network_rate": 0.05, "learning_rate": 0.1}
    options |= {"side": 4, "count": 2000, "validation": 400, "batch_size": 200, "epochs": 5}
    found = {e: train_command("ising", "saddle", "ising", energy=e, **options)["scores"]["nll"] for e in ENERGIES}
    assert found["regions"] < found["bethe"]
    assert found["regions"] == pytest.approx(truth, abs=0.1)


def test_what_has_no_joint_graph_is_refused() -> None:
    reason = Saddle().supports(DBM(4, 3, 2))
    assert reason is not None
    assert "use" in reason
