"""Naive mean field: the product of single-variable distributions nearest to the model.

    log q_i(x_i) = local_i(x_i) + Σ_{a∋i} E_q[θ_a | x_i] + const

A sweep updates variables colour by colour, so that every update is coordinate ascent on the lower bound
-F = Σ_a E_q[θ_a] + Σ_i E_q[local_i] + H(q) ≤ log Z, which therefore never falls without damping.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.catalogue import number
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.contract import Algorithm, Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.factor_messages import contract, weighted_sum
from mrfstudio.engine.inference.schedules import variable_colors
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.models.possible import check_possible
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class MeanField(Algorithm):
    """Parameters of mean field."""

    name = "mean-field"
    title = "Mean field"
    summary = (
        "Independent variables that fit the model best; log Z is a lower bound at every iteration. "
        "The residual is the largest change of a belief."
    )
    differentiable = True

    damping: float = number(0.0, "How much of the old belief is kept at each update.", low=0, high=1, high_open=True)


@dataclass(frozen=True, eq=False)
class Product(State):
    """q, packed (…, size)."""

    beliefs: Tensor


@kernel(MeanField, FactorGraph)
class MeanFieldOnGraph(Kernel):
    """Any factor graph."""

    def init(self, algorithm: MeanField, model: FactorGraph, evidence: Evidence) -> Product:
        check_possible(model, evidence)
        local = model.local_potentials(evidence)
        return Product(0, nothing_changed(local), model.packing.softmax(local))

    def step(self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product) -> Product:
        local = model.local_potentials(evidence)
        q = state.beliefs
        for mask in _color_masks(model):
            update = model.packing.softmax(local + model.packing.sum_incoming(_expectations(model, q)))
            if algorithm.damping:
                update = torch.lerp(update, q, algorithm.damping)
            q = torch.where(mask, update, q)
        with torch.no_grad():
            change = (q - state.beliefs).abs()
            residual = change.max() if change.numel() else change.new_zeros(())
        if algorithm.damping:
            residual = residual / (1 - algorithm.damping)
        return Product(state.iteration + 1, residual, q)

    def beliefs(self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product) -> Tensor:
        return state.beliefs

    def factor_beliefs(
        self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product
    ) -> list[Tensor]:
        products = []
        for blocks in _blocks(model, state.beliefs):
            joint = blocks[0]
            for block in blocks[1:]:
                joint = joint.unsqueeze(-2) * block.reshape(
                    *block.shape[:-2], *([1] * (joint.ndim - block.ndim + 1)), *block.shape[-2:]
                )
            products.append(joint)
        return products

    def log_partition(
        self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product
    ) -> LogPartition:
        q = state.beliefs
        local = model.local_potentials(evidence)
        # States of probability 0 contribute nothing, even where the evidence makes them -inf.
        energy = torch.where(q > 0, q * local.clamp(min=torch.finfo(q.dtype).min), torch.zeros_like(q)).sum(-1)
        for table, blocks in zip(model.finite_tables(), _blocks(model, q), strict=True):
            total = table
            for block in reversed(blocks):
                total = (total * block.reshape(*[1] * (total.ndim - block.ndim), *block.shape)).sum(-2)
            energy = energy + total.sum(-1)
        value = model.constant + energy + torch.special.entr(q).sum(-1)
        return LogPartition(float(value), "lower_bound")


def _color_masks(model: FactorGraph) -> list[Tensor]:
    """For each colour, which packed entries belong to its variables."""

    def make() -> list[Tensor]:
        masks = []
        owner = model.packing.owners(model.device)
        for variables in variable_colors(model):
            chosen = torch.zeros(model.variables, dtype=torch.bool, device=model.device)
            chosen[variables] = True
            masks.append(chosen[owner])
        return masks

    return model.structural("colour masks", make)


def _blocks(model: FactorGraph, q: Tensor) -> list[list[Tensor]]:
    return model.packing.by_message(model.packing.spread(q))


def _expectations(model: FactorGraph, q: Tensor) -> Tensor:
    """E_q[θ_a | x_i] for every factor and each of its variables, flat (…, messages)."""
    parts = []
    for table, blocks in zip(model.finite_tables(), _blocks(model, q), strict=True):
        parts += [contract(table, blocks, axis, weighted_sum).flatten(-2) for axis in range(len(blocks))]
    return torch.cat(parts, -1) if parts else q.new_zeros((*q.shape[:-1], 0))
