"""Directed chains learned with encoders, as Table 4 of [WK19] has them: discrete variational autoencoders.

    ELBO    E_q[log p(x, z) - log q(z | x)]            gradients of q by REINFORCE, with a baseline that reads x
    IWAE    E_q[log 1/S Σ_s p(x, z_s) / q(z_s | x)]    S = 10 samples, the same baseline

`mean field`: q is a product over columns, from a bidirectional LSTM. `first order`: q is the posterior of a first-order
chain whose network also reads the mean of the LSTM; samples by its backward recursion. Only for the table: these
learners lose to exact sums, in print and here, and are no part of the studio.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from kept import Found
from torch import Tensor, nn

from mrfstudio.engine.data.text import Text
from mrfstudio.engine.families.chain.density import ChainDensity
from mrfstudio.engine.families.chain.model import Chain, ChainPlan
from mrfstudio.engine.training.command import training_data

EMBEDDING, WIDTH = 48, 64


class Reader(nn.Module):
    """Words (B, T) → hidden vectors (B, T, 2 WIDTH), and a baseline (B,)."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, EMBEDDING)
        self.lstm = nn.LSTM(EMBEDDING, WIDTH, batch_first=True, bidirectional=True)
        self.baseline = nn.Linear(2 * WIDTH, 1)

    def read(self, x: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h, _ = self.lstm(self.words(x.clamp_min(0)))
        mean = (h * there[..., None]).sum(1) / there.sum(1, keepdim=True)
        return h, mean, self.baseline(mean.detach())[:, 0]


class MeanField(Reader):
    def __init__(self, words: int, states: int) -> None:
        super().__init__(words)
        self.out = nn.Linear(2 * WIDTH, states)

    def forward(self, x: Tensor, there: Tensor, samples: int) -> tuple[Tensor, Tensor, Tensor]:
        """z (S, B, T), log q (S, B) and the baseline (B,), for words (B, T) and which of them are there (B, T)."""
        h, _, baseline = self.read(x, there)
        log = torch.log_softmax(self.out(h), -1)
        z = torch.distributions.Categorical(logits=log.detach()).sample((samples,))
        chosen = log.expand(samples, -1, -1, -1).gather(-1, z[..., None])[..., 0]
        return z, (chosen * there).sum(-1), baseline


class FirstOrder(Reader):
    def __init__(self, words: int, states: int) -> None:
        super().__init__(words)
        self.states, self.count = nn.Parameter(torch.randn(states + 1, EMBEDDING)), states
        inside = EMBEDDING + 2 * WIDTH
        self.hidden, self.norm = nn.Linear(inside, inside), nn.LayerNorm(inside)
        self.next, self.told = nn.Linear(inside, states), nn.Linear(inside, words)

    def forward(self, x: Tensor, there: Tensor, samples: int) -> tuple[Tensor, Tensor, Tensor]:
        """As `MeanField.forward`."""
        _, mean, baseline = self.read(x, there)
        batch, steps = x.shape
        own = torch.cat([self.states.expand(batch, -1, -1), mean[:, None].expand(-1, self.count + 1, -1)], -1)
        features = self.norm(own + torch.relu(self.hidden(own)))
        moves = torch.log_softmax(self.next(features), -1)  # (B, K+1, K), the last row is the beginning
        words = torch.log_softmax(self.told(features[:, : self.count]), -1)
        given = words.gather(2, x.clamp_min(0)[:, None].expand(-1, self.count, -1)).transpose(1, 2)
        alphas = [moves[:, -1] + given[:, 0]]
        for t in range(1, steps):
            on = torch.logsumexp(alphas[-1][..., None] + moves[:, :-1], 1) + given[:, t]
            alphas.append(torch.where(there[:, t, None] > 0, on, alphas[-1]))
        z = self._drawn([alpha.detach() for alpha in alphas], moves.detach(), there, samples)
        return z, self._score(z, moves, given, there) - torch.logsumexp(alphas[-1], 1), baseline

    def _drawn(self, alphas: list[Tensor], moves: Tensor, there: Tensor, samples: int) -> Tensor:
        """z (S, B, T), from the last column to the first; columns after the end are drawn and never looked at."""
        batch, steps = there.shape
        z = torch.zeros(samples, batch, steps, dtype=torch.int64)
        rows = torch.arange(batch).expand(samples, -1)
        later: Tensor | None = None
        for t in reversed(range(steps)):
            logits = alphas[t].expand(samples, -1, -1)
            if later is not None:
                into = moves[rows, : self.count].gather(-1, later[..., None, None].expand(-1, -1, self.count, 1))
                logits = logits + into[..., 0] * there[:, t + 1, None]
            drawn = torch.distributions.Categorical(logits=logits).sample()
            z[..., t] = later = drawn
        return z

    def _score(self, z: Tensor, moves: Tensor, given: Tensor, there: Tensor) -> Tensor:
        """log q(x, z) (S, B)."""
        batch, steps = there.shape
        before = torch.cat([torch.full_like(z[..., :1], self.count), z[..., :-1]], -1)
        rows = torch.arange(batch)[:, None]
        own = moves[rows, before, z] + given[rows, torch.arange(steps), z]
        return (own * there).sum(-1)


def joint(model: Chain, x: Tensor, z: Tensor, there: Tensor) -> Tensor:
    """log p(x, z) (S, B) of a directed chain, float64."""
    order, start = model.order, model.states
    padded = torch.cat([torch.full_like(z[..., :order], start), z], -1)
    index = tuple(padded[..., d : d + z.shape[-1]] for d in range(order))
    given = model.emissions(x).expand(len(z), -1, -1, -1).gather(-1, z[..., None])[..., 0]
    return ((model.transitions()[(*index, z)] + given) * there).sum(-1)


def batches(x: Tensor, lengths: Tensor, size: int, draw: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    for rows in torch.randperm(len(x), generator=draw).split(size):
        longest = int(lengths[rows].max())
        yield x[rows, :longest], (torch.arange(longest) < lengths[rows][:, None]).double()


def learned(
    path: str, text: dict[str, Any], shape: dict[str, Any], kind: str, samples: int, epochs: int, rate: float
) -> Found:
    """Exact nats a sentence on the test sentences of the state that is best on the validation sentences."""
    torch.manual_seed(0)
    splits = Text(**text).open(Path(path))
    data = training_data(splits)
    model = ChainPlan(form="directed", **shape).build_for(data, 0)
    whole = data.train[torch.arange(len(data.train))]
    encoder = {"mean field": MeanField, "first order": FirstOrder}[kind](model.words().shape[1], model.states)
    own = [tensor.requires_grad_() for tensor in model.tensors().values()]
    steps = torch.optim.Adam([*own, *encoder.parameters()], lr=rate)
    began, best, draw = time.process_time(), (float("inf"), {}), torch.Generator().manual_seed(0)
    for _ in range(epochs):
        for x, there in batches(whole["x"], whole["lengths"], 32, draw):
            z, log_q, baseline = encoder(x, there.float(), samples)
            weight = joint(model, x, z, there) - log_q.detach()  # log p(x, z) / q(z | x), (S, B)
            bound = torch.logsumexp(weight, 0) - torch.log(torch.tensor(float(samples)))
            gain = (bound.detach() - baseline).float()
            share = torch.softmax(weight.detach(), 0)
            # The samples' own part of the gradient of q is that of -Σ share log q; for one sample it has mean 0.
            of_q = gain.detach() * log_q.sum(0) - (share * log_q).sum(0) * (samples > 1)
            loss = -(bound + of_q).mean() + gain.square().mean()
            steps.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*own, *encoder.parameters()], 5.0)
            steps.step()
        found = ChainDensity.measure(model, data.validation)["nll"]  # type: ignore[arg-type]
        if found < best[0]:
            best = found, {name: tensor.detach().clone() for name, tensor in model.tensors().items()}
    seconds = time.process_time() - began
    with torch.no_grad():
        for name, tensor in model.tensors().items():
            tensor.copy_(best[1][name])
        x, lengths = (torch.from_numpy(splits["test"][name]) for name in ("x", "lengths"))
        total = -float(model.log_likelihood(x, lengths).sum())
    return {"nll": total / len(x), "bits": total / float(lengths.sum()) / 0.6931471805599453, "seconds": seconds}
