"""How transitions and words get their scores: plain tables, or the network of [WK19], section 4.3.

    directed      log p(z_t | z_{t-1}, …, z_{t-L}) = log softmax(U LN(h + MLP(h))),  h = [e_{z_{t-1}}; …; e_{z_{t-L}}]
    undirected    A_d[k₁, k₂] = r_{k₂}ᵀ LN([a_d; e_{k₁}] + MLP([a_d; e_{k₁}]))
    words         log p(x | k) = log softmax(V LN(e_k + MLP(e_k)))

As printed, h has the last two states only, which is second order; here it has as many as the order. What comes before
the first column is a state of its own, with an embedding. MLP is two layers with a ReLU between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

Tensors = Mapping[str, Tensor]


def start_transitions(
    states: int, order: int, form: str, scores: str, width: int, generator: torch.Generator, noise: float
) -> dict[str, Tensor]:
    """First parameters by name, float64."""
    if scores == "tables":
        shape = (*(states + 1,) * order, states) if form == "directed" else (order, states, states)
        return {"transitions": noise * _normal(generator, *shape)}
    inside = order * width if form == "directed" else 2 * width
    tensors = {"states": _normal(generator, states + 1, width), **_mlp("transition", inside, generator)}
    if form == "directed":
        return {**tensors, "next": _normal(generator, states, inside) / math.sqrt(inside)}
    return {
        **tensors,
        "distances": _normal(generator, order, width),
        "next": _normal(generator, states, inside) / math.sqrt(inside),
    }


def transition_scores(tensors: Tensors, states: int, order: int, form: str, forbidden: Tensor | None) -> Tensor:
    """W (K+1, …, K+1, K): what each state scores after those before it; rows of a directed chain sum to one."""
    if form == "directed":
        raw = (
            tensors["transitions"]
            if "transitions" in tensors
            else _directed_features(tensors, order) @ tensors["next"].T
        )
        if forbidden is not None:
            raw = raw.masked_fill(forbidden, -torch.inf)
        return torch.log_softmax(raw, -1)
    pairs = pair_scores(tensors, states, order)
    whole = pairs.new_zeros((states + 1,) * order + (states,))
    for distance in range(1, order + 1):
        # Axis `order - distance` is the state so many columns before; beyond the beginning it says nothing.
        own = torch.cat([pairs[distance - 1], pairs.new_zeros(1, states)])
        whole = whole + own.reshape([states + 1 if axis == order - distance else 1 for axis in range(order)] + [states])
    return whole


def pair_scores(tensors: Tensors, states: int, order: int) -> Tensor:
    """A (L, K, K) of an undirected chain: A_d[earlier, later]."""
    if "transitions" in tensors:
        return tensors["transitions"]
    return _pair_features(tensors, states, order) @ tensors["next"].T


def aimed(tensors: Tensors, order: int, form: str, words: Tensor, transitions: Tensor) -> dict[str, Tensor]:
    """Last layers of the network whose scores come as near as they can to log p(x | z) (K, V) and to transitions.

    Transitions are (K+1, …, K+1, K) of a directed chain, (L, K, K) of an undirected one.
    """
    states = len(words)
    if form == "directed":
        features = _directed_features(tensors, order)
    else:
        features = _pair_features(tensors, states, order)
    return {
        "words": _solved(_word_features(tensors, states), words),
        "next": _solved(features.flatten(0, -2), transitions.flatten(0, -2)),
    }


def _solved(features: Tensor, targets: Tensor) -> Tensor:
    """The smallest weights (outputs, width) that take features (n, width) to targets (n, outputs), or near them."""
    return (torch.linalg.pinv(features) @ targets).T


def start_words(
    states: int, words: int, scores: str, width: int, generator: torch.Generator, noise: float
) -> dict[str, Tensor]:
    """Rows of emissions start unequal: equal ones are a plateau that gradients do not leave."""
    if scores == "tables":
        return {"words": noise * _normal(generator, states, words)}
    return {**_mlp("word", width, generator), "words": _normal(generator, words, width) / math.sqrt(width)}


def word_scores(tensors: Tensors, states: int) -> Tensor:
    """log p(x | z), (K, V)."""
    if "word_in" not in tensors:
        return torch.log_softmax(tensors["words"], -1)
    return torch.log_softmax(_word_features(tensors, states) @ tensors["words"].T, -1)


def _word_features(tensors: Tensors, states: int) -> Tensor:
    """LN(e_k + MLP(e_k)) (K, width)."""
    return _residual(tensors, "word", tensors["states"][:states])


def _pair_features(tensors: Tensors, states: int, order: int) -> Tensor:
    """LN([a_d; e_k] + MLP([a_d; e_k])) (L, K, 2 width)."""
    own, distances = tensors["states"][:states], tensors["distances"]
    h = torch.cat([distances[:, None].expand(-1, states, -1), own.expand(order, -1, -1)], -1)
    return _residual(tensors, "transition", h)


def _directed_features(tensors: Tensors, order: int) -> Tensor:
    """LN(h + MLP(h)) (K+1, …, K+1, L width) of the states before; embeddings (K+1, width)."""
    own = tensors["states"]
    count = len(own)
    parts = []
    for distance in range(1, order + 1):
        shape = [count if axis == order - distance else 1 for axis in range(order)]
        parts.append(own.reshape(*shape, -1).expand(*(count,) * order, -1))
    return _residual(tensors, "transition", torch.cat(parts, -1))


def _mlp(name: str, width: int, generator: torch.Generator) -> dict[str, Tensor]:
    return {
        f"{name}_in": _normal(generator, width, width) / math.sqrt(width),
        f"{name}_in_bias": torch.zeros(width, dtype=torch.float64),
        f"{name}_out": _normal(generator, width, width) / math.sqrt(width),
        f"{name}_out_bias": torch.zeros(width, dtype=torch.float64),
        f"{name}_gain": torch.ones(width, dtype=torch.float64),
        f"{name}_offset": torch.zeros(width, dtype=torch.float64),
    }


def _residual(tensors: Tensors, name: str, h: Tensor) -> Tensor:
    """LN(h + MLP(h)) over the last axis of h (…, width)."""
    inside = torch.relu(h @ tensors[f"{name}_in"] + tensors[f"{name}_in_bias"])
    total = h + inside @ tensors[f"{name}_out"] + tensors[f"{name}_out_bias"]
    return layer_norm(total, total.shape[-1:], tensors[f"{name}_gain"], tensors[f"{name}_offset"])


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)
