"""Questions of the Repair workspace."""

from __future__ import annotations

from dataclasses import dataclass

from mrfstudio.engine.protocol.answers import PhotographFile
from mrfstudio.engine.protocol.requests.base import Request


@dataclass(frozen=True)
class DamagedExample(Request[PhotographFile]):
    """A photograph with damage on it, by its place in the list; numbers beyond its end count from the start."""

    number: int = 0


@dataclass(frozen=True)
class LookForDamage(Request[int]):
    """Look how improbable each pixel of the photograph is to a model; answers how many lie above the threshold."""

    threshold: float = 6.0
    model: str = ""


@dataclass(frozen=True)
class HeldComponent(Request[int | None]):
    """The component of a model that fills in everything; None where any may."""

    model: str


@dataclass(frozen=True)
class SaveRepaired(Request[str]):
    """Write the repaired photograph at its own size; answers the path."""

    path: str
    lane: int = 0


@dataclass(frozen=True)
class SaveDamage(Request[tuple[str, str] | None]):
    """Write the photograph's own file and the damage, white, for `mrfstudio inpaint`; answers their paths.

    None if they do not say everything: pixels are doubtful, or a component is held.
    """

    folder: str
