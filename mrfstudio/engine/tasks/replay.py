"""A saved session computed again from its command log: what `mrfstudio replay` prints."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.files.sessions.session_file import load_session
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Lane, TimelinePoint
from mrfstudio.engine.session.timeline import replayed


def replay_session(path: Path) -> dict[str, Any]:
    """Replay every command at its stamped iteration, and say whether the messages are those of the file."""
    started = time.perf_counter()
    torch.set_flush_denormal(True)  # as in the window: the last bits of messages next to 0 depend on it
    session = load_session(path)
    stored, timeline = session.point, session.timeline
    runner = LaneRunner(session.workspace)
    # A file without messages opens before its first iteration and is on its way to where it was saved.
    there = stored.iteration if timeline.target is None else timeline.target
    again = replayed(runner, timeline.origin, timeline.log, there)
    kept = timeline.target is None
    lanes = [
        {
            **_described(lane),
            "numbers": _numbers(runner, again, lane),
            "same_messages": _same(lane.state, stored.lane(lane.number).state) if kept else None,
        }
        for lane in again.lanes
    ]
    height, width = again.document.shape
    return {
        "session": str(path),
        "workspace": session.workspace.name,
        "width": width,
        "height": height,
        "commands": len(timeline.log),
        "iterations": again.iteration,
        "lanes": lanes,
        "seconds": time.perf_counter() - started,
    }


def _described(lane: Lane) -> dict[str, Any]:
    return {
        "lane": lane.number,
        "model": lane.model_name,
        "algorithm": lane.algorithm.name,
        "parameters": lane.algorithm.values(),
        "iterations": lane.state.iteration if lane.state is not None else 0,
        "status": lane.status,
        "residual": lane.residual,
        "message": lane.message,
    }


def _numbers(runner: LaneRunner, point: TimelinePoint, lane: Lane) -> dict[str, float]:
    """What a lane says, in few numbers to compare with."""
    view = runner.view(point, lane)
    if view is None:
        return {}
    return runner.workspace.numbers(view)


def _same(one: Any, other: Any) -> bool:
    """Whether two states, or their parts, hold the same numbers, bit for bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        return torch.equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, State):
        return all(_same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
    return bool(one == other)
