"""Contraction of all tables of a graph to log Z, one pair of tables at a time, and its gradient.

opt_einsum finds the order. In the linear domain every result is divided by its largest entry and the logarithm kept
aside. That is quick, and wrong where what was thrown away as too small turns out to be all there is: a table says
e^-800 and the next one e^800. So every step notes how small its entries became and by how much log Z could still rise:
with all tables scaled to at most 1, what is lost at a step is at most

    tiny · exp(scales so far) · (assignments of the variables not yet summed out).

Where that is not negligible against Z, the tables are balanced first (`balanced`): what one of them claims and another
denies is settled before anything is multiplied. Where even that does not do, variables are summed out one by one in the
log domain, in 64 bits: slower, and nothing is lost there, so that log Z = -inf proves that no assignment is possible.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.packing import Values
from mrfstudio.engine.graphs.possible import possible_states
from mrfstudio.engine.inference.exact.elimination import elimination_order
from mrfstudio.engine.inference.exact.planning import alone, plan_of
from mrfstudio.engine.inference.exact.small import contracted_small, tame
from mrfstudio.engine.inference.schedules import color_masks
from mrfstudio.engine.runtime.device import wide

NEGLIGIBLE = math.log(1e-12)
"""What may be lost of Z, as a logarithm: below the accuracy of anything that is printed."""


TINY = 2e6
"""Bytes up to which all is done in numpy."""
SWEEPS = 30
"""Sweeps that balance strong tables: on grids the sum of maxima has come down to nearly its least by then."""

Contraction = Callable[[FactorGraph, list[Tensor]], "Tensor | None"]


@dataclass(frozen=True, eq=False)
class Contracted:
    """log Z without the graph's constant, and its gradients by local potentials and tables where they were wanted."""

    log_z: Tensor
    gradients: tuple[Tensor, ...]


def contracted(model: FactorGraph, local: Tensor, tables: list[Tensor], *, gradients: bool = True) -> Contracted:
    """The quickest contraction that can be trusted. Gradients have the precision of `local`; log Z, a sum over the
    whole graph, has the best there is.

    `local` is packed, (size,); `tables` are (k_1, …, k_r, n), one for each group of factors.
    """
    if gradients and local.dtype == torch.float64 and local.device.type == "cpu" and plan_of(model).bytes <= TINY:
        quick = _small(model, local.detach(), [table.detach() for table in tables])
        if quick is not None:
            return quick
    dtypes = [local.dtype]
    if local.dtype != torch.float64 and local.device.type != "mps":  # which has no 64 bits
        dtypes.append(torch.float64)
    tries: list[tuple[torch.dtype, bool, Contraction]] = [(dtype, False, _linear) for dtype in dtypes]
    tries += [(dtypes[-1], True, _linear), (dtypes[-1], False, _logarithmic)]
    found = None
    for dtype, balance, contraction in tries:
        given = local.detach().to(dtype), [table.detach().to(dtype) for table in tables]
        shifts = balanced(model, *given) if balance else None
        found = _tried(model, *given, shifts, contraction, gradients)
        if found is not None:
            break
    assert found is not None  # the log domain always answers
    return Contracted(found.log_z, tuple(g.to(local.dtype) for g in found.gradients))


def _small(model: FactorGraph, local: Tensor, tables: list[Tensor]) -> Contracted | None:
    """The same in numpy, in the shapes of `contracted`; None where tables are too wild for it."""
    plan, packing, own = plan_of(model), model.packing, local.numpy()
    vectors = [
        v[:, None]
        for b, each in zip(packing.blocks, packing.by_block(own), strict=True)
        if not b.degree
        for v in each.T
    ]
    given = np.where(_homes(model).numpy(), own[packing.cavity_entries], 0.0)
    grouped = [_shifted(t.numpy(), each) for t, each in zip(tables, packing.by_message(given), strict=True)]
    logs = [*vectors, *grouped]
    tops = [log.max(axis=tuple(range(log.ndim - 1))) for log in logs]
    if not all(np.isfinite(top).all() for top in tops):
        return None
    logs = [log - top for log, top in zip(logs, tops, strict=True)]
    if not tame(logs, plan.assignments):
        return None
    operands = [table for log in logs for table in np.ascontiguousarray(np.moveaxis(np.exp(log), -1, 0))]
    log_z, found = contracted_small(operands, plan.scopes, plan.steps)
    if not found:
        return Contracted(local.new_tensor(log_z), ())
    single = alone(model)
    marginals, at = np.zeros(packing.size), len(single)
    for v, vector in zip(single, found[:at], strict=True):
        marginals[packing.entries(np.array([v]), len(vector))[:, 0]] = vector
    factors, heard = [], []
    for group in model.groups:
        joint = np.stack(found[at : at + group.count], -1)
        at += group.count
        factors.append(torch.from_numpy(joint))
        heard += [joint.sum(tuple(o for o in range(group.order) if o != axis)).ravel() for axis in range(group.order)]
    if heard:
        home = _homes(model).numpy()
        marginals[packing.cavity_entries[home]] = np.concatenate(heard)[home]
    return Contracted(
        local.new_tensor(sum(float(top.sum()) for top in tops) + log_z), (torch.from_numpy(marginals), *factors)
    )


def _tried(
    model: FactorGraph,
    local: Tensor,
    tables: list[Tensor],
    shifts: Tensor | None,
    contraction: Contraction,
    gradients: bool,
) -> Contracted | None:
    """One way to contract, in the shapes of `contracted`; None where its answer cannot be trusted."""
    leaves = [tensor.clone().requires_grad_(gradients) for tensor in (local, *tables)]
    with torch.set_grad_enabled(gradients):
        log_z = contraction(model, _operands(model, leaves[0], leaves[1:], shifts))
        if log_z is None:
            return None
        if not gradients or bool(log_z.detach().isneginf()):
            return Contracted(log_z.detach(), ())
        found = torch.autograd.grad(log_z, leaves)
    if contraction is not _logarithmic and not _sums_to_one(model, found[0]):
        return None
    return Contracted(log_z.detach(), found)


def _sums_to_one(model: FactorGraph, marginals: Tensor) -> bool:
    """Going back, quotients by very small sums can overflow where nothing on the way there did; marginals (size,)."""
    sums = model.packing.sum_states(marginals)
    most = 1e3 * len(sums) * torch.finfo(sums.dtype).eps
    return bool(((sums - 1).abs() <= most).all() & torch.isfinite(marginals).all())


def _homes(model: FactorGraph) -> Tensor:
    """Which messages (messages,) go from a variable to the first of its factors, which takes its local potential."""

    def make() -> Tensor:
        first = np.unique(model.packing.cavity_entries, return_index=True)[1]
        found = np.zeros(model.packing.message_size, bool)
        found[first] = True
        return torch.as_tensor(found, device=model.device)

    return model.structural(f"homes {model.device}", make)


def _with_local(
    model: FactorGraph, local: Tensor, tables: list[Tensor], shifts: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """Local potentials (k,) of variables without factors, and log-tables (k_1, …, k_r, n) with those of all others,
    each in one of the variable's factors. `shifts` (messages,) are taken from local potentials (size,) and given to
    factors: every assignment keeps its score.
    """
    packing = model.packing
    if shifts is not None:
        local = local - packing.sum_incoming(shifts)
    given = torch.where(_homes(model), packing.spread(local), 0.0)
    given = given if shifts is None else given + shifts
    vectors = [v for b, own in zip(packing.blocks, packing.by_block(local), strict=True) if not b.degree for v in own.T]
    return vectors, [_shifted(table, own) for table, own in zip(tables, packing.by_message(given), strict=True)]


def _operands(model: FactorGraph, local: Tensor, tables: list[Tensor], shifts: Tensor | None) -> list[Tensor]:
    """Log-tables in the order of `ContractionOrder.scopes`, one by one, without the states that local potentials
    (size,) forbid; `tables` and `shifts` as in `_with_local`.
    """
    found, grouped = _with_local(model, local, tables, shifts)
    for table in grouped:
        found += list(table.unbind(-1))
    left = _left(model, local.detach())
    if not left:
        return found
    for number, scope in enumerate(plan_of(model).scopes):
        for axis, variable in enumerate(scope):
            if variable in left:
                found[number] = found[number].index_select(axis, left[variable])
    return found


def _left(model: FactorGraph, local: Tensor) -> dict[int, Tensor]:
    """The states that are possible, of variables of which local potentials (size,) forbid some."""
    blocked = local.isneginf()
    if not bool(blocked.any()):
        return {}
    vectors = model.unpack(blocked)
    return {
        v: torch.as_tensor(np.flatnonzero(vector == 0), device=local.device)
        for v, vector in enumerate(vectors)
        if vector.any()
    }


@torch.no_grad()
def balanced(model: FactorGraph, local: Tensor, tables: list[Tensor]) -> Tensor:
    """Shifts (messages,) between factors and variables after which no table claims much more than Z can have.

    What a variable hears from its factors as maxima, and its own potential, are shared out equally among them, colour
    by colour: each such step lowers the sum of all tables' maxima, an upper bound of every assignment's score.
    """
    packing = model.packing
    alive = possible_states(model, local) if model.has_zeros else ~local.isneginf()
    spread = packing.spread(alive)
    shifts = local.new_zeros(packing.message_size)
    degrees = torch.cat([local.new_full((block.size,), 1.0 + block.degree) for block in packing.blocks])
    colours = [packing.spread(mask) & spread for mask in color_masks(model)]
    for _ in range(SWEEPS):
        for chosen in colours:
            own = local - packing.sum_incoming(shifts)
            heard = []
            for table, blocks, states in zip(
                tables, packing.by_message(shifts), packing.by_message(spread), strict=True
            ):
                joint = _shifted(table, [b.masked_fill(~s, -torch.inf) for b, s in zip(blocks, states, strict=True)])
                for axis in range(joint.ndim - 1):
                    others = [other for other in range(joint.ndim - 1) if other != axis]
                    heard.append(joint.amax(others).flatten())
            maxima = torch.cat(heard)
            fair = (own + packing.sum_incoming(maxima.masked_fill(~spread, 0.0))) / degrees
            moved = shifts + packing.spread(fair.masked_fill(~alive, 0.0)) - maxima
            shifts = torch.where(chosen, moved, shifts)
    return shifts


def _shifted(table: Values, blocks: list[Values]) -> Values:
    """A table (k_1, …, k_r, n) plus a vector (k, n) along each of its axes."""
    order = len(blocks)
    for axis, block in enumerate(blocks):
        shape = [1] * order
        shape[axis] = block.shape[0]
        table = table + block.reshape(*shape, block.shape[1])
    return table


def _linear(model: FactorGraph, logs: list[Tensor]) -> Tensor | None:
    """log Z, a scalar; None where it cannot be trusted. A log-table has an axis for each variable of its scope."""
    plan = plan_of(model)
    tiny = torch.finfo(logs[0].dtype).tiny
    small = tiny / torch.finfo(logs[0].dtype).eps ** 2
    operands, scales = [], [logs[0].new_zeros(())]
    risk = -math.inf  # the largest logarithm of what may have been lost
    for tensor in logs:
        peak = tensor.detach().amax().clamp(min=torch.finfo(tensor.dtype).min)
        operands.append(torch.exp(tensor - peak))
        scales.append(peak)
    scale = float(wide(torch.stack(scales)).sum())
    if float(torch.stack([o.detach().amin() for o in operands]).min()) < small:
        risk = scale + plan.open_logs[0]
    scopes = list(plan.scopes)
    for (chosen, kept), left in zip(plan.steps, plan.open_logs, strict=True):
        picked = [(operands[i], scopes[i]) for i in chosen]
        for i in sorted(chosen, reverse=True):
            operands.pop(i)
            scopes.pop(i)
        result = _einsum(picked, kept)
        least, peak = torch.aminmax(result.detach())
        if float(peak) == 0.0:
            return None
        if float(least) < small:
            risk = max(risk, scale + left)
        operands.append(result / peak)
        scopes.append(kept)
        scales.append(torch.log(peak))
        if risk + math.log(tiny) > scale + left + NEGLIGIBLE:  # log Z is no larger than that
            return None
        scale += math.log(float(peak))
    total = wide(torch.stack(scales)).sum()
    for tensor in operands:
        total = total + torch.log(tensor)
    trusted = risk + math.log(tiny) <= float(total.detach()) + NEGLIGIBLE
    return total if trusted else None


def _einsum(picked: list[tuple[Tensor, tuple[int, ...]]], kept: tuple[int, ...]) -> Tensor:
    """The product of tables, each in the shape of its scope, summed over the variables that are not kept."""
    variables = sorted({v for _, scope in picked for v in scope})
    letter = {v: string.ascii_letters[i] for i, v in enumerate(variables)}
    spelled = ["".join(letter[v] for v in scope) for _, scope in picked]
    equation = ",".join(spelled) + "->" + "".join(letter[v] for v in kept)
    return torch.einsum(equation, *[tensor for tensor, _ in picked])


def _logarithmic(model: FactorGraph, logs: list[Tensor]) -> Tensor:
    """log Z, a scalar, -inf exactly where no assignment is possible: one variable after the other is summed out of all
    tables that hold it, so that the joint table of a step is no larger than it must be.
    """
    tables = list(zip(plan_of(model).scopes, logs, strict=True))
    total = logs[0].new_zeros(())
    for variable in elimination_order(model):
        mine = [each for each in tables if variable in each[0]]
        tables = [each for each in tables if variable not in each[0]]
        scopes = tuple(scope for scope, _ in mine)
        kept = tuple(sorted({v for scope in scopes for v in scope if v != variable}))
        result = _LogSum.apply(scopes, kept, *[table for _, table in mine])
        peak = result.detach().amax()
        if bool(peak.isneginf()):
            return peak
        total = total + peak
        # Numbers that grow from step to step would lose digits behind the point.
        tables.append((kept, result - peak))
    for _, left in tables:
        total = total + left
    return total


class _LogSum(torch.autograd.Function):
    """log Σ exp of a sum of log-tables over the variables that are not kept; each table has the shape of its scope.

    Saves no joint table: going back it is made once more.
    """

    @staticmethod
    def forward(ctx: Any, scopes: tuple[tuple[int, ...], ...], kept: tuple[int, ...], *tables: Tensor) -> Tensor:
        order = (*kept, *sorted({v for scope in scopes for v in scope}.difference(kept)))
        joint = _joint(order, scopes, tables)
        result = torch.logsumexp(joint, tuple(range(len(kept), len(order)))) if len(order) > len(kept) else joint
        ctx.order, ctx.scopes = order, scopes
        ctx.save_for_backward(result, *tables)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        (gradient,) = gradients
        result, *tables = ctx.saved_tensors
        order, scopes = ctx.order, ctx.scopes
        joint = _joint(order, scopes, tables)
        shape = (*result.shape, *([1] * (joint.ndim - result.ndim)))
        joint = joint.sub_(result.masked_fill(result.isneginf(), 0.0).reshape(shape))
        shares = joint.exp_().mul_(gradient.reshape(shape))
        found = []
        for scope in scopes:
            rest = tuple(axis for axis, v in enumerate(order) if v not in scope)
            ascending = shares.sum(rest) if rest else shares
            axes = [v for v in order if v in scope]
            found.append(ascending.permute([axes.index(v) for v in scope]))
        return None, None, *found


def _joint(order: tuple[int, ...], scopes: tuple[tuple[int, ...], ...], tables: Any) -> Tensor:
    """The sum of log-tables over all variables of `order`, a fresh tensor."""
    place = {v: axis for axis, v in enumerate(order)}
    aligned = []
    for scope, table in zip(scopes, tables, strict=True):
        axes = sorted(range(len(scope)), key=lambda axis: place[scope[axis]])
        shape = [1] * len(order)
        for axis in axes:
            shape[place[scope[axis]]] = table.shape[axis]
        aligned.append(table.permute(axes).reshape(shape))
    total = aligned[0].clone() if len(aligned) == 1 else aligned[0] + aligned[1]
    for further in aligned[2:]:
        total = total + further
    return total
