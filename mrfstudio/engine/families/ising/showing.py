"""How Ising models are shown while they learn: couplings, fields, and spins guessed from half of the others."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from mrfstudio.engine.data.binary_rows import rows_of
from mrfstudio.engine.families.ising.model import IsingField
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.training import Panel
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner, derive_seed
from mrfstudio.engine.training.showing import LARGEST_SIDE, QUERIES, ShownModel, showing, signed_panel

LIMITS = Limits(iterations=50, tolerance=1e-6)


@showing("ising")
def show_ising(model: IsingField, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Marginals of belief propagation, given a random half of the spins (N, spins)."""
    states = model.states_of(rows_of(items))
    generator = torch.Generator().manual_seed(derive_seed("shown queries"))
    unknown = torch.rand(states.shape, generator=generator) < 0.5
    up = _chances(model, states, unknown)
    return ShownModel(
        queries=_queries(model, states[:QUERIES], unknown[:QUERIES], up[:QUERIES]),
        pictures=_parameters(model),
        labels=("-1", "+1"),
        probabilities=to_host(torch.stack([1 - up, up], -1)[unknown]),
        outcomes=to_host(states[unknown]),
        remark="Validation samples: how probable is +1 for spins that are hidden, given the others?",
    )


def _chances(model: IsingField, states: Tensor, unknown: Tensor) -> Tensor:
    """P(+1) of each visible spin, (items, visible); what is given is certain. Hidden spins come last."""
    graph, algorithm = model.graph(), BeliefPropagation()
    places = [graph.packing.entry_of(torch.full((model.variables,), state)) for state in (0, 1)]
    found, shown = [], len(model.visible)
    more = (0, model.variables - shown)
    states, unknown = pad(states, more), pad(unknown, more, value=True)
    for row, hidden in zip(states, unknown, strict=True):
        log = torch.zeros(graph.packing.size, dtype=model.weights.dtype)
        for state, place in enumerate(places):
            log[place[~hidden & (row != state)]] = -torch.inf
        evidence = Evidence(log)
        beliefs = algorithm.beliefs(graph, evidence, run(algorithm, graph, evidence, LIMITS).state)
        found.append(beliefs[places[1]][:shown])
    return torch.stack(found).to(torch.float32)


def _queries(model: IsingField, states: Tensor, unknown: Tensor, up: Tensor) -> tuple[tuple[Panel, ...], ...]:
    """Three panels an item; `states`, `unknown` and p(+1) `up` are (N, spins)."""
    shape, spins = _layout(model), states.to(torch.float32)
    given = torch.where(unknown, torch.full_like(spins, np.nan), spins)
    return tuple(
        (
            Panel("given", "masked", to_host(given[index].reshape(shape)), "Spins that are seen: white is +1."),
            Panel("answer", "grey", to_host(up[index].reshape(shape)), "How probable +1 is."),
            Panel("truth", "grey", to_host(spins[index].reshape(shape)), "The sample."),
        )
        for index in range(len(states))
    )


def _layout(model: IsingField) -> tuple[int, int]:
    """Rows and columns in which spins are drawn: the model's own, else a square, else one row."""
    shown = len(model.visible)
    side = math.isqrt(shown)
    return model.shape or ((side, side) if side * side == shown else (1, shown))


def _parameters(model: IsingField) -> tuple[Panel, ...]:
    """Couplings as a symmetric matrix, fields as a picture or a row."""
    count = min(model.variables, LARGEST_SIDE)
    matrix = torch.zeros(model.variables, model.variables)
    couplings = model.couplings.detach().to(torch.float32)
    matrix[model.edges[:, 0], model.edges[:, 1]] = couplings
    matrix[model.edges[:, 1], model.edges[:, 0]] = couplings
    fields = model.fields.detach()[: len(model.visible)].reshape(_layout(model))
    return (
        signed_panel("couplings", matrix[:count, :count], "J between each two spins.", "parameters"),
        signed_panel("fields", fields, "h of each spin.", "parameters"),
    )
