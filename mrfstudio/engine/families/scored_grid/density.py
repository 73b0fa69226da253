"""Densities of scored grids: labels (B, H · W) given a picture; gradients are marginals less truth.

    ∂(-ln P(y)) / ∂s_n[i, c] = p_i(c) - [y_i = c],     ∂/∂s_e[ij, c, d] = p_ij(c, d) - [y_i = c, y_j = d]

A pixel without a label is summed out: its part of the truth is what inference finds with all known labels held.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import torch
from torch import Tensor

from mrfstudio.engine.families.scored_grid.evaluation import measure
from mrfstudio.engine.families.scored_grid.field import UNLABELLED, ScoreField, best_states, bethe
from mrfstudio.engine.families.scored_grid.model import ScoredGrid, labels_of, pictures_of
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.training.density import Density, Inference, PartitionEstimate, density
from mrfstudio.engine.training.learner import BatchSource

HELD = -1e4
"""Log-potential of labels that a known pixel does not have; finite, so that gradients stay so."""
ASKED = Inference(BeliefPropagation(), Limits(iterations=20, tolerance=1e-3))
"""How unlabelled pixels are summed out where a learner names no algorithm."""


@density("scored-grid")
class ScoredGridDensity(Density):
    """A scored grid with pictures and labels; -1 in `visible` is a pixel without a label."""

    conditional = True
    single_sites = True
    margins = True

    def __init__(self, model: ScoredGrid, batch: Mapping[str, Tensor]) -> None:
        """Pictures (B, channels, H, W) and their labels (B, H, W), as `pictures_of` and `labels_of` find them."""
        self.model = model
        self.field = model.field(pictures_of(batch))
        labels = labels_of(batch, model.labels)
        self.visible, self.draws = labels.flatten(1), labels[0].numel()
        self.inference = ASKED

    def part(self, rows: slice) -> ScoredGridDensity:
        part = copy(self)
        part.visible, part.field = self.visible[rows], self.field.part(rows)
        return part

    def score(self, states: Tensor) -> Tensor:
        """s(y), or log Σ exp s over the labels of unlabelled pixels (as BP estimates it), (B,)."""
        grid = self._grid(states)
        if bool((grid != UNLABELLED).all()):
            return self.field.score(grid)
        found = marginals(self.field, held(grid, self.field), self.inference)
        return found.value + (found.surrogate - found.surrogate.detach())

    def log_conditionals(self, states: Tensor) -> Tensor:
        """0 at pixels without a label: they say nothing."""
        grid = self._grid(states)
        logs = torch.log_softmax(self.field.conditional_logits(grid), -1)
        chosen = logs.gather(-1, grid.clamp_min(0).unsqueeze(-1)).squeeze(-1)
        return torch.where(grid == UNLABELLED, 0.0, chosen).flatten(1)

    @torch.no_grad()
    def sweep(self, states: Tensor, uniform: Tensor) -> Tensor:
        """Both colours of the checkerboard in turn."""
        grid, field = self._grid(states), self.field.detach()
        rows, columns = (torch.arange(n, device=field.node.device) for n in field.size)
        odd = (rows[:, None] + columns) % 2 == 1
        for colour in (odd, ~odd):
            fresh = drawn(field.conditional_logits(grid), self._grid(uniform))
            grid = torch.where(colour, fresh, grid)
        return grid.flatten(1)

    @torch.no_grad()
    def redraw_site(self, states: Tensor, uniform: Tensor) -> Tensor:
        count = states.shape[1]
        site = (uniform[:, :1] * count).long().clamp_max(count - 1)
        logits = self.field.detach().conditional_logits(self._grid(states)).flatten(1, 2)
        fresh = drawn(logits, uniform[:, 1:].expand(-1, count))
        return states.scatter(1, site, fresh.gather(1, site))

    @torch.no_grad()
    def alone(self) -> Tensor:
        return self.field.node.argmax(-1).flatten(1)

    def partition(self, inference: Inference) -> PartitionEstimate:
        self.inference = inference  # the truth's unlabelled pixels are summed out in the same way
        return marginals(self.field, torch.zeros_like(self.field.node), inference)

    def rival(self, iterations: int, tolerance: float) -> tuple[Tensor, float]:
        """Wrong labels of known pixels are worth 1 each; unlabelled ones may be anything."""
        truth, field = self._grid(self.visible), self.field.detach()
        wrong = (truth.unsqueeze(-1) != torch.arange(field.labels, device=truth.device)) & (
            truth != UNLABELLED
        ).unsqueeze(-1)
        states, change = best_states(field, wrong.to(field.node.dtype), iterations, tolerance)
        return states.flatten(1), float(change <= tolerance)

    def wrong(self, states: Tensor) -> Tensor:
        return ((states != self.visible) & (self.visible != UNLABELLED)).to(self.field.node.dtype).sum(1)

    def _grid(self, flat: Tensor) -> Tensor:
        """Pixels (B, H · W) as (B, H, W)."""
        return flat.reshape(len(flat), *self.field.size)

    @classmethod
    def refusal(cls, model: ScoredGrid, algorithm: Algorithm) -> str | None:
        if algorithm.name not in ("bp", "exact"):
            return f"{algorithm.name} gives no pairs of labels on a scored-grid: use bp, or exact on tiny pictures."
        return None

    @classmethod
    def measure(cls, model: ScoredGrid, source: BatchSource) -> dict[str, float]:
        return measure(model, source)


def held(states: Tensor, field: ScoreField) -> Tensor:
    """Log-potentials (B, H, W, C) that hold known labels."""
    labels = torch.arange(field.labels, device=field.node.device)
    wrong = (states.unsqueeze(-1) != labels) & (states != UNLABELLED).unsqueeze(-1)
    return torch.where(wrong, HELD, 0.0).to(field.node.dtype)


def marginals(field: ScoreField, log_potentials: Tensor, inference: Inference) -> PartitionEstimate:
    """log Z of each picture with log-potentials (B, H, W, C), and the gradient that the marginals give."""
    if inference.algorithm.name == "exact":
        parts = [_exact(field.part(slice(b, b + 1)), log_potentials[b]) for b in range(len(log_potentials))]
        value, node, right, down = (torch.stack(each) for each in zip(*parts, strict=True))
        converged = 1.0
    else:
        value, node, right, down, converged = _messages(field, log_potentials, inference)
    surrogate = (node * field.node).sum((1, 2, 3))
    surrogate = surrogate + (right * field.right).sum((1, 2, 3, 4)) + (down * field.down).sum((1, 2, 3, 4))
    return PartitionEstimate(value, surrogate, converged)


@torch.no_grad()
def _messages(
    field: ScoreField, log_potentials: Tensor, inference: Inference
) -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    """Bethe's log Z (B,), beliefs of pixels and of both kinds of edges, and whether the run converged."""
    plain, evidence, algorithm = field.detach(), Evidence(log_potentials), inference.algorithm
    outcome = run(algorithm, plain, evidence, inference.limits)
    right, down = algorithm.factor_beliefs(plain, evidence, outcome.state)
    node = algorithm.beliefs(plain, evidence, outcome.state)
    value = bethe(plain, plain.node + log_potentials, outcome.state.messages)  # type: ignore[attr-defined]
    return value, node, right, down, float(outcome.converged)


@torch.no_grad()
def _exact(field: ScoreField, log_potentials: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same by summing over all labels of one picture; evidence (H, W, C)."""
    one = ScoreField(field.node[0].detach(), field.right[0].detach(), field.down[0].detach())
    graph, packed = one.as_graph(Evidence(log_potentials))
    algorithm = Exact()
    outcome = run(algorithm, graph, packed, Limits())
    node = one.from_graph(algorithm.beliefs(graph, packed, outcome.state), Evidence(log_potentials))
    tables = algorithm.factor_beliefs(graph, packed, outcome.state)
    count, (height, width) = one.labels, one.size
    across = height * (width - 1)
    flat = tables[0].permute(2, 0, 1) if tables else one.right.new_zeros(0, count, count)
    right = flat[:across].reshape(height, width - 1, count, count)
    down = flat[across:].reshape(height - 1, width, count, count)
    value = algorithm.log_partition(graph, packed, outcome.state).value
    return torch.tensor(value, dtype=node.dtype, device=node.device), node, right, down


def drawn(logits: Tensor, uniform: Tensor) -> Tensor:
    """A label (…) from logits (…, C) and one uniform number each."""
    bounds = torch.softmax(logits, -1).cumsum(-1)
    # The last bound is 1 but for rounding; a draw above it means the last label.
    return (bounds[..., :-1] <= uniform.unsqueeze(-1)).sum(-1)
