"""Sessions as files: one zip of versioned JSON and npz.

    session.json    format, version, workspace, where it began, the stamped commands, the curves, where it is
    arrays.npz      the first document's layers, pictures that commands opened, what the workspace adds
    messages.npz    the state of every lane, up to 64 MB; larger ones are recomputed from the log

Reading replays nothing that is stored; whatever is missing or no longer fits the model is computed again, and said so.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio import __version__
from mrfstudio.engine.files.atomic import unwritable
from mrfstudio.engine.files.sessions.command_json import decoded, encoded
from mrfstudio.engine.files.sessions.journal import Change
from mrfstudio.engine.files.sessions.lane_states import lane_values, lane_with_state, state_arrays
from mrfstudio.engine.files.sessions.portable import rebased, with_known_models, without_paths, without_replaced_file
from mrfstudio.engine.files.sessions.typed import made
from mrfstudio.engine.files.sessions.zipped import DamagedZip, ReadZip, write_zip
from mrfstudio.engine.graphs.sketch import FILE, Sketch
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Scalars
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.runtime.memory import in_words
from mrfstudio.engine.session.apply import MOST_LANES, apply_command, make_lane
from mrfstudio.engine.session.document import Document, checked_clamps, checked_labels, frozen
from mrfstudio.engine.session.inverses import PutGraph
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Lane, TimelinePoint
from mrfstudio.engine.session.measurements import LaneMeasurements
from mrfstudio.engine.session.photo import photo_of
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import Stamped, Timeline
from mrfstudio.engine.workspaces.workspace import Workspace

FORMAT = "mrfstudio session"
VERSION = 1
SUFFIX = ".mrfs"
LARGEST_MESSAGES = 64 * 2**20
SOON = 2.0
"""Seconds of computing that are cheaper than a file with all messages."""
MOST_ITERATIONS = 10_000_000

MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""How the JSON object of version n becomes that of version n + 1, by n."""


class SessionFileError(StudioError):
    """A session file that cannot be written or read. The message is one sentence for a person."""


# Writing --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SessionImage:
    """A session as it was at one point, ready to be written. It shares arrays that nobody writes to."""

    described: dict[str, Any]
    arrays: Mapping[str, np.ndarray]
    messages: Mapping[str, np.ndarray] | None
    """None where states are not stored: they are computed again."""

    @property
    def message_bytes(self) -> int:
        return sum(array.nbytes for array in (self.messages or {}).values())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it, atomically; messages only where they are not too large."""
        members: dict[str, Mapping[str, np.ndarray]] = {"arrays.npz": self.arrays}
        if self.messages is not None and self.message_bytes <= LARGEST_MESSAGES:
            members["messages.npz"] = self.messages
        try:
            write_zip(Path(path), {"session.json": self.described}, members)
        except OSError as problem:
            raise SessionFileError(unwritable(path, problem)) from problem


def session_image(session: Session, portable: bool = False) -> SessionImage:
    """What a file of a session holds. Quick: nothing is copied.

    `portable`: for a file that may go anywhere, without what was open before, without paths, and without messages that
    can soon be computed again.
    """
    arrays: dict[str, np.ndarray] = {}
    timeline = session.timeline
    origin, log = rebased(timeline) if portable else (timeline.origin, timeline.log)
    described = _described(session, origin, log, arrays)
    stored = all(lane.state is None or lane.state.stored for lane in session.point.lanes)
    if portable:
        described = without_paths(described, session.workspace)
        if not _shows_a_file(origin, log):
            described = without_replaced_file(described)
        described["soon"] = seconds_again(session) <= SOON
        stored = stored and not described["soon"]
    return SessionImage(described, arrays, state_arrays(session.point, described["lanes"]) if stored else None)


def seconds_again(session: Session) -> float:
    """How long computing the present messages again would take; for ever where that is not known.

    Seconds of the processor: what a file holds must not depend on how busy the machine was.
    """
    paces = [session.timeline.runner.effort(lane) for lane in session.point.lanes if lane.stepped]
    known = [pace for pace in paces if pace is not None]
    return math.inf if len(known) < len(paces) else session.timeline.iteration * sum(known)


def save_session(session: Session, path: str | os.PathLike[str]) -> Path:
    """Write a session as it is now, atomically; says in the session where messages were too large to store."""
    image = session_image(session, portable=True)
    image.write(path)
    if image.message_bytes > LARGEST_MESSAGES:
        size = in_words(image.message_bytes)
        session.say(f"The messages take {size} and were not stored: opening the file computes them again.")
    return Path(path)


def _described(
    session: Session, origin: TimelinePoint, log: Sequence[Stamped], arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    timeline, workspace = session.timeline, session.workspace
    options, workspace_arrays = workspace.saved(_shows_a_file(origin, log))
    arrays |= {f"workspace {name}": array for name, array in workspace_arrays.items()}
    arrays |= {f"origin {name}": array for name, array in origin.document.arrays.items()}
    photo = origin.document.photo
    if photo is not None:
        arrays["photograph"] = photo.content
    graph = origin.document.graph
    if graph is not None:
        arrays |= {f"graph {name}": array for name, array in graph.arrays.items()}
    for number, numbers in session.measurements.by_lane.items():
        arrays |= {f"strip {number} {iteration}": picture for iteration, picture in numbers.strip}
    entries = [{"after": stamped.iteration, **encoded(stamped.command, arrays)} for stamped in log]
    measured = session.measurements.by_lane.items()
    curves = {str(number): [asdict(s) for s in numbers.scalars] for number, numbers in measured}
    kinds = {str(number): numbers.log_partition_kind for number, numbers in measured}
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": __version__,
        "workspace": {"name": workspace.name, **options},
        "origin": {
            "name": origin.document.name,
            "clamps": [list(clamp) for clamp in origin.document.clamps],
            "graph": None if graph is None else graph.described(),
            "labels": [[each.number, each.title, each.colour] for each in origin.document.labels],
            "limits": origin.limits.values(),
            "lanes": [_lane_described(lane) for lane in origin.lanes],
        },
        "log": entries,
        "iteration": timeline.iteration,
        "newest": timeline.newest,
        "speed": session.speed,
        "lanes": [lane_values(workspace, lane) for lane in session.point.lanes],
        "curves": curves,
        "log_partition_kinds": kinds,
    }


def _shows_a_file(origin: TimelinePoint, log: Sequence[Stamped]) -> bool:
    graph = origin.document.graph
    put = (each.command.described["source"] for each in log if isinstance(each.command, PutGraph))
    return graph is None or graph.is_file or FILE in put


def _lane_described(lane: Lane) -> dict[str, Any]:
    return {
        "number": lane.number,
        "model": lane.model_name,
        "algorithm": lane.algorithm.name,
        "parameters": lane.algorithm.values(),
        "limit": lane.limit,
        "name": lane.name,
    }


# Reading --------------------------------------------------------------------------------------------------------------


def load_session(
    path: str | os.PathLike[str],
    workspaces: Mapping[str, Workspace] | None = None,
    later: Sequence[Change] = (),
    own: bool = False,
) -> Session:
    """Open a session, paused. `workspaces` by name serve instead of new ones: they may have models in memory.

    `later` is what a journal holds since the file was written; the session then goes on to the end of it. `own` is
    whether this program wrote the file for itself: then a path of a model in it may be followed.
    """
    source = Path(path)
    try:
        with ReadZip(source) as archive:
            described = _checked(source, archive.text("session.json"))
            arrays = archive.arrays("arrays.npz")
            messages = archive.arrays("messages.npz") if "messages.npz" in archive.names else None
        return _restored(described, arrays, messages, workspaces or {}, later, own)
    except FileNotFoundError:
        raise SessionFileError(f"{source} does not exist: expected a session file ending in {SUFFIX}.") from None
    except DamagedZip as problem:
        raise SessionFileError(f"{source} is damaged: {problem}; open an older copy of it.") from problem
    except OSError as problem:
        raise SessionFileError(f"{source} cannot be read: {problem.strerror or problem}.") from problem
    except StudioError as problem:
        if isinstance(problem, SessionFileError):
            raise
        raise SessionFileError(f"{source} cannot be opened: {problem}") from problem
    except Exception as problem:  # between the zip directory and the fields of a command anything can be wrong
        kind = type(problem).__name__
        raise SessionFileError(f"{source} is no session file, or is damaged ({kind}): try an older copy.") from problem


def _checked(path: Path, described: Any) -> dict[str, Any]:
    """The description in the present version."""
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise SessionFileError(f"{path} is no session file: its session.json does not say {FORMAT!r}.")
    version = described["version"]
    if not isinstance(version, int) or version > VERSION:
        found = f"{path} has format version {version} and this program reads up to {VERSION}"
        raise SessionFileError(f"{found}: update MRF Studio.")
    for old in range(version, VERSION):
        described = MIGRATIONS[old](described)
    return described


def _restored(
    described: dict[str, Any],
    arrays: dict[str, np.ndarray],
    messages: dict[str, np.ndarray] | None,
    workspaces: Mapping[str, Workspace],
    later: Sequence[Change],
    own: bool,
) -> Session:
    workspace = _workspace(described["workspace"], arrays, workspaces)
    described, missing = (described, "") if own else with_known_models(described, workspace)
    runner = LaneRunner(workspace)
    timeline = Timeline(runner, _origin(runner, described["origin"], arrays))
    iteration, newest = _whole(described["iteration"]), _whole(described["newest"])
    if iteration > newest:
        raise ValueError("the cursor is after the end")
    log = _log(described["log"], arrays, newest)
    before = len(log)
    for change in later:
        log, newest = change.applied_to(log), change.newest
        if change.keep < before or newest < iteration:  # the past was changed: the messages belong to another course
            messages, iteration, described["curves"] = None, 0, {}
    timeline.take_up(_in_order(log, newest), newest)
    note = _put_messages(timeline, iteration, described["lanes"], messages, bool(described.get("soon")))
    note = missing or note
    if later:
        timeline.seek(newest)
    session = Session.of_timeline(timeline)
    session.set_speed(described["speed"])
    for number, curve in described["curves"].items():
        kind = described["log_partition_kinds"][number]
        strip = _strip(arrays, f"strip {number} ")
        session.measurements.by_lane[int(number)] = LaneMeasurements(
            [made(Scalars, point) for point in curve], strip, kind
        )
    if note:
        session.say(note)
    return session


def _strip(arrays: dict[str, np.ndarray], prefix: str) -> list[tuple[int, np.ndarray]]:
    found = [(int(key.removeprefix(prefix)), frozen(array)) for key, array in arrays.items() if key.startswith(prefix)]
    return sorted(found, key=lambda small: small[0])


def _workspace(options: dict[str, Any], arrays: dict[str, np.ndarray], given: Mapping[str, Workspace]) -> Workspace:
    name = options["name"]
    restores = SERVICES[name].restores if name in SERVICES.names() else None
    if restores is None:
        raise StudioError(f"it belongs to the workspace {name!r}, which this program does not have.")
    own = {key.removeprefix("workspace "): array for key, array in arrays.items() if key.startswith("workspace ")}
    # What a file brings along (a graph) is its own; models that are known by name may come from the program.
    return given[name] if name in given and not own else restores.restored(options, own)


def _origin(runner: LaneRunner, described: dict[str, Any], arrays: dict[str, np.ndarray]) -> TimelinePoint:
    layers = {key.removeprefix("origin "): array for key, array in arrays.items() if key.startswith("origin ")}
    truth = layers.pop("truth", None)
    clamps = checked_clamps(described.get("clamps", ()))  # files of the first versions have none
    document = Document({name: frozen(array) for name, array in layers.items()}, truth, str(described["name"]), clamps)
    if described.get("graph") is not None:  # of a graph that a person can change; files before it have none
        own = {key.removeprefix("graph "): array for key, array in arrays.items() if key.startswith("graph ")}
        document = replace(document, graph=Sketch.restored(described["graph"], own))
    if "photograph" in arrays:
        if "strokes" in layers:
            from mrfstudio.engine.files.photographs import check_fits  # Pillow: no other workspace needs it

            check_fits(arrays["photograph"], layers["strokes"].shape, document.name)
        photo = photo_of(arrays["photograph"], document.name)
        document = replace(document, photo=photo, labels=checked_labels(described["labels"]))
    runner.workspace.check(document)
    lanes = tuple(
        make_lane(runner, document, lane["number"], lane["model"], lane["algorithm"], lane["parameters"], lane["limit"])
        for lane in described["lanes"]
    )
    names = [str(lane.get("name", "")) for lane in described["lanes"]]  # files of the first versions have none
    lanes = tuple(replace(lane, name=name) for lane, name in zip(lanes, names, strict=True))
    numbers = [lane.number for lane in lanes]
    if not lanes or numbers != sorted(set(numbers)) or not set(numbers) <= set(range(MOST_LANES)):
        raise ValueError(f"lanes are numbered {numbers}")
    return TimelinePoint(0, document, lanes, Limits().replace(**described["limits"]))


def _log(entries: list[dict[str, Any]], arrays: dict[str, np.ndarray], newest: int) -> list[Stamped]:
    log = [
        Stamped(
            _whole(entry["after"]), decoded({name: value for name, value in entry.items() if name != "after"}, arrays)
        )
        for entry in entries
    ]
    return _in_order(log, newest)


def _in_order(log: list[Stamped], newest: int) -> list[Stamped]:
    stamps = [stamped.iteration for stamped in log]
    if stamps != sorted(stamps) or (stamps and stamps[-1] > newest):
        raise ValueError("the stamps of the log are not in order")
    return log


def _put_messages(
    timeline: Timeline,
    iteration: int,
    lanes: list[dict[str, Any]],
    messages: dict[str, np.ndarray] | None,
    soon: bool,
) -> str:
    """Take the stored states, or set out to compute them again; returns what to say about it."""
    runner, point = timeline.runner, timeline.origin
    for stamped in timeline.log:
        if stamped.iteration <= iteration:
            point = apply_command(runner, point, stamped.command, known=True).point
    note = ""
    if messages is None and soon:
        until = time.monotonic() + SOON
        timeline.seek(iteration)
        timeline.walk(lambda: time.monotonic() < until)  # what a slower machine has not done then, it does later
        return _other_model(runner, point, lanes)
    if messages is None and iteration:
        note = "The messages were too large to be stored and are being computed again."
    elif messages is not None:
        filled = [lane_with_state(runner, point, values, messages) for values in lanes]
        if len(filled) != len(point.lanes):
            raise ValueError("the lanes of the log and of the messages are not the same")
        changed = next((lane for lane in filled if isinstance(lane, str)), None)
        if changed is None:
            kept = tuple(lane for lane in filled if isinstance(lane, Lane))
            timeline.put(replace(point, iteration=iteration, lanes=kept))
            return ""
        note = f"{changed}: messages are being computed again."
    timeline.seek(iteration)
    return note


def _other_model(runner: LaneRunner, point: TimelinePoint, lanes: list[dict[str, Any]]) -> str:
    """What to say where a model of the same name is another one now."""
    saved = {values["number"]: values["model"] for values in lanes}
    for lane in point.lanes:
        if saved.get(lane.number) != runner.workspace.fingerprint(lane.model):
            return f"The model {lane.model_name} is not the one this session was saved with: it answers otherwise."
    return ""


def _whole(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value <= MOST_ITERATIONS:
        raise ValueError(f"{value!r} is no number of iterations")
    return value
