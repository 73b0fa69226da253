"""The engine's side: one question and its answer."""

from __future__ import annotations

from collections.abc import Iterable

from greetings.requests import Greet
from mrfstudio.engine.protocol.requests import Route
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.workspaces.service import Service


@SERVICES.register
class GreetingsService(Service):
    name = "greetings"

    def routes(self) -> Iterable[Route]:
        yield Greet.by(lambda asked: f"Hello, {asked.name}.")
