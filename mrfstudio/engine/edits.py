"""What each command makes of a moment, and the command that undoes it. Pure: a refusal leaves everything as it was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mrfstudio.engine.commands import (
    AddLane,
    ClampUnit,
    Command,
    GraphCommand,
    RemoveLane,
    RenameLane,
    SetAlgorithm,
    SetImage,
    SetLimits,
    SetModel,
    SetParameter,
    Transport,
)
from mrfstudio.engine.document import Document, Patch, Restore
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.lanes import Lane, Moment, Stage, compatible, make_algorithm
from mrfstudio.engine.sketch_edits import graph_inverse

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
class Edited:
    """A moment after a command. `inverse` None: nothing to undo. `anew`: every lane begins again at iteration 0."""

    moment: Moment
    inverse: Command | None
    changed: bool = True
    anew: bool = False


def edit(stage: Stage, moment: Moment, command: Command, *, known: bool = False) -> Edited:
    """Apply a command that changes evidence, lanes or limits. Raises `StudioError` if it is refused.

    `known`: it comes from a log, so it was accepted once and changed something; its inverse is not wanted.
    """
    if isinstance(command, Continue):
        return _continued(moment, command)
    if isinstance(command, SetLimits):
        return _limited(moment, command)
    if isinstance(command, SetParameter):
        return _with_parameter(stage, moment, command)
    if isinstance(command, SetAlgorithm):
        lane = moment.lane(command.lane)
        changed = replace(lane, algorithm=make_algorithm(command.name, command.parameters))
        return _with_other_lane(stage, moment, changed, SetAlgorithm(lane.number, *_named(lane)))
    if isinstance(command, SetModel):
        return _with_model(stage, moment, command)
    if isinstance(command, AddLane):
        return _with_lane_added(stage, moment, command)
    if isinstance(command, RemoveLane):
        return _with_lane_removed(moment, command)
    if isinstance(command, GraphCommand):
        return _with_graph(stage, moment, command, known)
    if isinstance(command, RenameLane):
        return _renamed(moment, command)
    return _with_document(stage, moment, command, known)


def anew(moment: Moment) -> Moment:
    """The same document, lanes and limits before the first iteration."""
    lanes = tuple(Lane(x.number, x.model_name, x.model, x.algorithm, x.limit, x.name) for x in moment.lanes)
    return replace(moment, iteration=0, lanes=lanes)


def make_lane(
    stage: Stage,
    document: Document,
    number: int,
    model: str,
    algorithm: str,
    parameters: dict[str, Any],
    limit: int | None = None,
) -> Lane:
    """A lane that has not begun."""
    found = stage.workspace.model(document, model)
    lane = Lane(number, model, found, make_algorithm(algorithm, parameters), limit)
    reason = lane.algorithm.supports(lane.model)
    if reason is not None:
        raise StudioError(reason)
    return lane


# Evidence -------------------------------------------------------------------------------------------------------------


def _with_document(stage: Stage, moment: Moment, command: Command, known: bool) -> Edited:
    after = _edited_document(stage, moment.document, command)
    for lane in () if known else moment.lanes:  # a contradiction is refused before it becomes evidence
        stage.evidence(after, lane.model)
    if isinstance(command, SetImage | Restore):
        restore = None if known else Restore.of(moment.document)
        return Edited(anew(replace(moment, document=after)), restore, anew=True)
    inverse = None if known else _inverse(moment.document, after, command)
    if inverse is None and not known:
        return Edited(moment, None, changed=False)
    lanes = tuple(_touched(moment, lane) for lane in moment.lanes)
    return Edited(replace(moment, document=after, lanes=lanes), inverse)


def _edited_document(stage: Stage, document: Document, command: Command) -> Document:
    if isinstance(command, Restore):
        return command.document(stage.workspace.layers)
    if isinstance(command, Patch):
        return command.apply(document)
    after = stage.workspace.edited(document, command)
    if after is None:
        raise StudioError(f"The {stage.workspace.name} workspace does not know the command {type(command).__name__}.")
    return after


def _inverse(before: Document, after: Document, command: Command) -> Command | None:
    """What takes an edit back that left the image's size alone; None if it changed nothing."""
    if isinstance(command, ClampUnit):
        held = before.held(command.model).get(command.unit)
        return None if after.clamps == before.clamps else ClampUnit(command.model, command.unit, held)
    patch = Patch.between(after, before)
    return patch if patch.tiles else None


def _touched(moment: Moment, lane: Lane) -> Lane:
    """A lane that goes on from its messages under other evidence or parameters, with its limit before it again."""
    state = lane.state if lane.stepped else None
    return replace(
        lane,
        state=state,
        base=moment.iteration,
        done=0,
        extra=0,
        status="running",
        message="",
        residuals=(),
        edited=lane.stepped,
    )


# Graphs ---------------------------------------------------------------------------------------------------------------


def _with_graph(stage: Stage, moment: Moment, command: GraphCommand, known: bool) -> Edited:
    before, workspace = moment.document, stage.workspace
    after = workspace.edited(before, command)
    if after is None or after.graph is None:
        raise StudioError(f"The {workspace.name} workspace does not know the command {type(command).__name__}.")
    old = workspace.sketch(before)
    if after.graph.same(old) and after.same(replace(before, graph=old)):
        return Edited(moment, None, changed=False)
    inverse = None if known else graph_inverse(before, old, command)
    changed = [replace(lane, model=workspace.model(after, lane.model_name)) for lane in moment.lanes]
    if all(new.model is lane.model for new, lane in zip(changed, moment.lanes, strict=True)):
        return Edited(replace(moment, document=after), inverse)  # nodes that stand elsewhere
    for lane in () if known else changed:
        reason = lane.algorithm.supports(lane.model)
        if reason is not None:
            raise StudioError(reason)
        stage.evidence(after, lane.model)
    moment = replace(moment, document=after, lanes=tuple(changed))
    goes_on = after.graph.same_structure(old) and all(_can_go_on(stage, after, lane) for lane in changed)
    if not goes_on:
        return Edited(anew(moment), inverse, anew=True)
    return Edited(replace(moment, lanes=tuple(_touched(moment, lane) for lane in changed)), inverse)


def _can_go_on(stage: Stage, document: Document, lane: Lane) -> bool:
    """Whether the messages of a lane mean something to the algorithm on its new model."""
    return lane.state is None or compatible(lane.state, stage.first_state(document, lane))


# Lanes ----------------------------------------------------------------------------------------------------------------


def _named(lane: Lane) -> tuple[str, dict[str, Any]]:
    return lane.algorithm.name, lane.algorithm.values()


def _with_other_lane(stage: Stage, moment: Moment, changed: Lane, inverse: Command) -> Edited:
    fresh = anew(moment.with_lane(changed))
    lane = fresh.lane(changed.number)
    reason = lane.algorithm.supports(lane.model)
    if reason is not None:
        raise StudioError(reason)
    stage.first_state(fresh.document, lane)  # what cannot begin is refused
    return Edited(fresh, inverse, anew=True)


def _with_model(stage: Stage, moment: Moment, command: SetModel) -> Edited:
    lane = moment.lane(command.lane)
    changed = replace(lane, model=stage.workspace.model(moment.document, command.model), model_name=command.model)
    before = None
    if command.picture is not None:
        before = Restore.of(moment.document)
        moment = replace(moment, document=_edited_document(stage, moment.document, command.picture))
        for other in moment.lanes:  # the picture must fit them too
            if other.number != lane.number:
                stage.evidence(moment.document, other.model)
    return _with_other_lane(stage, moment, changed, SetModel(lane.number, lane.model_name, before))


def _with_lane_added(stage: Stage, moment: Moment, command: AddLane) -> Edited:
    used = {lane.number for lane in moment.lanes}
    free = [number for number in range(MOST_LANES) if number not in used]
    if not free:
        raise StudioError(f"There are {len(used)} lanes: at most {MOST_LANES} can be compared; remove one first.")
    number = free[0] if command.number is None else command.number
    if number not in free:
        raise StudioError(f"A lane was to get number {number}: expected one of {', '.join(map(str, free))}.")
    if command.limit is not None:
        _checked_iterations(command.limit)
    given = (command.model, command.algorithm, command.parameters, command.limit)
    lane = make_lane(stage, moment.document, number, *given)
    lane = replace(lane, name=_checked_name(command.name))
    stage.first_state(moment.document, lane)
    lanes = sorted((*moment.lanes, lane), key=lambda each: each.number)
    return Edited(anew(replace(moment, lanes=tuple(lanes))), RemoveLane(number), anew=True)


def _with_lane_removed(moment: Moment, command: RemoveLane) -> Edited:
    lane = moment.lane(command.lane)
    if len(moment.lanes) == 1:
        raise StudioError(f"Lane {lane.number} is the only one: a session needs at least one lane.")
    rest = tuple(other for other in moment.lanes if other.number != lane.number)
    name, parameters = _named(lane)
    again = AddLane(lane.model_name, name, parameters, lane.limit, lane.number, lane.name)
    return Edited(replace(moment, lanes=rest), again)


def _renamed(moment: Moment, command: RenameLane) -> Edited:
    lane, name = moment.lane(command.lane), _checked_name(command.name)
    if name == lane.name:
        return Edited(moment, None, changed=False)
    return Edited(moment.with_lane(replace(lane, name=name)), RenameLane(lane.number, lane.name))


def _checked_name(name: str) -> str:
    tidy = " ".join(name.split())
    if len(tidy) > LONGEST_NAME or not tidy.isprintable():
        raise StudioError(f"A lane's name has {len(tidy)} characters: expected at most {LONGEST_NAME} printable ones.")
    return tidy


def _with_parameter(stage: Stage, moment: Moment, command: SetParameter) -> Edited:
    lane = moment.lane(command.lane)
    algorithm = lane.algorithm.replace(**{command.name: command.value})
    if algorithm == lane.algorithm:
        return Edited(moment, None, changed=False)
    inverse = SetParameter(lane.number, command.name, getattr(lane.algorithm, command.name))
    changed = replace(_touched(moment, lane), algorithm=algorithm)
    reason = algorithm.supports(lane.model)
    if reason is not None:
        raise StudioError(reason)
    first = stage.first_state(moment.document, changed)
    if changed.state is not None and not compatible(changed.state, first):
        # The parameter chose another kernel, or another number of chains: these messages mean nothing to it.
        return Edited(anew(moment.with_lane(changed)), inverse, anew=True)
    return Edited(moment.with_lane(changed), inverse)


# Limits ---------------------------------------------------------------------------------------------------------------


def _limited(moment: Moment, command: SetLimits) -> Edited:
    if command.lane is None:
        _checked_iterations(command.iterations)
        old = moment.limits
        limits = old.replace(iterations=command.iterations, tolerance=command.tolerance)
        inverse = SetLimits(old.iterations, old.tolerance)
        if limits == old:
            return Edited(moment, None, changed=False)
        after = replace(moment, limits=limits)
        return Edited(replace(after, lanes=tuple(_judged(after, lane) for lane in after.lanes)), inverse)
    lane = moment.lane(command.lane)
    limit = None if command.iterations == 0 else _checked_iterations(command.iterations)
    inverse = SetLimits(lane.limit or 0, moment.limits.tolerance, lane.number)
    if limit == lane.limit:
        return Edited(moment, None, changed=False)
    after = moment.with_lane(replace(lane, limit=limit, extra=0))
    if limit is not None and lane.done > limit:
        # The person wants to see what so few iterations give: they are past, so all lanes go there in step again.
        return Edited(anew(after), inverse, anew=True)
    return Edited(after.with_lane(_judged(after, after.lane(lane.number))), inverse)


def _judged(moment: Moment, lane: Lane) -> Lane:
    """The lane with the status that the present limits give it."""
    if lane.status == "stopped":
        return lane
    if lane.residuals and (lane.residuals[-1] < moment.limits.tolerance or lane.algorithm.single_step):
        return replace(lane, status="converged")
    return replace(lane, status="iteration limit" if lane.done >= moment.limit(lane) else "running")


def _continued(moment: Moment, command: Continue) -> Edited:
    _checked_iterations(command.count)
    following = [lane.number for lane in moment.lanes if lane.limit is None]
    lanes = []
    for lane in moment.lanes:
        ended = lane.status in ("converged", "iteration limit") and not lane.algorithm.single_step
        if ended and (not following or lane.number in following):
            allowed = lane.done + command.count
            extra = allowed - (moment.limit(lane) - lane.extra)
            lane = replace(lane, status="running", extra=extra)
        lanes.append(lane)
    after = replace(moment, lanes=tuple(lanes))
    return Edited(after, None, changed=any(a is not b for a, b in zip(lanes, moment.lanes, strict=True)))


def _checked_iterations(count: int) -> int:
    if not 1 <= count <= MOST_ITERATIONS:
        raise StudioError(f"The number of iterations is {count}: expected 1 to {MOST_ITERATIONS}.")
    return count
