import itertools
import math

import pytest
import torch

from mrfstudio.engine.families.scored_grid.density import ScoredGridDensity
from mrfstudio.engine.families.scored_grid.evaluation import measure
from mrfstudio.engine.families.scored_grid.field import UNLABELLED, ScoreField
from mrfstudio.engine.families.scored_grid.model import NO_LABEL, ScoredGrid, ScoredGridPlan, pictures_of
from mrfstudio.engine.families.scored_grid.query import unrolled
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Inference, pseudo_bits
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData

LABELS = 3


def field(height: int, width: int, labels: int = LABELS, scale: float = 1.0) -> ScoreField:
    generator = torch.Generator().manual_seed(height * 10 + width)

    def draw(*shape: int) -> torch.Tensor:
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    pair = (labels, labels)
    return ScoreField(draw(height, width, labels), draw(height, width - 1, *pair), draw(height - 1, width, *pair))


def model_and_batch(side: int = 3, pictures: int = 2) -> tuple[ScoredGrid, dict[str, torch.Tensor]]:
    model = ScoredGrid(LABELS, 3, 4, dtype=torch.float64)
    model.randomise(0)
    generator = torch.Generator().manual_seed(1)
    for name, tensor in model.tensors().items():
        if name.startswith(("right", "down")):
            with torch.no_grad():
                tensor.copy_(0.5 * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
        tensor.requires_grad_()
    batch = {
        "pictures": torch.randint(0, 256, (pictures, side, side, 3), generator=generator, dtype=torch.uint8),
        "images": torch.randint(0, LABELS, (pictures, side, side), generator=generator, dtype=torch.uint8),
    }
    return model, batch


def every_state(side: int) -> torch.Tensor:
    return torch.tensor(list(itertools.product(range(LABELS), repeat=side * side)))


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("size", [(3, 4), (1, 5), (5, 1), (1, 1)])
def test_every_iteration_equals_the_factor_graph(size: tuple[int, int], damping: float) -> None:
    model = field(*size)
    log = torch.zeros(*size, LABELS, dtype=torch.float64)
    log[0, 0, 1:] = -torch.inf
    evidence = Evidence(log)
    fast, slow = BeliefPropagation(damping=damping), BeliefPropagation(damping=damping, kernel="generic")
    a, b = fast.init(model, evidence), slow.init(model, evidence)
    assert type(a) is not type(b)
    for _ in range(5):
        a, b = fast.step(model, evidence, a), slow.step(model, evidence, b)
        torch.testing.assert_close(fast.beliefs(model, evidence, a), slow.beliefs(model, evidence, b))
        assert fast.residual(a) == pytest.approx(slow.residual(b), abs=1e-12)
        log_z = fast.log_partition(model, evidence, a).value
        assert log_z == pytest.approx(slow.log_partition(model, evidence, b).value, abs=1e-9)


def test_conditionals_are_differences_of_scores() -> None:
    one = field(3, 3)
    states = torch.tensor([[0, 1, 2], [2, 1, 0], [1, 1, 2]])
    logits = one.conditional_logits(states)
    for row, column in itertools.product(range(3), repeat=2):
        scores = []
        for label in range(LABELS):
            other = states.clone()
            other[row, column] = label
            scores.append(one.score(other))
        expected = torch.log_softmax(torch.stack(scores), 0)
        torch.testing.assert_close(torch.log_softmax(logits[row, column], 0), expected)


def test_the_gradient_of_the_likelihood_is_that_of_enumeration() -> None:
    """3×3 pixels, three labels, one of them unlabelled in each picture: 19,683 states summed by hand."""
    model, batch = model_and_batch()
    batch["images"][0, 1, 1] = batch["images"][1, 0, 2] = NO_LABEL
    seen = ScoredGridDensity(model, batch)
    log_z = seen.partition(Inference(Exact(), Limits()))
    (log_z.surrogate.mean() - seen.score(seen.visible).mean()).backward()
    found = {name: tensor.grad.clone() for name, tensor in model.tensors().items() if tensor.grad is not None}
    value = float((log_z.value - seen.score(seen.visible)).mean().detach())

    for tensor in model.tensors().values():
        tensor.grad = None
    states = every_state(3)
    losses = []
    fresh = ScoredGridDensity(model, batch)
    for item in range(2):
        part = fresh.field.part(slice(item, item + 1))
        scores = part.score(states.reshape(-1, 1, 3, 3)).squeeze(1)
        truth = fresh.visible[item]
        fits = ((states == truth) | (truth == UNLABELLED)).all(1)
        losses.append(torch.logsumexp(scores, 0) - torch.logsumexp(scores[fits], 0))
    loss = torch.stack(losses).mean()
    loss.backward()
    assert value == pytest.approx(float(loss.detach()), abs=1e-9)
    assert found.keys() == model.tensors().keys()
    for name, tensor in model.tensors().items():
        torch.testing.assert_close(found[name], tensor.grad, atol=1e-9, rtol=1e-7)


def test_sweeps_draw_from_the_distribution() -> None:
    model, batch = model_and_batch(2, 1)
    repeated = {name: value.expand(4000, *value.shape[1:]) for name, value in batch.items()}
    seen = ScoredGridDensity(model, repeated)
    states, generator = seen.visible, torch.Generator().manual_seed(0)
    for _ in range(15):
        states = seen.sweep(states, torch.rand(4000, seen.draws, generator=generator))
    all_states = every_state(2)
    chances = torch.softmax(seen.field.part(slice(0, 1)).score(all_states.reshape(-1, 1, 2, 2)).squeeze(1), 0)
    expected = torch.stack([(chances[:, None] * (all_states == c)).sum(0) for c in range(LABELS)])
    found = torch.stack([(states == c).double().mean(0) for c in range(LABELS)])
    torch.testing.assert_close(found, expected.detach(), atol=0.035, rtol=0)


def striped(count: int, side: int) -> dict[str, torch.Tensor]:
    """Pictures whose labels are half-planes and whose pixels are noisy: neighbours know more than a pixel."""
    generator = torch.Generator().manual_seed(3)
    columns = torch.arange(side).expand(count, side, side)
    labels = (columns < torch.randint(1, side, (count, 1, 1), generator=generator)).to(torch.uint8)
    noise = 90 * torch.randn(count, side, side, generator=generator)
    grey = (90 + 70 * labels + noise).clamp(0, 255).to(torch.uint8)
    return {"pictures": grey.unsqueeze(-1).expand(-1, -1, -1, 3), "images": labels}


def train(name: str, batch: dict[str, torch.Tensor], steps: int, **options: object) -> tuple[ScoredGrid, ScoredGrid]:
    """A new model and the same after some steps."""
    data = TrainingData(TensorSource(**batch), TensorSource(**batch))
    model, first = (ScoredGridPlan(features=4).build_for(data, 0) for _ in range(2))
    learner = LEARNERS[name](**options)
    assert learner.supports(model) is None
    learner.start(model, data, 0)
    optimiser = torch.optim.Adam(model.tensors().values(), 0.02)
    for step in range(steps):
        optimiser.zero_grad()
        learner.batch(model, batch, {}, BatchContext(0, step, 0, 24, slice(0, 24), progress=step / steps))
        optimiser.step()
    return first, model


@pytest.mark.parametrize("name", ["likelihood", "query", "max-margin"])
def test_learners_that_ask_the_field_label_pictures(name: str) -> None:
    batch = striped(24, 6)
    options = {"iterations": 8} if name != "query" else {"iterations": 5, "growth": 0.0}
    first, model = train(name, batch, 40, **options)
    before, after = (measure(each, TensorSource(**batch)) for each in (first, model))
    assert after["pixel_accuracy"] > max(before["pixel_accuracy"], 0.75)
    assert set(after) >= {"nce_bits", "iou", "nce_bits_network", "iou_network", "converged"}


@pytest.mark.parametrize("name", ["pseudolikelihood", "cd", "perceptron"])
def test_learners_that_see_true_neighbours_predict_a_pixel_from_them(name: str) -> None:
    """What they learn is p(pixel | neighbours); asked without neighbours such fields may well fail."""
    batch = striped(24, 6)
    first, model = train(name, batch, 40)
    before, after = (pseudo_bits(ScoredGridDensity, each, TensorSource(**batch)) for each in (first, model))
    assert after < 0.7 * before


def test_only_labelled_pixels_are_asked_for() -> None:
    model, batch = model_and_batch(4, 2)
    batch["images"][:, 1:] = NO_LABEL
    context = BatchContext(0, 0, 0, 2, slice(0, 2), progress=1.0)
    loss = LEARNERS["query"](iterations=3, growth=0.0, jitter=0, readouts=1).batch(model, batch, {}, context).loss
    with torch.no_grad():
        logs = unrolled(model.field(pictures_of(batch)), 3, 1)[0][:, :1]
    truth = batch["images"][:, :1].long().unsqueeze(-1)
    assert loss == pytest.approx(-float(logs.gather(-1, truth).mean()) / math.log(2))
    conditionals = ScoredGridDensity(model, batch).log_conditionals(ScoredGridDensity(model, batch).visible)
    assert bool((conditionals[:, 4:] == 0).all())
    assert bool((conditionals[:, :4] < 0).all())


def test_unrolled_messages_are_differentiated() -> None:
    one = field(2, 3)
    leaves = [each.clone().requires_grad_() for each in (one.node, one.right, one.down)]
    assert torch.autograd.gradcheck(lambda *parts: unrolled(ScoreField(*parts), 3, 2)[1], leaves)


def test_without_edges_the_field_is_the_network() -> None:
    one = field(4, 4).scaled(0.0)
    torch.testing.assert_close(unrolled(one, 4, 1)[0], torch.log_softmax(one.node, -1))
    right, down = one.walls()
    assert right.shape == (4, 3)
    assert down.shape == (3, 4)


def test_a_model_is_kept_in_named_tensors() -> None:
    model, _ = model_and_batch()
    copy = ScoredGridPlan.restore(model.hyperparameters())
    copy.load_tensors(model.tensors())
    pictures = torch.rand(1, 3, 5, 6)
    torch.testing.assert_close(copy.field(pictures).node, model.field(pictures).node.float(), atol=1e-5, rtol=1e-5)
    with pytest.raises(StudioError, match="missing"):
        copy.load_tensors({})
    with pytest.raises(StudioError, match="channels"):
        copy.field(torch.rand(1, 1, 5, 6))


def test_a_pixel_without_a_possible_label_is_named() -> None:
    log = torch.zeros(3, 4, LABELS, dtype=torch.float64)
    log[1, 2] = -torch.inf
    with pytest.raises(ContradictoryEvidence, match="row 1, column 2"):
        BeliefPropagation().init(field(3, 4), Evidence(log))


def test_labels_beyond_the_model_are_refused() -> None:
    model, batch = model_and_batch()
    batch["images"] = torch.full((2, 3, 3), 7, dtype=torch.uint8)
    with pytest.raises(StudioError, match="label 7"):
        ScoredGridDensity(model, batch)


def test_contour_images_are_scored_as_every_model_of_contours() -> None:
    """A network that always says OUT finds no figure, though it has most pixels right."""
    model = ScoredGrid(3, 1, 2)
    with torch.no_grad():
        model.tensors()["node.bias"][1] = 9.0
    labels = torch.ones(2, 9, 9, dtype=torch.uint8)
    labels[:, 4, 4] = 0
    found = measure(model, TensorSource(images=labels, noisy_images=torch.ones_like(labels)), 1)
    assert found["pixel_accuracy"] == pytest.approx(80 / 81)
    assert found["iou"] == found["iou_network"] == 0.0
