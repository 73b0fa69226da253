"""Where lanes are, as JSON values and arrays: counters, and the tensors of their states. No class names, no pickle.

A state is put back into the one that its algorithm begins with, so that nothing in a file decides what is made.
"""

from __future__ import annotations

from dataclasses import Field, fields, replace
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Ending, Lane, TimelinePoint, compatible
from mrfstudio.engine.workspaces.workspace import Workspace

_LANE_FIELDS: dict[str, type] = {
    "iteration": int, "base": int, "done": int, "extra": int, "status": str, "message": str, "edited": bool,
}  # fmt: skip
ENDINGS = get_args(Ending)


def lane_values(workspace: Workspace, lane: Lane) -> dict[str, Any]:
    """A lane's counters, and the fingerprint of its model."""
    values = {name: getattr(lane, name) for name in _LANE_FIELDS}
    # A residual before the first step is infinite, which JSON has no word for.
    residuals = [r if np.isfinite(r) else None for r in lane.residuals]
    return {"number": lane.number, "model": workspace.fingerprint(lane.model), "residuals": residuals, **values}


def state_arrays(point: TimelinePoint, lanes: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """The tensors of all lanes as `NUMBER FIELD` or `NUMBER FIELD PLACE`; plain fields go into `lanes`."""
    arrays = {}
    for lane, values in zip(point.lanes, lanes, strict=True):
        if not lane.stepped or lane.state is None:
            continue
        plain: dict[str, Any] = {}
        for field in _stored(lane.state):
            value = getattr(lane.state, field.name)
            if isinstance(value, Tensor):
                arrays[f"{lane.number} {field.name}"] = value.detach().cpu().numpy()
            elif isinstance(value, tuple):
                plain[field.name] = {"tensors": len(value)}
                arrays |= {f"{lane.number} {field.name} {i}": t.detach().cpu().numpy() for i, t in enumerate(value)}
            else:
                plain[field.name] = value
        values["state"] = plain
    return arrays


def lane_with_state(
    runner: LaneRunner, point: TimelinePoint, values: dict[str, Any], messages: dict[str, np.ndarray]
) -> Lane | str:
    """The lane with its stored state, or why that state is of no use now, as the beginning of a sentence."""
    lane = point.lane(values["number"])
    if any(type(values[name]) is not kind for name, kind in _LANE_FIELDS.items()) or values["status"] not in ENDINGS:
        raise ValueError("a lane's counters are not what they should be")
    residuals = tuple(np.inf if r is None else float(r) for r in values["residuals"])
    lane = replace(lane, residuals=residuals, **{name: values[name] for name in _LANE_FIELDS})
    if "state" not in values:
        return lane
    if values["model"] != runner.workspace.fingerprint(lane.model):
        return f"The model {lane.model_name} is not the one this session was saved with"
    first = runner.first_state(point.document, lane)
    found = _state_fields(first, lane.number, values["state"], messages)
    state = None if found is None else replace(first, **found)
    if state is None or not compatible(state, first) or state.iteration < 1:
        return f"This session is of another version of MRF Studio, whose {lane.algorithm.title} kept other numbers"
    lane = replace(lane, state=state)
    view = runner.view(point, lane)
    if view is None or not runner.workspace.believable(view):
        return f"The messages of {lane.algorithm.title} in this file are no numbers"
    return lane


def _state_fields(
    first: State, number: int, plain: dict[str, Any], messages: dict[str, np.ndarray]
) -> dict[str, Any] | None:
    """The fields of a state; None where a file has none of them, because states had others when it was written."""
    found: dict[str, Any] = {}
    for field in _stored(first):
        value = plain.get(field.name)
        if isinstance(value, dict):
            count = value["tensors"]
            if not isinstance(count, int) or not 0 <= count <= len(messages):
                raise ValueError("a lane has more messages than the file")
            names = [f"{number} {field.name} {place}" for place in range(count)]
            found[field.name] = tuple(torch.from_numpy(messages[name]) for name in names)
        elif field.name in plain:
            found[field.name] = value
        elif f"{number} {field.name}" in messages:
            found[field.name] = torch.from_numpy(messages[f"{number} {field.name}"])
        elif field.name not in first.remembered:
            return None
    return found


def _stored(state: State) -> list[Field[Any]]:
    """The fields that a file has: what an interrupted step had done is in no state of a timeline."""
    return [field for field in fields(state) if field.name != "partial"]
