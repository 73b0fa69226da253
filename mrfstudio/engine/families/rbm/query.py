"""Query training of restricted and deep Boltzmann machines: some visible units are given, others asked for.

The loss is the cross-entropy of the beliefs after N iterations at the visible units asked for, in bits, a mean over
them: NCE = Σ cross-entropy / (ln 2 · targets). The second hidden layer of a DBM carries messages and has no part in the
loss. Units given as 0 or 1 are exact; grey levels between are soft evidence, and as targets probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.families.rbm.bipartite import unknown_units, unrolled_log_odds, with_silence
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.runtime.threads import side_by_side
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, TrainingData, derive_seed
from mrfstudio.engine.training.learners.query import Query, iterations_now, query_objective
from mrfstudio.engine.training.queries import parse_queries, settled_share

FEW = 100
"""Items on which is measured how much of belief propagation has converged."""
AT_ONCE = 200_000
"""Messages in one direction that are unrolled together; more leave the cache."""
LARGEST_ODDS = 1000.0
"""Where soft evidence is cut: a grey level of nearly 0 is no contradiction."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """The parameters over T, as `unrolled_log_odds` wants them, and T itself."""

    columns: Tensor  # (O + 1, H), the last row 0
    outer: Tensor  # (O,)
    hidden: Tensor  # (H,)
    temperature: Tensor  # ()

    @classmethod
    def of(cls, model: RBM) -> Scaled:
        t = model.temperature
        return cls(with_silence(model.weights.t() / t), model.outer_bias / t, model.hidden_bias / t, t)

    @property
    def all(self) -> tuple[Tensor, ...]:
        return self.columns, self.outer, self.hidden, self.temperature

    def leaves(self) -> Scaled:
        """The same values as the beginning of a graph of their own."""
        return Scaled(*(tensor.detach().requires_grad_() for tensor in self.all))


@dataclass(frozen=True)
class BinaryScores:
    """Sums over units that were asked for, and how many items they came from."""

    items: int = 0
    targets: int = 0
    bits: float = 0.0
    right: float = 0.0

    def __add__(self, other: BinaryScores) -> BinaryScores:
        return BinaryScores(
            self.items + other.items, self.targets + other.targets, self.bits + other.bits, self.right + other.right
        )

    def means(self) -> dict[str, float]:
        count = max(self.targets, 1)
        return {"nce_bits": self.bits / count, "accuracy": self.right / count}


@query_objective("dbm")
@query_objective("rbm")
class MachineObjective:
    """Loss and scores for rows (B, V) of values from 0 to 1."""

    def shape(self, model: RBM) -> tuple[int, ...]:
        return tuple(model.belief_shape)

    def start(self, learner: Query, model: RBM, data: TrainingData, seed: int) -> dict[str, Tensor]:
        """A machine whose messages have temperature 1 begins at the learner's; one trained already keeps its own."""
        if model.temperature_now == 1.0:
            with torch.no_grad():
                model.log_temperature.fill_(math.log(learner.start_temperature))
        some = binary_rows(data.train[torch.arange(min(5000, len(data.train)))]).to(model.dtype)
        return {"centre": pad(2 * some.mean(0) - 1, (0, model.second))}

    def batch(
        self,
        learner: Query,
        model: RBM,
        batch: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        context: BatchContext,
    ) -> BatchResult:
        rows = binary_rows(batch).to(model.dtype)
        unknown = parse_queries(learner.queries).draw_batch(model.belief_shape, context).flatten(1)
        targets = max(1, int(unknown.sum()))
        iterations = iterations_now(learner, context)
        scaled = Scaled.of(model)
        leaves = scaled.leaves()

        def differentiated(items: Tensor) -> tuple[float, tuple[Tensor, ...]]:
            """The loss of some items (n,) by number, and its gradients."""
            nats = query_nats(model, leaves, rows[items], unknown[items], iterations, learner.readouts)
            bits = nats / (math.log(2) * targets)
            return float(bits.detach()), torch.autograd.grad(bits, leaves.all)

        found = side_by_side(differentiated, parts(model, rows, unknown))
        sums = [_added(given) for given in zip(*(gradients for _, gradients in found), strict=True)]
        trained = [tensor for tensor in model.tensors().values() if tensor.requires_grad]
        for tensor, gradient in zip(trained, torch.autograd.grad(scaled.all, trained, sums), strict=True):
            tensor.grad = gradient
        _centre(model, state["centre"])
        scalars = {"iterations": float(iterations), "temperature": float(leaves.temperature.detach())}
        return BatchResult(sum(bits for bits, _ in found), float(targets), scalars, state)

    def after_step(self, learner: Query, model: RBM) -> None:
        """Take from the hidden biases what the step of the weights gave to the mean of the data."""
        if model.centred is not None:
            before, centre = model.centred
            model.hidden_bias -= (model.weights - before) @ centre
            model.centred = None

    def validate(self, learner: Query, model: RBM, source: BatchSource) -> dict[str, float]:
        """Scores on queries that are the same each time."""
        rows = binary_rows(source[torch.arange(len(source))])
        generator = torch.Generator().manual_seed(derive_seed("validation queries"))
        unknown = parse_queries(learner.queries).draw(len(rows), model.belief_shape, generator)
        found = binary_scores(model, rows, unknown.flatten(1), learner.iterations).means()
        return {**found, "converged": settled(model, rows[:FEW], unknown.flatten(1)[:FEW], learner.iterations)}


def _centre(model: RBM, centre: Tensor) -> None:
    """Turn the gradients of W and c_H into those of W and b with W õ + c_H = W (õ - centre) + b; centre (O,).

    Most units of most data are nearly always 0. Without this a step of the weights mostly moves the mean of what hidden
    units hear, and training first learns to undo that. `after_step` turns the step back into one of c_H.
    """
    if model.weights.grad is None or model.hidden_bias.grad is None:
        return
    model.weights.grad -= torch.outer(model.hidden_bias.grad, centre)
    model.centred = model.weights.detach().clone(), centre


def _added(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, in the memory of the first."""
    total = tensors[0]
    for tensor in tensors[1:]:
        total += tensor
    return total


def parts(model: RBM, rows: Tensor, unknown: Tensor) -> list[Tensor]:
    """Items of a batch (B, V) in groups (n,) of like size, about `AT_ONCE` messages each: little of it is padding."""
    count = carrying(rows, unknown).sum(1) + model.second
    order = torch.argsort(count, stable=True)
    sizes = (count[order].clamp(min=1) * model.hidden).tolist()
    ends, start = [], 0
    for place, size in enumerate(sizes):  # sizes rise: the last one is that of the whole group
        if (place - start + 1) * size > AT_ONCE and place > start:
            ends.append(place)
            start = place
    return list(torch.tensor_split(order, ends))


def carrying(rows: Tensor, unknown: Tensor) -> Tensor:
    """Visible units (B, V) that carry messages: those asked for, and those given softly."""
    return unknown | ((rows > 0) & (rows < 1))


def query_nats(model: RBM, scaled: Scaled, rows: Tensor, unknown: Tensor, iterations: int, readouts: int = 1) -> Tensor:
    """Cross-entropy in nats at the units asked for, summed over a few items (B, V), a mean over the last `readouts`."""
    unit, target, odds = _answers(model, scaled, rows, unknown, iterations)
    earlier = range(max(1, iterations - readouts + 1), iterations)
    found = [odds, *(_answers(model, scaled, rows, unknown, iteration)[2] for iteration in earlier)]
    value = pad(rows, (0, model.second + 1)).gather(1, unit)
    each = torch.stack([_cross_entropy(log_odds, value) for log_odds in found]).mean(0)
    return torch.where(target, each, torch.zeros_like(each)).sum()


def _cross_entropy(log_odds: Tensor, value: Tensor) -> Tensor:
    """-v log σ(x) - (1 - v) log σ(-x), without cancellation; all (B, U)."""
    return torch.relu(log_odds) - value * log_odds + torch.log1p(torch.exp(-log_odds.abs()))


def _answers(
    model: RBM, scaled: Scaled, rows: Tensor, unknown: Tensor, iterations: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Units (B, U) that carry messages, whether they are asked for, and their log-odds."""
    carries = pad(carrying(rows, unknown), (0, model.second), value=True)
    unit = unknown_units(~carries)
    spins = torch.where(carries, torch.zeros_like(scaled.outer), pad(2 * rows - 1, (0, model.second)))
    given = torch.logit(rows).clamp(-LARGEST_ODDS, LARGEST_ODDS)
    soft = torch.where(unknown, torch.zeros_like(given), given)
    soft = pad(soft, (0, model.second + 1)).gather(1, unit)
    outer = pad(scaled.outer, (0, 1))[unit] + soft / scaled.temperature
    field = spins @ scaled.columns[:-1]
    odds = unrolled_log_odds(scaled.columns, unit, outer, scaled.hidden, field, iterations)
    target = pad(unknown, (0, model.second + 1)).gather(1, unit)
    return unit, target, scaled.temperature * odds


@torch.no_grad()
def settled(model: RBM, rows: Tensor, unknown: Tensor, iterations: int) -> float:
    """The share of units asked for (B, V) whose belief hardly changes in the last iteration."""
    rows, scaled = rows.to(model.dtype), Scaled.of(model)
    now, before = (_answers(model, scaled, rows, unknown, count) for count in (iterations, max(iterations - 1, 1)))
    odds = torch.stack([before[2], now[2]])[:, now[1]]
    return settled_share(torch.nn.functional.logsigmoid(torch.stack([-odds, odds], -1)))


@torch.no_grad()
def binary_scores(model: RBM, rows: Tensor, unknown: Tensor, iterations: int) -> BinaryScores:
    """Scores of the model's answers for rows (B, V) with units asked for (B, V)."""
    rows = rows.to(model.dtype)
    scaled = Scaled.of(model)

    def measured(items: Tensor) -> BinaryScores:
        """Sums over some items (n,) by number."""
        unit, target, odds = _answers(model, scaled, rows[items], unknown[items], iterations)
        value = pad(rows[items], (0, model.second + 1)).gather(1, unit)
        bits = float(_cross_entropy(odds, value)[target].double().sum()) / math.log(2)
        right = int(((odds > 0) == (value > 0.5))[target].sum())
        return BinaryScores(len(items), int(target.sum()), bits, right)

    return sum(side_by_side(measured, parts(model, rows, unknown)), BinaryScores())
