"""The engine as the window's thread sees it: one object that composes the services of all workspaces.

Nothing here knows Qt, or names a workspace; a test or a notebook can use it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mrfstudio.engine.files.model_file import read_card
from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Background, Reply, Request, Route
from mrfstudio.engine.protocol.requests.studio import (
    Begin,
    DescribeModel,
    ModelCard,
    ModelKind,
    Ping,
    ReadPage,
    SaveAnimation,
    Typeset,
)
from mrfstudio.engine.protocol.words import Words
from mrfstudio.engine.registry import SERVICES, catalogue
from mrfstudio.engine.runtime.device import in_words, wished_device
from mrfstudio.engine.runtime.memory import keep_freed_memory
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.lessons import Lessons
from mrfstudio.engine.workspaces.service import Service
from mrfstudio.engine.workspaces.sessions import Sessions
from mrfstudio.engine.workspaces.workspace import Workspace

if TYPE_CHECKING:
    from mrfstudio.engine.session.recovery import RecoveryKeeper

# Modules that only some questions need are imported there: half of the time to the first picture went into them.


class Studio:
    """Sessions by workspace, and answers to questions. One thread uses it."""

    def __init__(self, models: Mapping[str, Any] | None = None, keeper: RecoveryKeeper | None = None) -> None:
        """`models` are used beside the shipped ones; the first of a kind is what its workspace begins with.

        `keeper` has unsaved work outlive a crash.
        """
        keep_freed_memory()
        torch.set_flush_denormal(True)  # denormal messages would make an iteration ten times slower
        # A second thread only where a session's work is worth it: a small operation that waits for a thread which the
        # window keeps from its core takes many times as long.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.sessions = Sessions(threads, keeper, self._in_memory)
        self._models = dict(models or {})
        self._services: dict[str, Service] = {}
        self._handlers: dict[type[Request[Any]], Callable[[Any], Any]] = {}
        self._take(self.sessions.routes(self.session))
        self._take(self._routes())
        self._take(Lessons(self.sessions, self.session).routes())

    def _take(self, routes: Iterable[Route]) -> None:
        self._handlers.update({route.request: route.handler for route in routes})

    # Workspaces -------------------------------------------------------------------------------------------------------

    def service(self, workspace: str) -> Service:
        """The service of a workspace, made when it is first asked for."""
        if workspace not in self._services:
            made = SERVICES[workspace](self.sessions, self._models)
            self._services[workspace] = made
            self._take(made.routes())
        return self._services[workspace]

    def _all_services(self) -> list[Service]:
        return [self.service(cls.name) for cls in SERVICES]

    def _in_memory(self) -> dict[str, Workspace]:
        known = {service.name: service.workspace() for service in self._all_services()}
        return {name: workspace for name, workspace in known.items() if workspace is not None}

    def session(self, workspace: str) -> Session:
        """The session of a workspace, made when it is first asked for."""
        return self.service(workspace).session()

    # The engine's thread ----------------------------------------------------------------------------------------------

    def load(self) -> Loaded:
        """Everything that the window shows before a person has done anything."""
        device, instead = wished_device()
        loaded = Loaded(catalogue(), device=in_words(self.sessions.threads, device), notice=instead)
        for service in self._all_services():
            loaded = service.loaded(loaded)
        return loaded

    def warm_up(self) -> None:
        """Import what only later questions need."""
        for service in self._all_services():
            service.warm_up()

    def answer(self, workspace: str, request: Request[Any]) -> Reply[Any]:
        """Answer a question that was asked while `workspace` was shown."""
        self.sessions.settle(workspace)
        if type(request) not in self._handlers:
            self._all_services()
        handler = self._handlers.get(type(request))
        if handler is None:
            raise StudioError(f"Nobody answers {type(request).__name__}: the workspace that does is not installed.")
        return handler(request)

    def keep(self) -> list[Background[None]]:
        """Keep what was done where a crash cannot reach it; returns what takes longer."""
        return self.sessions.keep()

    @property
    def wait_to_keep(self) -> float | None:
        """Seconds until `keep` is to be asked again though nothing happens; None: not before something does."""
        return self.sessions.wait_to_keep

    def close(self) -> None:
        """The window is gone: end what was started for it."""
        for service in self._services.values():
            service.close()
        self.sessions.close()

    # Questions that belong to no workspace ----------------------------------------------------------------------------

    def _routes(self) -> Iterable[Route]:
        yield Ping.by(lambda asked: None)
        yield Begin.by(lambda asked: self.service(asked.workspace).begin())
        yield DescribeModel.by(lambda asked: self.service(asked.workspace).describe(asked.model))
        yield ModelCard.by(_model_card)
        yield ModelKind.by(lambda asked: read_card(asked.model).kind)
        yield SaveAnimation.by(_save_animation)
        yield Typeset.by(_typeset)
        yield ReadPage.by(_read_page)


def _model_card(asked: ModelCard) -> str:
    from mrfstudio.engine.files.model_card import card_markdown

    return card_markdown(Path(asked.model).stem, read_card(asked.model))


def _typeset(asked: Typeset) -> Background[tuple[Words, ...]]:
    def work() -> tuple[Words, ...]:
        from mrfstudio.engine.words.markdown import words_of

        return tuple(words_of(text) for text in asked.texts)

    return Background(work)


def _read_page(asked: ReadPage) -> Background[Words]:
    def work() -> Words:
        from mrfstudio.engine.words.markdown import words_of
        from mrfstudio.engine.words.pages import page

        return words_of(page(asked.topic))

    return Background(work)


def _save_animation(asked: SaveAnimation) -> Background[str]:
    from mrfstudio.engine.files.animation import write_animation

    def work() -> str:
        write_animation(asked.path, asked.pictures, asked.milliseconds, asked.last)
        return asked.path

    return Background(work)
