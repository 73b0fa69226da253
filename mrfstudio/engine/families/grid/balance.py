"""IN against OUT where nothing is seen: which of them takes the room of the other.

On an endless empty canvas belief propagation has a fixed point in which OUT rules and one in which IN does. Between two
regions without a contour the wall moves towards the one with the smaller log Z for each pixel: training lets IN win,
because figures are filled from their contours inwards. If it wins by much, a wall that stands at the wrong side of a
line runs over the whole canvas. `weigh` gives nats to other labels, so that what is filled needs a contour.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mrfstudio.engine.data.pictures.border_noise import IN, OUT
from mrfstudio.engine.families.contours import UNSEEN
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.shape import GridError

_ITERATIONS = 400
_ELSEWHERE = 1e-6  # first messages for the labels that do not rule


def surplus(model: GridMRF) -> float:
    """Nats for each pixel by which IN beats OUT on an endless empty canvas."""
    return _log_z(model, IN) - _log_z(model, OUT)


def weigh(model: GridMRF, nats: Sequence[float]) -> None:
    """Make each label more likely by its nats on a pixel with all its neighbours, whatever lies beside it."""
    if len(nats) != model.labels:
        raise GridError(f"There are {len(nats)} weights: expected one for each of {model.labels} labels.")
    share = torch.tensor(nats, dtype=model.weights.dtype)[model.label_of_state] / (2 * model.matrices)
    model.set_potentials(model.potentials.detach() + share[:, None] + share)


def hold(model: GridMRF, nats: float) -> None:
    """Make walls between labels besides the first, IN and OUT, harder to move by so many nats, but not in passes.

    What the passes of a coarse start do stays as it was (`GridMRF.eased`).
    """
    before = model.loose_potentials.detach().clone()
    model.eased += nats
    model.set_potentials(before - (model.loose_potentials - model.potentials).detach())


def _log_z(model: GridMRF, label: int) -> float:
    """Bethe's log Z for each pixel of an endless empty canvas on which a label rules."""
    factors = torch.exp(model.potentials.detach().double())
    evidence = torch.exp(model.log_emission[UNSEEN].double())[model.label_of_state]
    both_ways = torch.cat([factors, factors.transpose(1, 2)])  # (directions, sender, receiver)
    ruling = torch.where(model.label_of_state == label, 1.0, _ELSEWHERE).double()
    messages = (ruling / ruling.sum()).expand(len(both_ways), -1)
    for _ in range(_ITERATIONS):
        raw = torch.einsum("ds,dst->dt", _cavities(evidence, messages), both_ways)
        messages = raw / raw.sum(1, keepdim=True)
    node = (evidence * messages.prod(0)).sum()
    near = _cavities(evidence, messages)
    ahead, back = near.chunk(2)
    pairs = torch.einsum("ds,dst,dt->d", ahead, factors, back)
    return float(torch.log(node) + (torch.log(pairs) - 2 * torch.log(node)).sum())


def _cavities(evidence: Tensor, messages: Tensor) -> Tensor:
    """What a pixel sends in each direction, (directions, S): evidence (S,) and all messages but the one from there."""
    return evidence * messages.prod(0) / messages.roll(len(messages) // 2, 0)
