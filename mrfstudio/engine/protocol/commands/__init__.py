"""What a person can do to a session, as plain values. No torch here: the window makes them, the engine applies them.

Applying an undoable command gives the command that undoes it. Commands queue up; only those with the same `merge_key`
(a slider being dragged) may replace each other while waiting. View and transport are not undoable.

A lane is named by its number, 0 to 5, which stays with it for life; `LaneFrame.lane` says it. A command that begins
messages again (another picture, model or algorithm, one more lane) restarts every lane, so that lanes stay in step.
"""

from __future__ import annotations

from mrfstudio.engine.protocol.commands.base import Command
from mrfstudio.engine.protocol.commands.evidence import (
    WIDEST_GAP,
    AddNoise,
    ClampUnit,
    ClearLayer,
    CloseGaps,
    Fill,
    Invert,
    Opening,
    Paint,
    PaintEllipse,
    PaintLasso,
    PaintRectangle,
    SetImage,
    Shape,
    Thin,
)
from mrfstudio.engine.protocol.commands.graphs import (
    AddNode,
    Connect,
    DeleteParts,
    Forbid,
    GraphCommand,
    MoveNode,
    NewGraph,
    PinMessage,
    SetEvidence,
    SetLayout,
    SetPart,
    SetStrength,
    SetTable,
)
from mrfstudio.engine.protocol.commands.lanes import (
    AddLane,
    RemoveLane,
    RenameLane,
    SetAlgorithm,
    SetLimits,
    SetModel,
    SetParameter,
)
from mrfstudio.engine.protocol.commands.photographs import FindDamage, Label, SetLabels, SetPhotograph
from mrfstudio.engine.protocol.commands.training import (
    SetLearner,
    ShowPlan,
    StartTraining,
    StopTraining,
    TrainingCommand,
)
from mrfstudio.engine.protocol.commands.transport import (
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
    "WIDEST_GAP",
    "AddLane",
    "AddNode",
    "AddNoise",
    "ClampUnit",
    "ClearLayer",
    "CloseGaps",
    "Command",
    "Connect",
    "DeleteParts",
    "Fill",
    "FindDamage",
    "Forbid",
    "GraphCommand",
    "Invert",
    "Label",
    "MoveNode",
    "NewGraph",
    "Opening",
    "Paint",
    "PaintEllipse",
    "PaintLasso",
    "PaintRectangle",
    "Pause",
    "PinMessage",
    "Play",
    "Redo",
    "RemoveLane",
    "RenameLane",
    "Restart",
    "Scrub",
    "SetAlgorithm",
    "SetEvidence",
    "SetImage",
    "SetLabels",
    "SetLayout",
    "SetLearner",
    "SetLimits",
    "SetModel",
    "SetParameter",
    "SetPart",
    "SetPhotograph",
    "SetSpeed",
    "SetStrength",
    "SetTable",
    "SetView",
    "Shape",
    "ShowPlan",
    "StartTraining",
    "Step",
    "StopTraining",
    "Thin",
    "TrainingCommand",
    "Transport",
    "Undo",
]
