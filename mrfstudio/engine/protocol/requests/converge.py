"""Questions of the Converge workspace."""

from __future__ import annotations

from dataclasses import dataclass

from mrfstudio.engine.protocol.answers import (
    ArenaScores,
    Frustrated,
    Guarantee,
    GuaranteedAlphas,
    MessageWork,
    SigmaMap,
    Suspects,
    Swings,
    TextColumns,
    Tip,
    Trial,
)
from mrfstudio.engine.protocol.requests.base import Request


@dataclass(frozen=True, eq=False)
class OpenGraph(Request[str]):
    """Show a factor graph, or the one in a graph file; `shape` (rows, columns) lays its variables out.

    Answers its name.
    """

    graph: object
    name: str = "graph"
    shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class ReadEvidence(Request[tuple[tuple[int, int], ...]]):
    """Nodes and states of an evidence file for the graph that is shown."""

    path: str


@dataclass(frozen=True)
class ListReaders(Request[tuple[str, ...]]):
    """The models that read text, shipped and a person's own, by name."""


@dataclass(frozen=True)
class ReadText(Request[TextColumns]):
    """Show the graph of hidden states under a text. Lanes of a text before it stay, with their algorithms."""

    model: str
    text: str


@dataclass(frozen=True)
class ExportGraph(Request[str]):
    """Write the graph as it is shown, at its strengths and without evidence, as .uai or .fg; answers the path."""

    path: str


@dataclass(frozen=True)
class InferInputs(Request[tuple[str, str]]):
    """A graph file and an evidence file, or "", from which `mrfstudio infer` computes what is shown.

    The file that was opened where it is untouched; else files that begin with `stem`.
    """

    stem: str


@dataclass(frozen=True)
class InferWords(Request[tuple[str, ...] | None]):
    """Words from which `mrfstudio infer` makes the graph and the evidence that are shown, on any machine.

    A graph that was drawn or edited is a link. Empty where only a file can say it: one that was opened, or a graph that
    is too large for a link. None where `infer` cannot compute what is shown: messages are pinned. `taken` are names of
    options that the lane's algorithm has.
    """

    taken: tuple[str, ...]


@dataclass(frozen=True)
class AskGuarantee(Request[Guarantee]):
    """Whether α-BP must converge on a lane's graph with its evidence."""

    lane: int


@dataclass(frozen=True)
class AskGuaranteedAlphas(Request[GuaranteedAlphas]):
    """For which α it must."""

    lane: int


@dataclass(frozen=True)
class FindSwings(Request[Swings]):
    """Which messages of a lane oscillate."""

    lane: int


@dataclass(frozen=True)
class FindFrustrated(Request[Frustrated]):
    """Which factors of two variables lie on a frustrated cycle."""

    lane: int


@dataclass(frozen=True)
class FindSuspects(Request[Suspects]):
    """Messages, factors and variables of a lane by what speaks against them."""

    lane: int


@dataclass(frozen=True)
class TryTips(Request[tuple[Trial, ...]]):
    """What tips would do to a lane, each tried in a copy. Without tips, all that apply to its algorithm."""

    lane: int
    tips: tuple[Tip, ...] = ()


@dataclass(frozen=True)
class ExplainMessage(Request[MessageWork]):
    """How the message of a factor to its variable number `axis` was computed.

    `given` are pairs (axis, probabilities) of what other variables say instead, to see what would follow.
    """

    lane: int
    factor: int
    axis: int
    given: tuple[tuple[int, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class MapSigma(Request[SigmaMap | None]):
    """σ_max over (α, coupling), coarse maps as progress; None if another one was asked for since."""

    lane: int


@dataclass(frozen=True)
class RunArena(Request[ArenaScores | None]):
    """Every algorithm on every graph of a folder, `seconds` each; scores as they come. None if it was stopped."""

    folder: str
    algorithms: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class StopArena(Request[None]):
    """End what the arena is doing. What it has done is kept."""
