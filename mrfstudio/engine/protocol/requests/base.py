"""What a question of the window is: a frozen value that knows the type of its answer.

class ModelCard(Request[str]): model: str              here: what is asked, and what the answer is
controller.ask(ModelCard("rbm-mnist"), self._show)     in the window: `_show` takes a str, or mypy complains
ModelCard.by(self.model_card)                          in the engine: who answers, with the same check
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeAlias, TypeVar

A = TypeVar("A")


@dataclass(frozen=True)
class Background(Generic[A]):
    """An answer that takes longer and touches no session: it is computed while the sessions go on."""

    work: Callable[[], A]


@dataclass(frozen=True)
class NotYet:
    """Progress of an answer that waits for a job: look again after so many seconds, and do others meanwhile."""

    seconds: float = 0.05


Reply: TypeAlias = A | Background[A] | Generator[Any, None, A]
"""An answer at once, one computed in the background, or one that reports progress on its way."""


class Request(Generic[A]):
    """Base of all questions; subclasses are frozen dataclasses."""

    @classmethod
    def by(cls, handler: Callable[[Self], Reply[A]]) -> Route:
        """Who answers this kind of question."""
        return Route(cls, handler)


@dataclass(frozen=True)
class Route:
    """A kind of question and the function that answers it."""

    request: type[Request[Any]]
    handler: Callable[[Any], Any]
