"""Restricted and deep Boltzmann machines as distributions: forms, energies, conditionals, files, factor graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.dataset import DataError
from mrfstudio.engine.families.rbm.model import DBM, RBM, BoltzmannError
from mrfstudio.engine.families.rbm.plans import DeepBoltzmann, RestrictedBoltzmann
from mrfstudio.engine.files.model_file import ModelFileError, save_model
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from tests.engine.helpers.boltzmann import all_states, random_machine


@pytest.mark.parametrize("second", [0, 2])
def test_the_two_forms_are_one_distribution(second: int) -> None:
    model = random_machine(0, 3, 4, second)
    outer, hidden = all_states(model.outer), all_states(model.hidden)
    spins_o, spins_h = 2 * outer - 1, 2 * hidden - 1
    score = 0.5 * (spins_h @ model.weights @ spins_o.t()).t() + 0.5 * (spins_o @ model.outer_bias)[:, None]
    score = score + 0.5 * spins_h @ model.hidden_bias
    binary = -model.energy(outer[:, None, :], hidden[None])
    difference = binary - score
    assert torch.allclose(difference, difference[0, 0].expand_as(difference))
    assert binary[0, 0] == 0  # all units 0 come first
    copy = random_machine(1, 3, 4, second)
    copy.set_binary_form(*model.binary_form())
    assert torch.allclose(copy.energy(outer, hidden[0]), model.energy(outer, hidden[0]))


def test_free_energy_and_conditionals_are_sums_over_the_other_side() -> None:
    model = random_machine(2, 4, 3)
    outer, hidden = all_states(4), all_states(3)
    table = -model.energy(outer[:, None], hidden[None])  # (outer, hidden)
    assert torch.allclose(model.free_energy(outer), -torch.logsumexp(table, 1))
    p_hidden = torch.softmax(table, 1) @ hidden
    assert torch.allclose(torch.sigmoid(model.hidden_logits(outer)), p_hidden)
    p_outer = torch.softmax(table, 0).t() @ outer
    assert torch.allclose(torch.sigmoid(model.visible_logits(hidden)), p_outer)


@pytest.mark.parametrize("second", [0, 2])
def test_factor_graph_scores_like_the_energy(second: int) -> None:
    model = random_machine(3, 3, 2, second)
    graph = model.to_factor_graph()
    for outer in all_states(model.outer):
        hidden = torch.tensor([1.0, 0.0], dtype=torch.float64)
        states = torch.cat([outer[:3], hidden, outer[3:]]).long().numpy()
        assert graph.score(states) == pytest.approx(-float(model.energy(outer, hidden)))


def test_factor_graph_follows_a_change_of_the_weights() -> None:
    model = random_machine(4, 2, 2)
    before = model.to_factor_graph()
    assert model.to_factor_graph() is before
    with torch.no_grad():
        model.weights.mul_(2)
    assert model.to_factor_graph() is not before


def test_sampling_keeps_what_is_known_and_repeats_with_its_seed() -> None:
    model = random_machine(5, 6, 4)
    start = torch.randint(0, 2, (20, 6)).double()
    known = torch.rand(20, 6) < 0.5
    draws = [model.sample(start, 3, torch.Generator().manual_seed(1), known) for _ in range(2)]
    assert torch.equal(draws[0], draws[1])
    assert torch.equal(draws[0][known], start[known])
    assert not torch.equal(draws[0], start)


def test_evidence_is_exact_soft_or_clamped() -> None:
    model = random_machine(6, 3, 2)
    values, known = torch.tensor([1.0, 0.25, 0.0]), torch.tensor([True, True, False])
    given = model.observe(values, known, hidden=torch.tensor([torch.inf, -1.0]))
    outer, hidden = model.log_odds(given)
    assert outer.tolist() == pytest.approx([torch.inf, np.log(1 / 3), 0.0])
    assert hidden.tolist() == [torch.inf, -1.0]
    short = Evidence(given.log_potentials[:3])
    assert torch.equal(model.log_odds(short)[0], outer)
    assert (model.log_odds(short)[1] == 0).all()


def test_evidence_from_a_picture_has_a_strength() -> None:
    model = random_machine(6, 4, 2, 3, image_shape=(2, 2))
    grey = torch.tensor([[0.9, 0.1], [0.8, 0.3]])
    unknown = torch.tensor([[False, False], [True, False]])
    strength = torch.tensor([[1.0, 0.5], [1.0, 0.0]])
    clamp = torch.tensor([0.0, -torch.inf])
    outer, hidden = model.log_odds(model.evidence_from_image(grey, unknown, strength, clamp))
    assert outer.tolist() == pytest.approx([torch.inf, -np.log(3), 0.0, 0.0, 0.0, 0.0, 0.0])
    assert hidden.tolist() == [0.0, -torch.inf]
    with pytest.raises(BoltzmannError, match="this model takes 2×2 pixels"):
        model.evidence_from_image(torch.zeros(3, 2))
    with pytest.raises(BoltzmannError, match="expected 0 to 1"):
        model.evidence_from_image(grey, unknown, 2.0)


def test_bits_are_the_cross_entropy() -> None:
    model = random_machine(6, 3, 2)
    beliefs = torch.tensor([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    found = model.bits(beliefs, torch.tensor([1.0, 1.0, 0.0]))
    assert found.tolist() == pytest.approx([1.0, np.log2(4 / 3), 0.0])
    assert torch.isfinite(model.bits(beliefs, torch.tensor([0.0, 0.0, 1.0]))).all()


def test_contradictory_and_misshapen_evidence_is_refused() -> None:
    model = random_machine(7, 3, 2)
    log = torch.zeros(5, 2)
    log[4] = -torch.inf
    with pytest.raises(ContradictoryEvidence, match="node 4"):
        model.log_odds(Evidence(log))
    with pytest.raises(BoltzmannError, match=r"expected \(3, 2\) or \(5, 2\)"):
        model.log_odds(Evidence(torch.zeros(4, 2)))


@pytest.mark.parametrize("second", [0, 3])
def test_a_file_gives_the_same_model_back(tmp_path: Path, second: int) -> None:
    model = random_machine(8, 6, 2, second, image_shape=(2, 3)).to(torch.float32)
    path = tmp_path / "m.safetensors"
    save_model(path, model.kind, model.tensors(), {"hyperparameters": model.hyperparameters()})
    again = open_model(path)
    assert type(again) is (DBM if second else RBM)
    assert again.image_shape == (2, 3)
    for name, tensor in model.tensors().items():
        assert torch.equal(tensor, again.tensors()[name])


def test_a_file_of_another_size_or_with_bad_numbers_is_refused(tmp_path: Path) -> None:
    model = random_machine(9, 4, 2).to(torch.float32)
    path = tmp_path / "m.safetensors"
    save_model(path, "rbm", model.tensors(), {"hyperparameters": {"visible": 5, "hidden": 2}})
    with pytest.raises(ModelFileError, match="weights"):
        open_model(path)
    model.outer_bias[0] = torch.nan
    save_model(path, "rbm", model.tensors(), {"hyperparameters": model.hyperparameters()})
    with pytest.raises(ModelFileError, match="outer_bias"):
        open_model(path)


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ({"x": torch.tensor([[0, 1, 1], [0, 0, 1]], dtype=torch.uint8)}, None),
        ({"x": torch.tensor([[-1, 1, 1], [-1, -1, 1]], dtype=torch.int8)}, None),
        ({"images": torch.tensor([[[0, 255, 128]], [[0, 127, 200]]], dtype=torch.uint8)}, (1, 3)),
        ({"images": torch.tensor([[[False, True, True]], [[False, False, True]]])}, (1, 3)),
    ],
)
def test_a_new_machine_fits_its_data(source: dict[str, torch.Tensor], shape: tuple[int, int] | None) -> None:
    data = TrainingData(TensorSource(**source))
    model = RestrictedBoltzmann(hidden=4).build_for(data, 0)
    assert (model.visible, model.hidden, model.image_shape) == (3, 4, shape)
    assert torch.sigmoid(model.outer_bias).tolist() == pytest.approx([0.5 / 3, 0.5, 2.5 / 3])
    mean = torch.sigmoid(model.outer_bias)
    assert torch.allclose(model.hidden_logits(mean), torch.zeros(4), atol=1e-6)
    deep = DeepBoltzmann(hidden=4, second=5).build_for(data, 0)
    assert isinstance(deep, DBM)
    assert deep.outer_bias.shape == (8,)
    assert all(tensor.requires_grad for tensor in deep.tensors().values())


def test_data_that_are_no_binary_rows_are_refused_in_one_sentence() -> None:
    data = TrainingData(TensorSource(channel=torch.zeros(2, 3, 3)), name="mimo")
    with pytest.raises(DataError, match="'mimo' hold channel"):
        RestrictedBoltzmann().build_for(data, 0)
