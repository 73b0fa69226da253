"""Conditional RBMs: an RBM given its features, and every learner that can train one, against enumeration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.dataset import DataError, parse_data
from mrfstudio.engine.data.pictures.noisy import Noisy
from mrfstudio.engine.families.crbm.decoding import decoded
from mrfstudio.engine.families.crbm.density import measure
from mrfstudio.engine.families.crbm.max_margin import MaxMargin, best_hidden, joint
from mrfstudio.engine.families.crbm.model import CRBM, ConditionalBoltzmann
from mrfstudio.engine.families.rbm import density as machine_density
from mrfstudio.engine.families.rbm.model import RBM, BoltzmannError
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.density import density_of
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.cd import ContrastiveDivergence
from mrfstudio.engine.training.learners.likelihood import Likelihood
from mrfstudio.engine.training.learners.pcd import PersistentContrastiveDivergence
from mrfstudio.engine.training.learners.perceptron import Perceptron
from mrfstudio.engine.training.learners.pseudolikelihood import Pseudolikelihood
from tests.engine.helpers.densities import all_scores, everything, gradients, machine, rows

CONTEXT = BatchContext(seed=0, step=0, epoch=0, batch_size=4, rows=slice(0, 4))
PIXELS, FEATURES, HIDDEN = 4, 4, 3


def conditional(hidden: int = HIDDEN, scale: float = 1.0) -> CRBM:
    model = CRBM(PIXELS, FEATURES, hidden, image_shape=(2, 2), dtype=torch.float64)
    generator = torch.Generator().manual_seed(3)
    for name in ("couplings", "hidden_bias", "visible_bias", "hidden_features", "visible_features"):
        tensor = getattr(model, name)
        tensor.normal_(generator=generator).mul_(scale).requires_grad_()
    return model


def pairs(count: int = 4) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(9)
    drawn = torch.rand(2, count, 2, 2, generator=generator) < 0.5
    return {"images": drawn[0], "noisy_images": drawn[1]}


def scores_given(model: CRBM, batch: dict[str, torch.Tensor], item: int) -> tuple[torch.Tensor, torch.Tensor]:
    """All pictures and their scores given the features of one item."""
    one = {name: value[item : item + 1] for name, value in batch.items()}
    states = everything([2] * PIXELS).to(model.dtype)
    return states, density_of(model, one).score(states)


def test_given_the_features_it_is_an_rbm_with_other_biases() -> None:
    model, batch = conditional(), pairs()
    for item in range(4):
        x = batch["noisy_images"][item].flatten().to(model.dtype)
        plain = RBM(PIXELS, HIDDEN, dtype=torch.float64)
        hidden, visible = (bias.detach()[0] for bias in model.biases(x[None]))
        plain.set_binary_form(model.couplings.detach(), hidden, visible)
        states, scores = scores_given(model, batch, item)
        assert torch.allclose(-plain.free_energy(states), scores)


@pytest.mark.parametrize("hidden", [0, HIDDEN])
def test_exact_conditionals_make_the_pseudolikelihood(hidden: int) -> None:
    model, batch = conditional(hidden), pairs()
    seen = density_of(model, batch)
    found = seen.log_conditionals(seen.visible)
    for item in range(4):
        states, scores = scores_given(model, batch, item)
        for pixel in range(PIXELS):
            others = [v for v in range(PIXELS) if v != pixel]
            alike = (states[:, others] == seen.visible[item, others]).all(1)
            own = alike & (states[:, pixel] == seen.visible[item, pixel])
            expected = torch.logsumexp(scores[own], 0) - torch.logsumexp(scores[alike], 0)
            assert found[item, pixel].item() == pytest.approx(expected.item())


def test_likelihood_without_hidden_units_is_logistic_regression() -> None:
    model, batch = conditional(0), pairs()
    result = Likelihood().batch(model, batch, {}, CONTEXT)
    found = [gradient for gradient in gradients(model) if gradient.numel()]
    seen = density_of(model, batch)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(seen.visible_bias, seen.visible, reduction="sum") / 4
    loss.backward()
    assert result.loss == pytest.approx(loss.item())
    for one, other in zip(found, gradients(model), strict=True):
        assert torch.allclose(one, other)
    assert torch.allclose(decoded(model, seen.features).visible, torch.sigmoid(seen.visible_bias))


@pytest.mark.parametrize("algorithm", ["bp", "matrix-bp"])
def test_with_one_hidden_unit_the_messages_give_the_exact_gradient(algorithm: str) -> None:
    """Then the graph is a tree, where belief propagation is exact."""
    model, batch = conditional(1), pairs()
    Likelihood(algorithm=algorithm, iterations=200, tolerance=1e-12).batch(model, batch, {}, CONTEXT)
    found = gradients(model)
    seen, log_z = density_of(model, batch), torch.zeros((), dtype=torch.float64)
    for item in range(4):
        log_z = log_z + torch.logsumexp(scores_given(model, batch, item)[1], 0) / 4
    (log_z - seen.score(seen.visible).mean()).backward()
    for one, other in zip(found, gradients(model), strict=True):
        assert torch.allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["bp", "matrix-bp", "mean-field"])
def test_a_batch_in_parts_gives_the_gradient_of_the_whole(monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    model, batch = conditional(), pairs()
    results = []
    for at_once in (1_000_000, 2 * PIXELS * HIDDEN, 3 * PIXELS * HIDDEN):
        monkeypatch.setattr(machine_density, "PAIRS_AT_ONCE", at_once)
        result = Likelihood(algorithm=algorithm, iterations=4).batch(model, batch, {}, CONTEXT)
        results.append((result.loss, torch.cat([gradient.reshape(-1) for gradient in gradients(model)])))
    for loss, gradient in results[1:]:
        assert loss == pytest.approx(results[0][0])
        assert torch.allclose(gradient, results[0][1])


def test_the_mean_field_kernel_is_that_of_the_factor_graph() -> None:
    plain = machine()
    for known in (torch.zeros(5, dtype=torch.bool), torch.tensor([True, False, True, False, False])):
        evidence = plain.observe(torch.tensor([1.0, 0.3, 0.0, 0.5, 0.5], dtype=torch.float64), known)
        graph, packed = plain.as_graph(evidence)
        algorithm = MeanField(damping=0.2)
        fast, slow = algorithm.init(plain, evidence), algorithm.init(graph, packed)
        for _ in range(5):
            fast, slow = algorithm.step(plain, evidence, fast), algorithm.step(graph, packed, slow)
            expected = plain.from_graph(algorithm.beliefs(graph, packed, slow), evidence)
            assert torch.allclose(algorithm.beliefs(plain, evidence, fast), expected)
            hidden = plain.hidden_from_graph(algorithm.beliefs(graph, packed, slow))
            assert torch.allclose(algorithm.hidden_beliefs(plain, evidence, fast), hidden)
            bound, slow_bound = (
                algorithm.log_partition(plain, evidence, fast).value,
                algorithm.log_partition(graph, packed, slow).value,
            )
            assert bound == pytest.approx(slow_bound)
        assert algorithm.residual(fast) == pytest.approx(algorithm.residual(slow))


def test_an_rbm_learns_with_exact_marginals_the_gradient_of_the_exact_likelihood() -> None:
    model = machine()
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


@pytest.mark.parametrize("variant", ["mssvm", "lssvm"])
def test_the_margin_is_that_of_the_worst_rival(variant: str) -> None:
    """With weak couplings the messages find the true maximum, and loss and gradient are those of enumeration."""
    model, batch = conditional(scale=0.3), pairs()
    result = MaxMargin(variant=variant, iterations=50).batch(model, batch, {}, CONTEXT)
    found = gradients(model)
    total = torch.zeros((), dtype=torch.float64)
    for item in range(4):
        one = density_of(model, {name: value[item : item + 1] for name, value in batch.items()})
        states = everything([2] * PIXELS).to(model.dtype)
        wrong = (states != one.visible).sum(1)
        if variant == "mssvm":
            total = total + (wrong + one.score(states)).max() - one.score(one.visible).sum()
        else:
            best = joint(one, states, best_hidden(one, states))  # type: ignore[arg-type]
            own = joint(one, one.visible, best_hidden(one, one.visible))  # type: ignore[arg-type]
            total = total + (wrong + best).max() - own.sum()
    (total / 4).backward()
    assert result.loss == pytest.approx(total.item() / 4)
    for mine, other in zip(found, gradients(model), strict=True):
        assert torch.allclose(mine, other)
    assert (model.decoder, int(model.iterations)) == ("mixed" if variant == "mssvm" else "max", 50)


@pytest.mark.parametrize("variant", ["mssvm", "lssvm"])
def test_the_search_of_the_margin_tells_how_much_of_it_converged(variant: str) -> None:
    model, batch = conditional(scale=0.3), pairs()
    shares = [
        MaxMargin(variant=variant, iterations=count).batch(model, batch, {}, CONTEXT).scalars["converged"]
        for count in (1, 50)
    ]
    assert shares[0] < 1
    assert shares[1] == 1


def test_a_new_model_starts_as_the_regression_of_each_pixel_on_its_own_place() -> None:
    clean, damaged = torch.rand(2, 4000, 2, 2, generator=torch.Generator().manual_seed(1)) < 0.5
    damaged = torch.where(damaged, clean, ~clean & (torch.rand(4000, 2, 2) < 0.2))
    data = TrainingData(TensorSource(images=clean, noisy_images=damaged))
    model = ConditionalBoltzmann(hidden=0).build_for(data, 0)
    for pixel in range(4):
        mine, seen = clean.flatten(1)[:, pixel], damaged.flatten(1)[:, pixel]
        for value in (False, True):
            answer = decoded(model, torch.full((1, 4), float(value))).visible[0, pixel].item()
            assert answer == pytest.approx(mine[seen == value].double().mean().item(), abs=0.001)


def test_what_is_wrong_is_counted_over_all_and_over_changed_pixels() -> None:
    model = CRBM(PIXELS, FEATURES, 0, image_shape=(2, 2))
    with torch.no_grad():
        model.visible_features.copy_(4 * torch.eye(4))
        model.visible_bias.fill_(-2.0)  # the answer is what is seen
    batch = pairs(8)
    changed = (batch["images"] != batch["noisy_images"]).double().mean().item()
    found = measure(model, TensorSource(**batch))
    assert found["pixel_error"] == pytest.approx(100 * changed)
    assert found["changed_error"] == 100.0


def test_refusals_name_a_learner_that_can() -> None:
    model = conditional()
    cases: list[tuple[Any, Any, str]] = [
        (PersistentContrastiveDivergence(), model, "use cd"),
        (MaxMargin(), machine(), "use cd or likelihood"),
        (Likelihood(algorithm="gibbs"), model, "use the learner cd"),
        (Likelihood(algorithm="matrix-bp", algorithm_options="product=max"), model, "use the learner max-margin"),
        (Likelihood(algorithm="exact"), model, "use bp or mean-field"),
    ]
    for learner, refused, words in cases:
        assert words in (learner.supports(refused) or "")
    with pytest.raises(BoltzmannError, match="--data noisy"):
        ConditionalBoltzmann().build_for(TrainingData(TensorSource(x=torch.zeros(2, 4))), 0)


def test_damage_is_seeded_and_of_the_asked_kind() -> None:
    clean = np.ones((50, 12, 12), bool)
    noisy = Noisy(rate=0.2).damaged(clean, "train")
    assert 0.15 < (noisy != clean).mean() < 0.25
    assert np.array_equal(noisy[:10], Noisy(rate=0.2).damaged(clean[:10], "train"))
    assert not np.array_equal(noisy, Noisy(rate=0.2).damaged(clean, "test"))
    assert not np.array_equal(noisy, Noisy(rate=0.2, noise_seed=1).damaged(clean, "train"))
    hidden = ~Noisy(damage="occlusion", patch=5).damaged(clean, "train")
    assert (hidden.sum((1, 2)) == 25).all()
    assert (hidden.any(1).sum(1) == 5).all()
    assert hidden[:, 0, :].any()
    assert hidden[:, -1, :].any()
    with pytest.raises(DataError, match="does not fit"):
        Noisy(damage="occlusion", patch=13).damaged(clean, "train")


def test_a_finished_training_that_is_resumed_is_still_asked_as_it_was_learned(tmp_path: Path) -> None:
    asked = {"hidden": 3, "epochs": 1.0, "count": 20, "validation": 5, "test": 5, "algorithm": "matrix-bp"}
    for resume in (False, True):
        train_command("crbm", "likelihood", "noisy", tmp_path / "a.safetensors", resume=resume, **asked)
        assert open_model(tmp_path / "a.safetensors").decoder == "sum"


def test_copies_damage_training_pictures_anew_and_leave_the_others_alone() -> None:
    asked = {"count": 20, "validation": 5, "test": 5}
    once, thrice = (Noisy(copies=copies, **asked).open() for copies in (1, 3))
    clean, damaged = (thrice["train"][name].reshape(3, 20, -1) for name in ("images", "noisy_images"))
    assert np.array_equal(clean[0], clean[1])
    assert np.array_equal(clean[0], clean[2])
    assert np.array_equal(damaged[0], once["train"]["noisy_images"].reshape(20, -1))
    assert 0.05 < (damaged[1] != damaged[2]).mean() < 0.3  # both flip a tenth
    for split in ("val", "test"):
        assert np.array_equal(thrice[split]["noisy_images"], once[split]["noisy_images"])


@pytest.mark.parametrize("learner", ["pseudolikelihood", "cd", "perceptron", "likelihood", "max-margin"])
def test_every_learner_trains_it_from_the_command_and_it_is_evaluated(tmp_path: Path, learner: str) -> None:
    out = tmp_path / "m.safetensors"
    data = {"count": 60, "validation": 20, "test": 10}
    options: dict[str, Any] = {**data, "hidden": 5, "epochs": 3, "batch_size": 10, "learning_rate": 0.05}
    if learner in ("likelihood", "max-margin"):
        options["iterations"] = 3
    told: list[dict[str, Any]] = []
    train_command("crbm", learner, "noisy", out, report=told.append, **options)
    errors = [record["validation"]["pixel_error"] for record in told if record["validation"]]
    assert min(errors[1:]) < errors[0]
    found = evaluate_model(out, "noisy", **data)
    assert found["images"] == 10
    assert 0 < found["pixel_error"] < 25
    assert {"nce_bits", "changed_error", "decoder"} <= found.keys()


def test_the_registry_has_all_learners_of_the_documents() -> None:
    wanted = {"query", "pseudolikelihood", "cd", "pcd", "perceptron", "likelihood", "max-margin"}
    assert wanted <= set(LEARNERS.names())
    assert Pseudolikelihood().supports(conditional()) is None
    assert ContrastiveDivergence().supports(conditional()) is None
    assert parse_data("noisy").path is None


def test_the_perceptron_loss_of_a_conditional_machine_is_that_of_enumeration() -> None:
    """Each item has biases of its own: its rival is the best answer to any hidden state, and raises the loss alone."""
    model, batch = conditional(hidden=2), pairs()
    trained = [tensor for tensor in model.tensors().values() if tensor.requires_grad]
    result = Perceptron(steps=300).batch(model, batch, {}, CONTEXT)
    found = [tensor.grad.clone() for tensor in trained if tensor.grad is not None]

    images, seen = (batch[name].flatten(1).double() for name in ("images", "noisy_images"))
    hidden_bias, visible_bias = model.biases(seen)
    hidden = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 2)

    def score(states: torch.Tensor) -> torch.Tensor:
        joint = (states @ model.couplings.t() + hidden_bias) @ hidden.t()  # log Σ_h, written out
        return (states * visible_bias).sum(1) + torch.logsumexp(joint, 1)

    modes = (hidden @ model.couplings + visible_bias[:, None] > 0).double()  # (items, hidden states, visible)
    scores = torch.stack([score(modes[:, place]) for place in range(len(hidden))])
    expected = (scores.max(0).values - score(images)).clamp_min(0).mean()
    gradients = torch.autograd.grad(expected, trained)
    assert result.loss == pytest.approx(float(expected.detach()))
    assert result.scalars["violated"] > 0
    for mine, theirs in zip(found, gradients, strict=True):
        assert torch.allclose(mine, theirs)
