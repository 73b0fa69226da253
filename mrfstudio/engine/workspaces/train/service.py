"""The Train workspace to the engine: the questions about runs and who answers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mrfstudio.engine.protocol.requests import Background, Route
from mrfstudio.engine.protocol.requests.train import (
    CancelRun,
    ChangeLearner,
    DeleteRuns,
    ListChoices,
    ListRuns,
    OpenRun,
    PaintPoints,
    PollRun,
    ReadParameters,
    ReadPlane,
    ReadSnapshot,
    RenameRun,
    RestoreRuns,
    ResumeRun,
    StartRun,
    SteerRun,
    UseRun,
)
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.workspaces.service import Service
from mrfstudio.engine.workspaces.sessions import Sessions
from mrfstudio.engine.workspaces.train.runs import Runs


@SERVICES.register
class TrainService(Service):
    """Answers questions about runs; there is no session here."""

    name = "train"

    def __init__(self, sessions: Sessions, models: Mapping[str, Any]) -> None:
        super().__init__(sessions, models)
        self.runs = Runs()

    def routes(self) -> Iterable[Route]:
        runs = self.runs
        yield ListChoices.by(lambda asked: runs.choices())
        yield ListRuns.by(lambda asked: runs.runs())
        yield OpenRun.by(lambda asked: runs.open(asked.run))
        yield ReadSnapshot.by(lambda asked: runs.snapshot(asked.run, asked.step))
        yield ReadPlane.by(lambda asked: runs.plane(asked.run, asked.after))
        yield ReadParameters.by(lambda asked: Background(lambda: runs.parameters(asked.run)))
        yield RenameRun.by(lambda asked: runs.rename(asked.run, asked.name))
        yield DeleteRuns.by(lambda asked: runs.delete(asked.runs))
        yield RestoreRuns.by(lambda asked: runs.restore(asked.runs))
        yield UseRun.by(lambda asked: runs.use(asked.run, asked.step))
        yield StartRun.by(lambda asked: runs.start(asked.plan, asked.name))
        yield ResumeRun.by(lambda asked: runs.resume(asked.run, asked.minutes))
        yield SteerRun.by(lambda asked: runs.steer(asked.verb))
        yield ChangeLearner.by(lambda asked: runs.change(asked.values))
        yield PaintPoints.by(lambda asked: runs.paint(asked.add, asked.erase))
        yield PollRun.by(lambda asked: runs.poll())
        yield CancelRun.by(lambda asked: runs.cancel())

    def close(self) -> None:
        self.runs.close()
