"""Apply a command: what it makes of a point on the timeline, and the command that undoes it.

Pure: a refusal leaves everything as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mrfstudio.engine.protocol.commands import (
    AddLane,
    Command,
    GraphCommand,
    Opening,
    RemoveLane,
    RenameLane,
    SetAlgorithm,
    SetLimits,
    SetModel,
    SetParameter,
    Transport,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.session.inverses import Patch, PutLabels, Restore, graph_inverse, inverse_of
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Lane, TimelinePoint, compatible, make_algorithm

MOST_LANES = 6
MOST_ITERATIONS = 10_000
LONGEST_NAME = 60


@dataclass(frozen=True)
class Continue(Transport):
    """More iterations for lanes that have ended. Play and Step make it; it is in the log because it changes the run.

    Lanes with a limit of their own stay there, unless all have one.
    """

    count: int = 1


@dataclass(frozen=True, eq=False)
class Applied:
    """The point after a command. `inverse` None: nothing to undo. `restarts`: every lane begins at iteration 0."""

    point: TimelinePoint
    inverse: Command | None
    changed: bool = True
    restarts: bool = False


def apply_command(runner: LaneRunner, point: TimelinePoint, command: Command, *, known: bool = False) -> Applied:
    """Apply a command that changes evidence, lanes or limits. Raises `StudioError` if it is refused.

    `known`: it comes from a log, so it was accepted once and changed something; its inverse is not wanted.
    """
    if isinstance(command, Continue):
        return _continued(point, command)
    if isinstance(command, SetLimits):
        return _limited(runner, point, command)
    if isinstance(command, SetParameter):
        return _with_parameter(runner, point, command)
    if isinstance(command, SetAlgorithm):
        lane = point.lane(command.lane)
        changed = replace(lane, algorithm=make_algorithm(command.name, command.parameters))
        return _with_other_lane(runner, point, changed, SetAlgorithm(lane.number, *_named(lane)))
    if isinstance(command, SetModel):
        return _with_model(runner, point, command)
    if isinstance(command, AddLane):
        return _with_lane_added(runner, point, command)
    if isinstance(command, RemoveLane):
        return _with_lane_removed(point, command)
    if isinstance(command, GraphCommand):
        return _with_graph(runner, point, command, known)
    if isinstance(command, RenameLane):
        return _renamed(point, command)
    return _with_document(runner, point, command, known)


def restarted(point: TimelinePoint) -> TimelinePoint:
    """The same document, lanes and limits before the first iteration."""
    lanes = tuple(Lane(x.number, x.model_name, x.model, x.algorithm, x.limit, x.name) for x in point.lanes)
    return replace(point, iteration=0, lanes=lanes)


def make_lane(
    runner: LaneRunner,
    document: Document,
    number: int,
    model: str,
    algorithm: str,
    parameters: dict[str, Any],
    limit: int | None = None,
) -> Lane:
    """A lane that has not begun."""
    found = runner.workspace.model(document, model)
    lane = Lane(number, model, found, make_algorithm(algorithm, parameters), limit)
    reason = lane.algorithm.supports(lane.model)
    if reason is not None:
        raise StudioError(reason)
    return lane


# Evidence -------------------------------------------------------------------------------------------------------------


def _with_document(runner: LaneRunner, point: TimelinePoint, command: Command, known: bool) -> Applied:
    after = _edited_document(runner, point.document, command)
    for lane in () if known else point.lanes:  # a contradiction is refused before it becomes evidence
        runner.evidence(after, lane.model)
    if isinstance(command, Opening | Restore):
        restore = None if known else Restore.of(point.document)
        return Applied(restarted(replace(point, document=after)), restore, restarts=True)
    inverse = None if known else inverse_of(point.document, after, command)
    if inverse is None and not known:
        return Applied(point, None, changed=False)
    lanes = tuple(_touched(point, lane) for lane in point.lanes)
    return Applied(replace(point, document=after, lanes=lanes), inverse)


def _edited_document(runner: LaneRunner, document: Document, command: Command) -> Document:
    if isinstance(command, Restore):
        return command.document(runner.workspace.layers)
    if isinstance(command, Patch | PutLabels):
        return command.apply(document, runner.workspace.layers)
    after = runner.workspace.edited(document, command)
    if after is None:
        raise StudioError(f"The {runner.workspace.name} workspace does not know the command {type(command).__name__}.")
    return after


def _touched(point: TimelinePoint, lane: Lane) -> Lane:
    """A lane that goes on from its messages under other evidence or parameters, with its limit before it again."""
    state = lane.state if lane.stepped else None
    return replace(
        lane,
        state=state,
        base=point.iteration,
        done=0,
        extra=0,
        status="running",
        message="",
        residuals=(),
        edited=lane.stepped,
    )


# Graphs ---------------------------------------------------------------------------------------------------------------


def _with_graph(runner: LaneRunner, point: TimelinePoint, command: GraphCommand, known: bool) -> Applied:
    before, workspace = point.document, runner.workspace
    after = workspace.edited(before, command)
    if after is None or after.graph is None:
        raise StudioError(f"The {workspace.name} workspace does not know the command {type(command).__name__}.")
    old = workspace.sketch(before)
    if after.graph.same(old) and after.same(replace(before, graph=old)):
        return Applied(point, None, changed=False)
    inverse = None if known else graph_inverse(before, old, command)
    changed = [replace(lane, model=workspace.model(after, lane.model_name)) for lane in point.lanes]
    if all(new.model is lane.model for new, lane in zip(changed, point.lanes, strict=True)):
        lanes = point.lanes
        if after.graph.forbidden != old.forbidden:
            for lane in () if known else lanes:  # where every state of a node is ruled out, it is refused
                runner.evidence(after, lane.model)
        if (after.graph.pins, after.graph.forbidden) != (old.pins, old.forbidden):  # else nodes only stand elsewhere
            lanes = tuple(_touched(point, lane) for lane in lanes)
        return Applied(replace(point, document=after, lanes=lanes), inverse)
    for lane in () if known else changed:
        reason = lane.algorithm.supports(lane.model)
        if reason is not None:
            raise StudioError(reason)
        runner.evidence(after, lane.model)
    point = replace(point, document=after, lanes=tuple(changed))
    goes_on = after.graph.same_structure(old) and all(_can_go_on(runner, after, lane) for lane in changed)
    if not goes_on:
        return Applied(restarted(point), inverse, restarts=True)
    return Applied(replace(point, lanes=tuple(_touched(point, lane) for lane in changed)), inverse)


def _can_go_on(runner: LaneRunner, document: Document, lane: Lane) -> bool:
    """Whether the messages of a lane mean something to the algorithm on its new model."""
    return lane.state is None or compatible(lane.state, runner.first_state(document, lane))


# Lanes ----------------------------------------------------------------------------------------------------------------


def _named(lane: Lane) -> tuple[str, dict[str, Any]]:
    return lane.algorithm.name, lane.algorithm.values()


def _with_other_lane(runner: LaneRunner, point: TimelinePoint, changed: Lane, inverse: Command) -> Applied:
    fresh = restarted(point.with_lane(changed))
    lane = fresh.lane(changed.number)
    reason = lane.algorithm.supports(lane.model)
    if reason is not None:
        raise StudioError(reason)
    runner.first_state(fresh.document, lane)  # what cannot begin is refused
    return Applied(fresh, inverse, restarts=True)


def _with_model(runner: LaneRunner, point: TimelinePoint, command: SetModel) -> Applied:
    lane = point.lane(command.lane)
    changed = replace(lane, model=runner.workspace.model(point.document, command.model), model_name=command.model)
    if point.limits.iterations == runner.workspace.iterations(lane.model):  # nobody chose another number
        usual = point.limits.replace(iterations=runner.workspace.iterations(changed.model))
        point = replace(point, limits=usual)
    before = None
    if command.picture is not None:
        before = Restore.of(point.document)
        point = replace(point, document=_edited_document(runner, point.document, command.picture))
        for other in point.lanes:  # the picture must fit them too
            if other.number != lane.number:
                runner.evidence(point.document, other.model)
    return _with_other_lane(runner, point, changed, SetModel(lane.number, lane.model_name, before))


def _with_lane_added(runner: LaneRunner, point: TimelinePoint, command: AddLane) -> Applied:
    used = {lane.number for lane in point.lanes}
    free = [number for number in range(MOST_LANES) if number not in used]
    if not free:
        raise StudioError(f"There are {len(used)} lanes: at most {MOST_LANES} can be compared; remove one first.")
    number = free[0] if command.number is None else command.number
    if number not in free:
        raise StudioError(f"A lane was to get number {number}: expected one of {', '.join(map(str, free))}.")
    if command.limit is not None:
        _checked_iterations(command.limit)
    given = (command.model, command.algorithm, command.parameters, command.limit)
    lane = make_lane(runner, point.document, number, *given)
    lane = replace(lane, name=_checked_name(command.name))
    runner.first_state(point.document, lane)
    usual, first = (runner.workspace.iterations(each.model) for each in (lane, point.lanes[0]))
    if command.limit is None and usual > max(first, point.limits.iterations):  # its kind of model needs more
        lane = replace(lane, limit=usual)
    lanes = sorted((*point.lanes, lane), key=lambda each: each.number)
    return Applied(restarted(replace(point, lanes=tuple(lanes))), RemoveLane(number), restarts=True)


def _with_lane_removed(point: TimelinePoint, command: RemoveLane) -> Applied:
    lane = point.lane(command.lane)
    if len(point.lanes) == 1:
        raise StudioError(f"Lane {lane.number} is the only one: a session needs at least one lane.")
    rest = tuple(other for other in point.lanes if other.number != lane.number)
    name, parameters = _named(lane)
    again = AddLane(lane.model_name, name, parameters, lane.limit, lane.number, lane.name)
    return Applied(replace(point, lanes=rest), again)


def _renamed(point: TimelinePoint, command: RenameLane) -> Applied:
    lane, name = point.lane(command.lane), _checked_name(command.name)
    if name == lane.name:
        return Applied(point, None, changed=False)
    return Applied(point.with_lane(replace(lane, name=name)), RenameLane(lane.number, lane.name))


def _checked_name(name: str) -> str:
    tidy = " ".join(name.split())
    if len(tidy) > LONGEST_NAME or not tidy.isprintable():
        raise StudioError(f"A lane's name has {len(tidy)} characters: expected at most {LONGEST_NAME} printable ones.")
    return tidy


def _with_parameter(runner: LaneRunner, point: TimelinePoint, command: SetParameter) -> Applied:
    lane = point.lane(command.lane)
    algorithm = lane.algorithm.replace(**{command.name: command.value})
    if algorithm == lane.algorithm:
        return Applied(point, None, changed=False)
    inverse = SetParameter(lane.number, command.name, getattr(lane.algorithm, command.name))
    changed = replace(_touched(point, lane), algorithm=algorithm)
    reason = algorithm.supports(lane.model)
    if reason is not None:
        raise StudioError(reason)
    first = runner.first_state(point.document, changed)
    if changed.state is not None and not compatible(changed.state, first):
        # The parameter chose another kernel, or another number of chains: these messages mean nothing to it.
        return Applied(restarted(point.with_lane(changed)), inverse, restarts=True)
    return Applied(point.with_lane(changed), inverse)


# Limits ---------------------------------------------------------------------------------------------------------------


def _limited(runner: LaneRunner, point: TimelinePoint, command: SetLimits) -> Applied:
    if command.lane is None:
        _checked_iterations(command.iterations)
        old = point.limits
        limits = old.replace(iterations=command.iterations, tolerance=command.tolerance)
        inverse = SetLimits(old.iterations, old.tolerance)
        if limits == old:
            return Applied(point, None, changed=False)
        after = replace(point, limits=limits)
        return Applied(replace(after, lanes=tuple(_judged(runner, after, lane) for lane in after.lanes)), inverse)
    lane = point.lane(command.lane)
    limit = None if command.iterations == 0 else _checked_iterations(command.iterations)
    inverse = SetLimits(lane.limit or 0, point.limits.tolerance, lane.number)
    if limit == lane.limit:
        return Applied(point, None, changed=False)
    after = point.with_lane(replace(lane, limit=limit, extra=0))
    if limit is not None and lane.done > limit:
        # The person wants to see what so few iterations give: they are past, so all lanes go there in step again.
        return Applied(restarted(after), inverse, restarts=True)
    return Applied(after.with_lane(_judged(runner, after, after.lane(lane.number))), inverse)


def _judged(runner: LaneRunner, point: TimelinePoint, lane: Lane) -> Lane:
    """The lane with the status that the present limits give it."""
    if lane.status in ("stopped", "settled", "idle"):
        return lane
    if lane.residuals and lane.state is not None:
        status, message = runner.judged(point, lane)
        return replace(lane, status=status, message=message)
    return replace(lane, status="iteration limit" if lane.done >= point.limit(lane) else "running")


def _continued(point: TimelinePoint, command: Continue) -> Applied:
    _checked_iterations(command.count)
    following = [lane.number for lane in point.lanes if lane.limit is None]
    lanes = []
    for lane in point.lanes:
        ended = lane.status in ("converged", "settled", "iteration limit") and not lane.algorithm.single_step
        if ended and (not following or lane.number in following):
            allowed = lane.done + command.count
            extra = allowed - (point.limit(lane) - lane.extra)
            lane = replace(lane, status="running", extra=extra)
        lanes.append(lane)
    after = replace(point, lanes=tuple(lanes))
    return Applied(after, None, changed=any(a is not b for a, b in zip(lanes, point.lanes, strict=True)))


def _checked_iterations(count: int) -> int:
    if not 1 <= count <= MOST_ITERATIONS:
        raise StudioError(f"The number of iterations is {count}: expected 1 to {MOST_ITERATIONS}.")
    return count
