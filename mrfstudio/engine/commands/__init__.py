"""What a person can do to a session, as plain values. No torch here: the window makes them, the engine applies them.

Applying an undoable command gives the command that undoes it. Commands queue up; only those with the same `merge_key`
(a slider being dragged) may replace each other while waiting. View and transport are not undoable.

A lane is named by its number, 0 to 5, which stays with it for life; `LaneFrame.lane` says it. A command that begins
messages anew (another picture, model or algorithm, one more lane) begins every lane anew, so that lanes stay in step.
"""

from __future__ import annotations

from mrfstudio.engine.commands.base import Command
from mrfstudio.engine.commands.evidence import (
    AddNoise,
    ClampUnit,
    ClearLayer,
    Fill,
    Invert,
    Paint,
    PaintEllipse,
    PaintLasso,
    PaintRectangle,
    SetImage,
    Shape,
)
from mrfstudio.engine.commands.graphs import (
    AddNode,
    Connect,
    DeleteParts,
    GraphCommand,
    MoveNode,
    NewGraph,
    SetEvidence,
    SetLayout,
    SetPart,
    SetStrength,
)
from mrfstudio.engine.commands.lanes import (
    AddLane,
    RemoveLane,
    RenameLane,
    SetAlgorithm,
    SetLimits,
    SetModel,
    SetParameter,
)
from mrfstudio.engine.commands.transport import (
    Pause,
    Play,
    Redo,
    Restart,
    Scrub,
    SetSpeed,
    SetView,
    Step,
    Transport,
    Undo,
)

__all__ = [
    "AddLane",
    "AddNode",
    "AddNoise",
    "ClampUnit",
    "ClearLayer",
    "Command",
    "Connect",
    "DeleteParts",
    "Fill",
    "GraphCommand",
    "Invert",
    "MoveNode",
    "NewGraph",
    "Paint",
    "PaintEllipse",
    "PaintLasso",
    "PaintRectangle",
    "Pause",
    "Play",
    "Redo",
    "RemoveLane",
    "RenameLane",
    "Restart",
    "Scrub",
    "SetAlgorithm",
    "SetEvidence",
    "SetImage",
    "SetLayout",
    "SetLimits",
    "SetModel",
    "SetParameter",
    "SetPart",
    "SetSpeed",
    "SetStrength",
    "SetView",
    "Shape",
    "Step",
    "Transport",
    "Undo",
]
