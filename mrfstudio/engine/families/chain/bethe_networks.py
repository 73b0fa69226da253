"""Learning undirected chains with two inference networks ([WK19], Eq. 4 and Algorithm 1).

    min over θ, φ_x, max over φ    F(τ(x; φ_x), x; θ) - F(τ(φ); θ)

F is Bethe's free energy: -log p(x) is log Z - log Z(x), the free network stands for the first term and the clamped one
for the second. Both are bidirectional LSTMs over vectors of the column and of the length; the clamped one also reads
the word. A pair of columns has the beliefs that messages would give it,

    τ_st(z_s, z_t) ∝ exp(A_d[z_s, z_t] + log p(x_s | z_s) + log p(x_t | z_t) + c_s(z_s) + c_t(z_t))

where the network gives c, what the rest of the chain adds; it begins at 0. In [WK19] the network gives all K² numbers
of a pair: as it knows neither A nor p, it lags behind both, the couplings run off before it sees any word, and what is
learned is how frequent words are (`docs/experiments.md`). A column has the mean of what its pairs say of it (Eq. 6),
and λ times the Kullback–Leibler divergence between the two is what a disagreement costs. Networks move a few steps for
one of the model; they and their moments are the learner's state.

The loss is no likelihood: free energies of beliefs that disagree may lie on either side. Validation is always exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mrfstudio.engine.families.chain.density import ChainDensity
from mrfstudio.engine.families.chain.model import Chain
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training import optimiser
from mrfstudio.engine.training.density import Density, DensityLearner
from mrfstudio.engine.training.learner import BatchContext, BatchResult, TrainingData, derive_seed

SMALLEST = 1e-12
NETWORKS = ("clamped", "free")


@dataclass(frozen=True)
class Asked:
    """What a network answers for: sequences, and which part of the batch each of them is."""

    words: Tensor
    """(B, T)"""
    lengths: Tensor
    given: Tensor
    """log p(x_t | z_t) (B, T, K), float32; 0 for the free chain."""
    share: Tensor
    """(B,), sums to one."""


def _asked(model: Chain, seen: ChainDensity) -> dict[str, Asked]:
    """The sequences of a batch, and the free chains of their lengths: one for each length, however often it occurs."""
    with torch.no_grad():
        given = model.emissions(seen.visible).float()
    lengths, often = seen.lengths.unique(return_counts=True)
    rows = len(seen.visible)
    return {
        "clamped": Asked(seen.visible, seen.lengths, given, given.new_full((rows,), 1 / rows)),
        "free": Asked(
            given.new_zeros(len(lengths), given.shape[1], dtype=torch.int64),
            lengths,
            given.new_zeros(len(lengths), *given.shape[1:]),
            often / rows,
        ),
    }


class PairBeliefs(nn.Module):
    """Beliefs of pairs of columns from words, or from nothing; parameters float32."""

    def __init__(self, words: int, longest: int, states: int, order: int, embedding: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, embedding) if words else None
        self.columns, self.lengths = nn.Embedding(longest, embedding), nn.Embedding(longest + 1, embedding)
        self.lstm = nn.LSTM((3 if words else 2) * embedding + states, width, batch_first=True, bidirectional=True)
        self.inside = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(order))
        last = [nn.Linear(width, 2 * states) for _ in range(order)]
        for layer in last:  # at first nothing is added to what the two columns say themselves
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.out = nn.ModuleList(last)

    def forward(self, x: Tensor, lengths: Tensor, scores: Tensor, given: Tensor) -> tuple[list[Tensor], Tensor]:
        """log τ of pairs, a (B, T - d, K, K) for each distance d, and log τ of columns without any pair (B, T, K).

        Words (B, T) and lengths (B,); the model's A (L, K, K), and log p(x_t | z_t) (B, T, K), 0 for the free chain.
        """
        batch, steps, states = given.shape
        parts = [
            self.columns.weight[:steps].expand(batch, -1, -1),
            self.lengths(lengths)[:, None].expand(-1, steps, -1),
            torch.softmax(given, -1),
        ]
        if self.words is not None:
            parts.append(self.words(x.clamp_min(0)))
        packed = pack_padded_sequence(torch.cat(parts, -1), lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=steps)
        pairs = []
        for distance, (inside, out) in enumerate(zip(self.inside, self.out, strict=True), 1):
            if steps > distance:
                fields = out(torch.relu(inside(torch.cat([h[:, :-distance], h[:, distance:]], -1))))
                early, late = given[:, :-distance] + fields[..., :states], given[:, distance:] + fields[..., states:]
                logits = scores[distance - 1] + early[..., :, None] + late[..., None, :]
                pairs.append(torch.log_softmax(logits.flatten(-2), -1).unflatten(-1, (states, states)))
        return pairs, torch.log_softmax(given, -1)


def free_energy(
    pairs: list[Tensor], alone: Tensor, scores: Tensor, given: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Bethe's F (B,) and the disagreement (B,) of log-beliefs of pairs.

    `scores` A (L, K, K); `given` log p(x_t | z_t) (B, T, K), 0 for the free chain.
    """
    batch, steps = alone.shape[:2]
    columns = torch.arange(steps, device=lengths.device)
    total = alone.new_zeros(batch, steps, alone.shape[-1])
    degree, sides, energy = alone.new_zeros(batch, steps), [], alone.new_zeros(batch)
    for distance, log in enumerate(pairs, 1):
        there = (columns[distance:] < lengths[:, None]).to(log)  # (B, T - d)
        belief = log.exp()
        energy = energy - (there * (belief * (scores[distance - 1] - log)).sum((-1, -2))).sum(1)
        early, late = belief.sum(-1), belief.sum(-2)
        sides.append((early, late, there))
        total = _added(total, there[..., None] * early, there[..., None] * late, distance)
        degree = _added(degree, there, there, distance)
    node = torch.where((degree > 0)[..., None], total / degree.clamp_min(1)[..., None], alone.exp())
    inside = (columns < lengths[:, None]).to(node)
    log_node = node.clamp_min(SMALLEST).log()
    entropy = -(node * log_node).sum(-1)
    energy = energy + (inside * (degree - 1) * entropy).sum(1)
    energy = energy - (inside * (node * given).sum(-1)).sum(1)
    gap = alone.new_zeros(batch)
    for distance, (early, late, there) in enumerate(sides, 1):
        for side, own in ((early, log_node[:, :-distance]), (late, log_node[:, distance:])):
            gap = gap + (there * (side * (side.clamp_min(SMALLEST).log() - own)).sum(-1)).sum(1)
    return energy, gap


def _added(total: Tensor, early: Tensor, late: Tensor, distance: int) -> Tensor:
    """What pairs say of their two columns, (B, T - distance, …) each, added to `total` (B, T, …) by column."""
    rest = torch.zeros_like(total[:, :distance])
    return total + torch.cat([early, rest], 1) + torch.cat([rest, late], 1)


@LEARNERS.register
class BetheNetworks(DensityLearner):
    """Parameters of learning with inference networks."""

    name = "bethe-networks"
    title = "Two inference networks"
    summary = (
        "One network answers for the free chain and one for what was seen, by Bethe's free energy; chains of words."
    )
    of_batches = False
    sums_hidden = True

    learning_rate: float = number(0.01, "How far one step goes.", low=0.0, low_open=True, high=1.0, logarithmic=True)
    batch_size: int = integer(32, "Sequences in one step.", low=1, high=1_000_000, logarithmic=True)
    clip_norm: float = number(5.0, "Longer gradients are shortened to this norm; 0 leaves them.", low=0.0)
    network_steps: int = integer(3, "Steps of the networks for one of the model.", low=1, high=1000)
    network_rate: float = number(
        0.003, "How far one step of the networks goes.", low=0.0, low_open=True, logarithmic=True
    )
    penalty: float = number(1.0, "λ: what a disagreement between pairs costs.", low=0.0, logarithmic=True)
    embedding: int = integer(48, "Numbers in the vector of a word or a column.", low=1, high=1024, advanced=True)
    lstm_width: int = integer(64, "Width of the LSTMs.", low=1, high=2048, advanced=True)

    @classmethod
    def covers(cls, found: type[Density]) -> bool:
        return issubclass(found, ChainDensity)

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if not isinstance(model, Chain):
            return f"These networks are for chains, and this is a {model.kind}: use saddle, likelihood or cd."
        if model.directed or model.continuous:
            return "These networks learn undirected chains of words: use likelihood or em."
        return None

    def networks(self, model: Chain, longest: int) -> dict[str, PairBeliefs]:
        words = model.words().shape[1]
        return {
            name: PairBeliefs(size, longest, model.states, model.order, self.embedding, self.lstm_width)
            for name, size in zip(NETWORKS, (words, 0), strict=True)
        }

    def start(self, model: Chain, data: TrainingData, seed: int) -> dict[str, Tensor]:
        super().start(model, data, seed)
        longest = int(data.train[torch.arange(1)]["x"].shape[1])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive_seed(seed, "networks"))
            made = self.networks(model, longest)
        state = {f"{name}/{key}": value for name, net in made.items() for key, value in net.state_dict().items()}
        moments = optimiser.start_moments(state, "adam")
        steps = torch.zeros((), dtype=torch.int64)
        return {**state, **{f"moment/{key}": value for key, value in moments.items()}, "network_step": steps}

    def batch(self, model: Chain, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen = ChainDensity(model, batch)
        longest = state["clamped/columns.weight"].shape[0]
        made, asked = self.networks(model, longest), _asked(model, seen)
        with torch.no_grad():
            scores = model.pairs().float()
        state, gap = dict(state), scores.new_zeros(())
        for _ in range(self.network_steps):
            state, gap = self._network_step(made, state, asked, scores)
        energies = {}
        for name, of in asked.items():
            with torch.no_grad():
                beliefs = self._beliefs(made[name], name, state, of, scores)
            live = model.emissions(seen.visible).float() if name == "clamped" else torch.zeros_like(of.given)
            energies[name] = of.share @ free_energy(*beliefs, model.pairs().float(), live, of.lengths)[0]
        loss = energies["clamped"] - energies["free"]
        loss.backward()
        return BatchResult(float(loss.detach()), float(len(seen.visible)), {"disagreement": float(gap)}, state)

    def _beliefs(
        self, network: PairBeliefs, name: str, state: Mapping[str, Tensor], of: Asked, scores: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        """Log-beliefs as `PairBeliefs.forward` gives them, with the weights of one network.

        `state` holds them by name, in the shapes of `start`; `scores` A (L, K, K).
        """
        own = {key.removeprefix(f"{name}/"): value for key, value in state.items() if key.startswith(f"{name}/")}
        found: tuple[list[Tensor], Tensor] = functional_call(network, own, (of.words, of.lengths, scores, of.given))
        return found

    def _network_step(
        self,
        made: dict[str, PairBeliefs],
        state: dict[str, Tensor],
        asked: Mapping[str, Asked],
        scores: Tensor,
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Both networks go down their own free energies and disagreements, by one step of Adam.

        `scores` A (L, K, K) as for `free_energy`. Gives the next state and the mean disagreement, a scalar.
        """
        weights = {
            key: value.detach().clone().requires_grad_()
            for key, value in state.items()
            if key.split("/")[0] in NETWORKS
        }
        moments = {
            key.removeprefix("moment/"): value.clone() for key, value in state.items() if key.startswith("moment/")
        }
        loss, gaps = scores.new_zeros(()), scores.new_zeros(())
        for name, of in asked.items():
            pairs, alone = self._beliefs(made[name], name, weights, of, scores)
            energy, gap = free_energy(pairs, alone, scores, of.given, of.lengths)
            loss, gaps = loss + of.share @ (energy + self.penalty * gap), gaps + of.share @ gap.detach()
        for weight, gradient in zip(
            weights.values(), torch.autograd.grad(loss, list(weights.values()), allow_unused=True), strict=True
        ):
            weight.grad = gradient
        optimiser.clip(weights, optimiser.gradient_norm(weights), 5.0)
        step = state["network_step"] + 1
        optimiser.update(weights, moments, "adam", int(step), self.network_rate, (0.9, 0.999))
        fresh = {key: value.detach() for key, value in weights.items()}
        return {**fresh, **{f"moment/{key}": value for key, value in moments.items()}, "network_step": step}, gaps
