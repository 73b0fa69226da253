"""What the window asks: no torch here."""

from __future__ import annotations

from dataclasses import dataclass

from mrfstudio.engine.protocol.requests import Request


@dataclass(frozen=True)
class Greet(Request[str]):
    """A greeting in words."""

    name: str
