"""Questions that every workspace may ask: sessions and their files, models, lessons, work that a crash left behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.protocol.answers import ModelNote, Recovered, Unsaved
from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.protocol.requests.base import Request
from mrfstudio.engine.protocol.words import Words


@dataclass(frozen=True)
class Ping(Request[None]):
    """Answered once everything asked before is done."""


@dataclass(frozen=True)
class Begin(Request[str]):
    """Show a workspace's first example, as something to look at rather than as somebody's work; answers its name."""

    workspace: str


@dataclass(frozen=True)
class SaveSession(Request[str]):
    """Write the session; it is then no longer modified. Answers the path."""

    workspace: str
    path: str


@dataclass(frozen=True)
class CopySession(Request[str]):
    """Write the session without calling it saved, such as for a command that replays it. Answers the path."""

    workspace: str
    path: str


@dataclass(frozen=True)
class ExportPage(Request[int]):
    """Write the session as one HTML file that plays it, with words above it. Answers the size in bytes."""

    workspace: str
    path: str
    title: str
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenSession(Request[str]):
    """Show the session of a file; answers the name of its workspace."""

    path: str


@dataclass(frozen=True)
class LeftBehind(Request[tuple[Unsaved, ...]]):
    """Work of the last window that did not close in order."""


@dataclass(frozen=True)
class Recover(Request[Recovered]):
    """Open work that was left behind."""

    works: tuple[Unsaved, ...]


@dataclass(frozen=True)
class DiscardLeftBehind(Request[None]):
    """Throw away what a window left behind."""

    window: str


@dataclass(frozen=True)
class ModelCard(Request[str]):
    """A model's description as Markdown."""

    model: str


@dataclass(frozen=True)
class ModelKind(Request[str]):
    """Which kind of model a file holds."""

    model: str


@dataclass(frozen=True)
class DescribeModel(Request[ModelNote]):
    """One line about a model; refused where the workspace cannot use it."""

    workspace: str
    model: str


@dataclass(frozen=True)
class ListLessons(Request[tuple[Lesson, ...]]):
    """Everything there is to learn, easiest first."""


@dataclass(frozen=True)
class OpenLesson(Request[Lesson]):
    """The lesson in a file."""

    path: str


@dataclass(frozen=True)
class SaveLesson(Request[str]):
    """Write a lesson (`.mrfl`); answers the path."""

    lesson: Lesson
    path: str


@dataclass(frozen=True)
class KeepSession(Request[bytes]):
    """The session of a workspace as the content of a file, for a lesson to begin with."""

    workspace: str


@dataclass(frozen=True)
class BeginWith(Request[str]):
    """Show a session from its content, as something to look at; answers the name of its workspace."""

    session: bytes


@dataclass(frozen=True)
class ExportLesson(Request[int]):
    """Write a lesson as one HTML file, played to its end; answers the size in bytes."""

    lesson: Lesson
    path: str


@dataclass(frozen=True)
class CopyLink(Request[str]):
    """The state of a workspace as a `mrfs:` link. Refused where it is too large for one."""

    workspace: str


@dataclass(frozen=True)
class PictureInWords(Request[str]):
    """The word of the shipped picture that a workspace shows, see `engine/workspaces/in_words.py`.

    Empty where it is none, or where what is painted on it has changed.
    """

    workspace: str


@dataclass(frozen=True)
class OpenLink(Request[str]):
    """Show the state in a `mrfs:` link; answers the name of its workspace."""

    link: str


@dataclass(frozen=True)
class Typeset(Request[tuple[Words, ...]]):
    """Texts in Markdown with TeX, ready to be shown."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class ReadPage(Request[Words]):
    """What an algorithm, a model, a learner or a parameter is, such as `algorithm/bp` or `parameter/damping`."""

    topic: str


@dataclass(frozen=True, eq=False)
class SaveAnimation(Request[str]):
    """Write pictures (h, w, 4) of the canvas as one animation; answers the path."""

    path: str
    pictures: list[np.ndarray]
    milliseconds: int
    last: int
