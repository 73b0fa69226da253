"""What makes a session file fit for other people: nothing of what was open before, and no path of this machine.

A model is known by its name. One that was opened from a path is written as the name of its file with a checksum:
whoever opens the session has it by that name, or opened it before, or is asked for it. No path is ever followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.model_file import SUFFIX
from mrfstudio.engine.graphs.sketch import GENERATED
from mrfstudio.engine.session.apply import apply_command, restarted
from mrfstudio.engine.session.lanes import TimelinePoint
from mrfstudio.engine.session.timeline import Stamped, Timeline
from mrfstudio.engine.workspaces.workspace import Workspace


def rebased(timeline: Timeline) -> tuple[TimelinePoint, list[Stamped]]:
    """Origin and log without what another picture or graph has replaced: nobody can go back there in a file."""
    last = max((i for i, each in enumerate(timeline.log) if each.command.replaces and each.iteration == 0), default=-1)
    point = timeline.origin
    for stamped in timeline.log[: last + 1]:
        point = apply_command(timeline.runner, point, stamped.command, known=True).point
    return restarted(point), timeline.log[last + 1 :]


def without_paths(described: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    """The description with names for paths, and the checksums of what those paths were in `models`."""
    names = _models_named(described)
    short = {name: Path(name).name.removesuffix(SUFFIX) if _is_path(name) else name for name in names}
    opened = [name for name in names if _is_path(name) and workspace.knows(name)]
    sums = {short[name]: workspace.fingerprint(workspace.load(name)) for name in opened}
    return {**_renamed(described, short), "models": sums}


def without_replaced_file(described: dict[str, Any]) -> dict[str, Any]:
    """The description of a graph that was made here: its lanes still have the name of a file that was open before."""
    return _renamed(described, dict.fromkeys(_models_named(described), GENERATED))


def with_known_models(described: dict[str, Any], workspace: Workspace) -> tuple[dict[str, Any], str]:
    """The description with names that the workspace knows, and what to say where one is gone."""
    sums = described.get("models")
    sums = sums if isinstance(sums, Mapping) else {}
    found: dict[str, str] = {}
    gone: list[str] = []
    for name in _models_named(described):
        if workspace.knows(name):
            continue
        wanted = Path(name).name.removesuffix(SUFFIX)
        known = workspace.model_like(wanted, str(sums.get(name, "")))
        if known is None:
            gone.append(wanted)
            known = workspace.stand_in()
        found[name] = known
    if not found:
        return described, ""
    said = ""
    if gone:
        used = found[next(name for name in found if Path(name).name.removesuffix(SUFFIX) == gone[0])]
        said = f"The model {gone[0]} of this session is not here, so {used} stands in for it: open {gone[0]}{SUFFIX}."
    return _renamed(described, found), said


def _is_path(name: str) -> bool:
    return "/" in name or "\\" in name or name.endswith(SUFFIX)


def _models_named(described: Mapping[str, Any]) -> list[str]:
    """Every model that lanes, commands and held units name."""
    named = [lane.get("model") for lane in described["origin"]["lanes"]]
    named += [entry["model"] for entry in described["log"] if "model" in entry]
    named += [clamp[0] for clamp in described["origin"].get("clamps", ())]
    return list(dict.fromkeys(name for name in named if isinstance(name, str) and name))  # "" is the usual one


def _renamed(described: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    def entry(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "model": names.get(value["model"], value["model"])} if "model" in value else value

    origin = described["origin"]
    clamps = [[names.get(model, model), *rest] for model, *rest in origin.get("clamps", ())]
    lanes = [entry(lane) for lane in origin["lanes"]]
    return {
        **described,
        "origin": {**origin, "lanes": lanes, "clamps": clamps},
        "log": [entry(each) for each in described["log"]],
    }
