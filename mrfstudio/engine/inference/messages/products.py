"""One parallel step of belief propagation with products of probabilities in place of sums of logarithms.

What a factor says to a variable is at least e^-f, f the span of its table and the logarithm of the number of states.
Where degrees and spans are small, products of as many messages as a variable has stay within the range of their
precision: then one exponential of the messages serves cavities and residual, and nothing is scaled by its peak.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages
from mrfstudio.engine.inference.residuals import largest_change
from mrfstudio.engine.runtime.powers import exponential, logarithm


def within_products(graph: FactorGraph) -> bool:
    """Whether no product of messages is lost: the least beside one more table, to all its digits, is a number still."""
    return graph.derived("within products", lambda: _fits(graph))


def _fits(graph: FactorGraph) -> bool:
    if graph.has_zeros or not graph.groups:
        return False
    kind = torch.finfo(graph.dtype)
    degree = max(block.degree for block in graph.packing.blocks)
    faintest = FactorMessages.of_graph(graph).faintest
    return (degree + 1) * faintest <= math.log(kind.eps) - math.log(kind.tiny)


def by_products(graph: FactorGraph, evidence: Evidence, messages: Tensor) -> tuple[Tensor, Tensor]:
    """New log-messages (…, message size) before damping, and the residual, a scalar."""
    part, packing = FactorMessages.of_graph(graph), graph.packing
    local = evidence.derived(graph, "linear local", lambda: _linear_local(graph, evidence))
    old = exponential(messages)
    totals = local * packing.product_incoming(old)
    new = part.shares(packing.spread(totals) / old)
    proposal = logarithm(new)
    if part.saturating:
        return proposal, largest_change(proposal, messages)
    with torch.no_grad():
        return proposal, (new - old).abs_().amax() if new.numel() else new.new_zeros(())


def _linear_local(graph: FactorGraph, evidence: Evidence) -> Tensor:
    """Local potentials (…, packed size) as weights, the largest of each variable 1."""
    local = graph.local_potentials(evidence)
    blocks = [block - block.detach().amax(-2, keepdim=True) for block in graph.packing.by_block(local)]
    return torch.exp(torch.cat([block.flatten(-2) for block in blocks], -1))
