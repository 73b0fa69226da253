"""Chains of hidden states z_t with a word or a vector x_t for each ([WK19], section 4.3; [Liu20], chapter 7).

    directed      p(x, z) = Π_t p(z_t | z_{t-1}, …, z_{t-L}) p(x_t | z_t)
    undirected    p(x, z) = 1/Z_T exp(Σ_t Σ_{d=1..min(L, t-1)} A_d[z_{t-d}, z_t]) Π_t p(x_t | z_t)

Emissions sum to one in both, so that Z_T depends on the length alone and log Z(x) - log Z_T = log p(x | T).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.families.chain.emissions import frame_scores, start_frames
from mrfstudio.engine.families.chain.recursion import free_log_partitions, log_partitions
from mrfstudio.engine.families.chain.scores import (
    aimed,
    pair_scores,
    start_transitions,
    start_words,
    transition_scores,
    word_scores,
)
from mrfstudio.engine.families.chain.starting import clusters, neighbours, soft_moves, soft_words
from mrfstudio.engine.families.named_tensors import NamedTensors
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.training import TrainingPlan
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData

MOST_CONTEXTS = 4_000_000
"""Entries of the table of transitions: K^(L+1) grows quickly."""
UNKNOWN = "?"
"""What data of words write for every word that is rare."""
FRAMES_TO_START = 5000
"""Sequences that the first means, or counts of neighbours, are taken from."""


class ChainError(StudioError):
    """A chain that cannot be made, or data that do not fit it. The message is one sentence for a person."""


class Chain(NamedTensors):
    """Parameters in named tensors, float64. `symbols` are the words of a chain that speaks of words."""

    kind = "chain"
    misfit = ChainError

    def __init__(
        self, tensors: Mapping[str, Tensor], *, states: int, order: int, form: str, settings: Mapping[str, Any]
    ) -> None:
        """Tensors by name, in the shapes that `start_transitions`, `start_words` and `start_frames` give them."""
        self.states, self.order, self.form = states, order, form
        self.settings = dict(settings)
        self.symbols: tuple[str, ...] = tuple(settings.get("symbols", ()))
        super().__init__(tensors)
        self._forbidden = _left_right(states) if settings.get("topology") == "left-right" else None

    # The trainer's contract -------------------------------------------------------------------------------------------

    def hyperparameters(self) -> dict[str, Any]:
        shapes = {name: list(tensor.shape) for name, tensor in self._tensors.items()}
        return {"states": self.states, "order": self.order, "form": self.form, **self.settings, "shapes": shapes}

    def works(self) -> bool:
        shape = (self.states + 1,) * self.order + (self.states,)
        embedded = self._tensors.get("states")
        known = embedded is None or len(embedded) == self.states + 1
        if not known or self.states < 1 or self.order < 1 or math.prod(shape) > MOST_CONTEXTS:
            return False
        columns = torch.zeros(1, 1, *self._column, device=next(iter(self._tensors.values())).device)
        return self.transitions().shape == shape and self.emissions(columns).shape == (1, 1, self.states)

    @property
    def _column(self) -> tuple[int, ...]:
        """The shape of one column: () of a word, (D,) of a vector."""
        if not self.continuous:
            return ()
        return tuple(self._tensors["means" if "means" in self._tensors else "flow_shift"].shape[1:])

    # The distribution -------------------------------------------------------------------------------------------------

    @property
    def directed(self) -> bool:
        return self.form == "directed"

    @property
    def continuous(self) -> bool:
        """Whether columns are vectors, and not words."""
        return "words" not in self._tensors

    def transitions(self) -> Tensor:
        """W (K+1, …, K+1, K), see `recursion.py`; gradients flow to the parameters."""
        return transition_scores(self._tensors, self.states, self.order, self.form, self._forbidden)

    def pairs(self) -> Tensor:
        """A (L, K, K) of an undirected chain."""
        return pair_scores(self._tensors, self.states, self.order)

    def words(self) -> Tensor:
        """log p(x | z) (K, V) of a chain of words."""
        return word_scores(self._tensors, self.states)

    def emissions(self, columns: Tensor) -> Tensor:
        """log p(x_t | z_t) (B, T, K) of words (B, T) or vectors (B, T, D); a negative word says nothing."""
        if self.continuous:
            flat = torch.nan_to_num(columns.flatten(0, 1).double())
            return frame_scores(self._tensors, flat).reshape(*columns.shape[:2], self.states)
        words = columns.long()
        found = self.words().T[words.clamp_min(0)]
        return torch.where((words < 0)[..., None], 0.0, found)

    def log_clamped(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """log Σ_z of each sequence with its columns given, (B,); exact."""
        return log_partitions(self.transitions(), self.emissions(columns), lengths)

    def log_free(self, lengths: Tensor) -> Tensor:
        """log Z_T (B,) for each length; 0 where rows sum to one by themselves."""
        if self.directed:
            return torch.zeros(len(lengths), dtype=torch.float64, device=lengths.device)
        return free_log_partitions(self.transitions(), int(lengths.max()))[lengths - 1]

    def log_likelihood(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """log p(x | T) of each sequence, (B,), in nats; exact."""
        return self.log_clamped(columns, lengths) - self.log_free(lengths)

    @torch.no_grad()
    def posteriors(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """p(z_t | x) (B, T, K), exact, from log p(x_t | z_t) (B, T, K); zeros after the end."""
        with torch.enable_grad():
            given = emissions.detach().requires_grad_()
            total = log_partitions(self.transitions().detach(), given, lengths).sum()
            (found,) = torch.autograd.grad(total, given)
        return found

    def encoded(self, text: str) -> list[int]:
        """Text as numbers of words or letters; -1 where the chain does not know one and has no word for that."""
        place = {symbol: number for number, symbol in enumerate(self.symbols)}
        unknown = place.get(UNKNOWN, -1) if self.settings.get("unit") == "words" else -1
        return [place.get(piece, unknown) for piece in self.pieces(text)]

    def pieces(self, text: str) -> list[str]:
        """The words or letters of a text as they are looked up: a letter that is not known counts as a space."""
        if self.settings.get("unit") == "words":
            return [word.lower() for word in text.split()]
        known = set(self.symbols)
        return [small if (small := letter.lower()) in known else " " for letter in text]


def _left_right(states: int) -> Tensor:
    """(K+1, K) of first order: begin with the first state, then stay or go on by one."""
    allowed = torch.zeros(states + 1, states, dtype=torch.bool)
    allowed[states, 0] = True
    index = torch.arange(states)
    allowed[index, index] = True
    allowed[index[:-1], index[1:]] = True
    return ~allowed


@MODELS.register
class ChainPlan(ModelPlan):
    """What a person chooses about a chain."""

    name = "chain"
    title = "Chain of hidden states"
    summary = "A hidden Markov model of order one to three: letters, words or vectors, with a hidden state under each."
    default_data = "chains"
    default_learner = "likelihood"
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "likelihood": {"algorithm": "exact", "learning_rate": 0.03, "batch_size": 64, "clip_norm": 5.0},
        "em": {"algorithm": "exact", "learning_rate": 0.03, "batch_size": 64, "clip_norm": 5.0},
    }
    demonstration = TrainingPlan("chain", "baum-welch", "chains", options={"states": 3, "epochs": 60})

    states: int = integer(8, "Hidden states.", low=1, high=64)
    order: int = integer(1, "How many earlier states a state depends on.", low=1, high=3)
    form: str = choice(
        "directed",
        ("directed", "undirected"),
        "Chances of the next state, or scores between each two columns that are near.",
    )
    scores: str = choice("tables", ("tables", "network"), "Tables of numbers, or a network over vectors of states.")
    emission: str = choice(
        "auto",
        ("auto", "words", "gaussian", "flow"),
        "What a state says of its column: auto takes words for text and Gaussians for vectors.",
    )
    covariance: str = choice("diagonal", ("diagonal", "full"), "Gaussians with axes of their own, or turned ones.")
    topology: str = choice(
        "any", ("any", "left-right"), "Left-right begins with the first state and only stays or goes on by one."
    )
    width: int = integer(48, "Numbers in the vector of a state, for the network.", low=1, high=1024, advanced=True)
    flows: int = integer(1, "Flows in each state (the κ of GenHMM).", low=1, high=16)
    layers: int = integer(4, "Coupling layers of a flow; 0 leaves Gaussians.", low=0, high=32, advanced=True)
    flow_width: int = integer(24, "Width of the networks in a flow.", low=1, high=512, advanced=True)
    input_noise: float = number(
        0.15,
        "Flows: noise on the training vectors, in standard deviations; without it few data are overfitted.",
        low=0.0,
    )
    start: str = choice(
        "contexts",
        ("contexts", "noise"),
        "Words: begin with clusters of words that stand in like places, or with noise.",
        advanced=True,
    )
    start_noise: float = number(
        1.0, "Standard deviation of the first noise in tables of words.", low=0.0, advanced=True
    )

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> Chain:
        """An empty model like the one a file describes."""
        kept = dict(hyperparameters)
        shapes = kept.pop("shapes")
        tensors = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes.items()}
        states, order, form = kept.pop("states"), kept.pop("order"), kept.pop("form")
        return Chain(tensors, states=states, order=order, form=form, settings=kept)

    def build_for(self, data: TrainingData, seed: int) -> Chain:
        """A new chain for words `x` (N, T), or vectors `x` (N, T, D) with `lengths`."""
        generator = torch.Generator().manual_seed(seed)
        count = min(FRAMES_TO_START, len(data.train))
        some = data.train[torch.arange(count)]
        x = some.get("x") if isinstance(some, Mapping) else None
        if x is None or x.ndim not in (2, 3):
            raise ChainError(f"The data {data.name!r} hold no sequences: try text:FILE, sequences:FILE.ts or chains.")
        emission = self.emission if self.emission != "auto" else ("gaussian" if x.ndim == 3 else "words")
        self._check(emission, x)
        symbols = [str(word) for word in data.constants.get("symbols", ())]
        first = start_transitions(
            self.states, self.order, self.form, self.scores, self.width, generator, 0.1 * self.start_noise
        )
        if emission == "words":
            words = len(symbols) or int(x.max()) + 1
            first |= start_words(self.states, words, self.scores, self.width, generator, self.start_noise)
            if self.start == "contexts" and words > self.states > 1:
                self._from_contexts(first, some, words, generator)
        else:
            lengths = some.get("lengths", torch.full((count,), x.shape[1]))
            first |= start_frames(
                emission,
                self.states,
                [sequence[: int(length)] for sequence, length in zip(x, lengths, strict=True)],
                covariance=self.covariance,
                flows=self.flows,
                layers=self.layers,
                width=self.flow_width,
                left_right=self.topology == "left-right",
                generator=generator,
            )
        settings: dict[str, Any] = {
            "topology": self.topology,
            "symbols": symbols,
            "unit": str(data.constants.get("unit", "")),
        }
        if emission == "flow":
            settings["input_noise"] = self.input_noise
        return Chain(first, states=self.states, order=self.order, form=self.form, settings=settings)

    def _from_contexts(self, first: dict[str, Tensor], some: Any, words: int, generator: torch.Generator) -> None:
        """Words by clusters of their neighbours, and first-order moves between those.

        Changes `first` in place. Of tables the drawn noise stays on top: words (K, V); transitions (K+1, …, K), or (L,
        K, K) of an undirected chain. Of the network the last layers are solved for.
        """
        x = some["x"]
        lengths = some.get("lengths", torch.full((len(x),), x.shape[1]))
        counts = neighbours(x, lengths, words)
        near = clusters(counts, self.states, generator)
        told, moves = soft_words(counts, near, self.states), soft_moves(counts, near, self.states)
        if self.form == "directed":
            following = torch.cat([moves, moves.sum(0, keepdim=True)])  # the last row is the beginning
            wanted = (following / following.sum(1, keepdim=True)).log().expand(*(self.states + 1,) * self.order, -1)
        else:
            wanted = torch.zeros(self.order, self.states, self.states, dtype=torch.float64)
            wanted[0] = (moves / (moves.sum(1, keepdim=True) * moves.sum(0))).log()
        if self.scores == "tables":
            first["words"] = told + 0.1 * first["words"]
            first["transitions"] = first["transitions"] + wanted
        else:
            first |= aimed(first, self.order, self.form, told, wanted)

    def _check(self, emission: str, x: Tensor) -> None:
        """Raise `ChainError` where words (N, T) or vectors (N, T, D) do not fit the choices."""
        if (emission == "words") != (x.ndim == 2):
            held, fits = ("vectors", "gaussian or flow") if x.ndim == 3 else ("words", "words")
            raise ChainError(f"The data hold {held}, and the emission is {emission}: expected {fits}.")
        if self.scores == "network" and emission != "words":
            raise ChainError("The network scores words: use --scores tables for vectors.")
        if self.topology == "left-right" and (self.order > 1 or self.form != "directed" or self.scores != "tables"):
            raise ChainError("A chain from left to right is directed, of order 1 and made of tables.")
        if (self.states + 1) ** self.order * self.states > MOST_CONTEXTS:
            raise ChainError(
                f"{self.states} states at order {self.order} make {(self.states + 1) ** self.order * self.states:,} "
                f"transitions: expected at most {MOST_CONTEXTS:,}."
            )
