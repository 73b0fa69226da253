"""A field on a grid given its scores: what a scored grid is once it has seen a picture [McA19].

    s(y) = Σ_i s_n[i, y_i] + Σ_{(i,j)} s_e[ij, y_i, y_j],      P(y) = exp s(y) / Z,      four neighbours

Any number of pictures of one size at once: node (…, H, W, C), right (…, H, W - 1, C, C), down (…, H - 1, W, C, C); the
first of an edge's two labels is that of the left or upper pixel. States are (…, H, W) whole numbers; -1 is a pixel
without a label, and then the functions here sum over its labels, as far as their neighbourhood lets them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.graphs.ising import grid_edges

UNLABELLED = -1
LEFT, RIGHT, UP, DOWN = range(4)


@dataclass(frozen=True, eq=False)
class ScoreField:
    """Node and edge scores; see the module's text."""

    node: Tensor
    right: Tensor
    down: Tensor
    kind = "score-field"

    @property
    def labels(self) -> int:
        return int(self.node.shape[-1])

    @property
    def size(self) -> tuple[int, int]:
        return int(self.node.shape[-3]), int(self.node.shape[-2])

    def part(self, rows: slice) -> ScoreField:
        """Some of the pictures."""
        return ScoreField(self.node[rows], self.right[rows], self.down[rows])

    def detach(self) -> ScoreField:
        return ScoreField(self.node.detach(), self.right.detach(), self.down.detach())

    def scaled(self, edges: float) -> ScoreField:
        """The same with edge scores times a number: 0 is the network alone, 1 network and field."""
        return ScoreField(self.node, edges * self.right, edges * self.down)

    def walls(self) -> tuple[Tensor, Tensor]:
        """How much each edge wants two equal labels: max_c s_e[c, c] less the mean of unequal ones."""
        return _agreement(self.right), _agreement(self.down)

    # Scores -----------------------------------------------------------------------------------------------------------

    def score(self, states: Tensor) -> Tensor:
        """s(y) (…) of states without unlabelled pixels."""
        chosen = functional.one_hot(states, self.labels).to(self.node.dtype)
        total = (chosen * self.node).sum((-3, -2, -1))
        total = total + torch.einsum(
            "...c,...cd,...d->...", chosen[..., :, :-1, :], self.right, chosen[..., :, 1:, :]
        ).sum((-2, -1))
        return total + torch.einsum(
            "...c,...cd,...d->...", chosen[..., :-1, :, :], self.down, chosen[..., 1:, :, :]
        ).sum((-2, -1))

    def conditional_logits(self, states: Tensor) -> Tensor:
        """s_n plus what four neighbours add, (…, H, W, C); an unlabelled one adds the log-mean over its labels.

        The mean is by that neighbour's own node scores: as far as one can sum without its other neighbours.
        """
        known = (states != UNLABELLED).unsqueeze(-1)
        chosen = functional.one_hot(states.clamp_min(0), self.labels).to(self.node.dtype)
        # log-weights of a neighbour's labels: certain where it is labelled
        logs = torch.where(known, torch.where(chosen > 0, 0.0, -1e4), torch.log_softmax(self.node, -1))
        pad = functional.pad
        heard = pad(_heard(logs[..., :, :-1, :], self.right), (0, 0, 1, 0))
        heard = heard + pad(_heard(logs[..., :, 1:, :], self.right.transpose(-1, -2)), (0, 0, 0, 1))
        heard = heard + pad(_heard(logs[..., :-1, :, :], self.down), (0, 0, 0, 0, 1, 0))
        heard = heard + pad(_heard(logs[..., 1:, :, :], self.down.transpose(-1, -2)), (0, 0, 0, 0, 0, 1))
        return self.node + heard

    # As a graph -------------------------------------------------------------------------------------------------------

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        """A variable for each pixel in row-major order; one picture, evidence (H, W, C) packed."""
        height, width = self.size
        edges = torch.as_tensor(grid_edges(height, width).T.copy(), device=self.node.device)
        count = self.labels
        tables = torch.cat([self.right.reshape(-1, count, count), self.down.reshape(-1, count, count)]).permute(1, 2, 0)
        groups = (
            [FactorGroup(tables, edges, torch.arange(edges.shape[1], device=edges.device))] if edges.numel() else []
        )
        graph = FactorGraph(np.full(height * width, count), groups, dtype=self.node.dtype, device=self.node.device)
        graph.unary = torch.zeros(graph.packing.size, dtype=self.node.dtype, device=self.node.device).index_put(
            (self._entries(graph),), self.node.reshape(-1, count)
        )
        packed = torch.zeros(graph.packing.size, dtype=self.node.dtype, device=self.node.device)
        packed[self._entries(graph)] = evidence.log_potentials.reshape(-1, count).to(self.node.dtype)
        return graph, Evidence(packed)

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        """Packed beliefs as (H, W, C)."""
        graph, _ = self.as_graph(evidence)
        return beliefs[self._entries(graph)].reshape(*self.size, self.labels)

    def _entries(self, graph: FactorGraph) -> Tensor:
        return torch.as_tensor(graph.packing.entries(np.arange(graph.variables), self.labels), device=graph.device).T


def _agreement(tables: Tensor) -> Tensor:
    """How much edges want equal labels, (…), of their scores (…, C, C)."""
    count = tables.shape[-1]
    equal = tables.diagonal(dim1=-2, dim2=-1)
    unequal = (tables.sum((-2, -1)) - equal.sum(-1)) / max(count * (count - 1), 1)
    return equal.amax(-1) - unequal


def _heard(logs: Tensor, tables: Tensor) -> Tensor:
    """log Σ_c exp(logs[c] + tables[c, d]), (…, d)."""
    return torch.logsumexp(logs.unsqueeze(-1) + tables, -2)


# Messages -------------------------------------------------------------------------------------------------------------


def flat_messages(field: ScoreField) -> Tensor:
    """What pixels hear from the left, right, upper and lower neighbour, (4, …, H, W, C): log-probabilities."""
    return torch.full(
        (4, *field.node.shape), -float(np.log(field.labels)), dtype=field.node.dtype, device=field.node.device
    )


def next_messages(field: ScoreField, local: Tensor, old: Tensor, *, best: bool = False) -> Tensor:
    """All messages (4, …, H, W, C) once; `local` (…, H, W, C) are node scores with evidence.

    Messages from outside the picture stay flat. With `best` they are max-product messages: the largest term in place of
    the sum.
    """
    total = local + old.sum(0)
    flat = -float(np.log(field.labels))
    pad = functional.pad

    def sent(cavity: Tensor, tables: Tensor) -> Tensor:
        """What edges with scores (…, C, C) make of the senders' cavities (…, C), (…, C)."""
        heard = (cavity.unsqueeze(-1) + tables).amax(-2) if best else _heard(cavity, tables)
        return torch.log_softmax(heard, -1)

    left = sent((total - old[RIGHT])[..., :, :-1, :], field.right)
    right = sent((total - old[LEFT])[..., :, 1:, :], field.right.transpose(-1, -2))
    up = sent((total - old[DOWN])[..., :-1, :, :], field.down)
    down = sent((total - old[UP])[..., 1:, :, :], field.down.transpose(-1, -2))
    return torch.stack(
        [
            pad(left, (0, 0, 1, 0), value=flat),
            pad(right, (0, 0, 0, 1), value=flat),
            pad(up, (0, 0, 0, 0, 1, 0), value=flat),
            pad(down, (0, 0, 0, 0, 0, 1), value=flat),
        ]
    )


@torch.no_grad()
def best_states(field: ScoreField, extra: Tensor, iterations: int, tolerance: float) -> tuple[Tensor, float]:
    """Labels (…, H, W) of a high score with `extra` added to node scores, by max-product; and the last change."""
    local, messages, change = field.node + extra, flat_messages(field), float("inf")
    for _ in range(iterations):
        new = next_messages(field, local, messages, best=True)
        change = float((new.exp() - messages.exp()).abs().amax())
        messages = new
        if change <= tolerance:
            break
    return (local + messages.sum(0)).argmax(-1), change


def edge_logs(field: ScoreField, local: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
    """Unnormalised log-beliefs (…, C, C) of edges to the right and down: cavities of both ends and the edge's scores.

    `local` (…, H, W, C), messages (4, …, H, W, C).
    """
    total = local + messages.sum(0)
    first = (total - messages[RIGHT])[..., :, :-1, :].unsqueeze(-1)
    second = (total - messages[LEFT])[..., :, 1:, :].unsqueeze(-2)
    upper = (total - messages[DOWN])[..., :-1, :, :].unsqueeze(-1)
    lower = (total - messages[UP])[..., 1:, :, :].unsqueeze(-2)
    return first + field.right + second, upper + field.down + lower


def bethe(field: ScoreField, local: Tensor, messages: Tensor) -> Tensor:
    """log Z of Bethe (…): Σ_e log Z_e + Σ_i (1 - d_i) log Z_i."""
    height, width = field.size
    # A flat message from outside is a factor of 1 / C in every product here, and no message at all in the formula.
    outside = torch.zeros_like(messages)
    flat = float(np.log(field.labels))
    outside[LEFT][..., :, 0, :] = outside[RIGHT][..., :, -1, :] = flat
    outside[UP][..., 0, :, :] = outside[DOWN][..., -1, :, :] = flat
    inner = messages + outside
    degree = torch.zeros(height, width, dtype=local.dtype, device=local.device)
    degree[:, 1:] += 1
    degree[:, :-1] += 1
    degree[1:] += 1
    degree[:-1] += 1
    nodes = ((1 - degree) * torch.logsumexp(local + inner.sum(0), -1)).sum((-2, -1))
    right, down = edge_logs(field, local, inner)
    return nodes + torch.logsumexp(right, (-2, -1)).sum((-2, -1)) + torch.logsumexp(down, (-2, -1)).sum((-2, -1))
