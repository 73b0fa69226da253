"""Restricted and deep Boltzmann machines of binary units.

Both are bipartite: hidden units h (H) on one side, *outer* units o (O) on the other. Of an RBM the outer units are the
visible ones v; of a DBM with two hidden layers they are the visible ones followed by the second hidden layer. With
spins h̃ = 2h - 1, õ = 2o - 1 ([QT21], appendix D, Eq. 1):

    φ(o, h) = ½ h̃ᵀ W õ + ½ h̃ᵀ c_H + ½ õᵀ c_O + constant = hᵀ A o + aᵀ h + dᵀ o,    log p(o, h) = φ(o, h) - log Z,

    A = 2W,   a = c_H - W 1,   d = c_O - Wᵀ 1.

The constant makes φ vanish at o = h = 0. The learned temperature belongs to belief propagation (its messages are those
of temperature T), not to the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host

NAMES = ("weights", "outer_bias", "hidden_bias", "log_temperature")


class BoltzmannError(StudioError):
    """A Boltzmann machine that cannot be made or asked so. The message is one sentence for a person."""


class RBM:
    """A restricted Boltzmann machine: `weights` W (H, O), `outer_bias` c_O (O,), `hidden_bias` c_H (H,), log T ().

    `image_shape` is (height, width) where the visible units are pixels in row-major order.
    """

    kind = "rbm"

    def __init__(
        self,
        visible: int,
        hidden: int,
        *,
        second: int = 0,
        image_shape: tuple[int, int] | list[int] | None = None,
        temperature: float = 1.0,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        if min(visible, hidden) < 1 or second < 0:
            raise BoltzmannError(f"There are {visible} visible and {hidden} hidden units: expected at least one each.")
        self.visible, self.hidden, self.second = int(visible), int(hidden), int(second)
        self.image_shape = None if image_shape is None else (int(image_shape[0]), int(image_shape[1]))
        if self.image_shape is not None and math.prod(self.image_shape) != self.visible:
            raise BoltzmannError(f"An image of {self.image_shape} does not have {self.visible} pixels.")
        if not temperature > 0:
            raise BoltzmannError(f"The temperature is {temperature}: expected a number above 0.")
        self.weights = torch.zeros(self.hidden, self.outer, dtype=dtype, device=device)
        self.outer_bias = torch.zeros(self.outer, dtype=dtype, device=device)
        self.hidden_bias = torch.zeros(self.hidden, dtype=dtype, device=device)
        self.log_temperature = torch.tensor(math.log(temperature), dtype=dtype, device=device)
        self.centred: tuple[Tensor, Tensor] | None = None
        """Between the two halves of a step of training: the weights before it, and the centre it is taken around."""
        self._graph: tuple[tuple[int, ...], FactorGraph] | None = None
        self._known_temperature: tuple[int, int, float] | None = None

    # Shape ------------------------------------------------------------------------------------------------------------

    @property
    def outer(self) -> int:
        """O: the visible units and those of the second hidden layer."""
        return self.visible + self.second

    @property
    def units(self) -> int:
        """All of them, in the order of evidence and factor graph: visible, hidden, second hidden layer."""
        return self.outer + self.hidden

    @property
    def belief_shape(self) -> tuple[int, ...]:
        """(height, width) of pictures, else (V,)."""
        return self.image_shape or (self.visible,)

    @property
    def dtype(self) -> torch.dtype:
        return self.weights.dtype

    @property
    def temperature(self) -> Tensor:
        """T, a tensor without axes: messages of belief propagation are those of this temperature."""
        return self.log_temperature.exp()

    @property
    def temperature_now(self) -> float:
        """T as a number; a device is asked for it only when it has changed."""
        version = self.log_temperature._version
        if self._known_temperature is None or self._known_temperature[:2] != (id(self.log_temperature), version):
            self._known_temperature = id(self.log_temperature), version, float(self.temperature.detach())
        return self._known_temperature[2]

    @property
    def visible_bias(self) -> Tensor:
        return self.outer_bias[: self.visible]

    # The trainer's contract -------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in NAMES}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of a model of the same size."""
        for name, tensor in self.tensors().items():
            given = tensors.get(name)
            if given is None or given.shape != tensor.shape or not bool(torch.isfinite(given).all()):
                found = "missing" if given is None else f"not finite or of shape {tuple(given.shape)}"
                raise BoltzmannError(f"The tensor {name!r} is {found}: expected finite {tuple(tensor.shape)}.")
            with torch.no_grad():
                tensor.copy_(given)

    def hyperparameters(self) -> dict[str, Any]:
        shape = None if self.image_shape is None else list(self.image_shape)
        return {"visible": self.visible, "hidden": self.hidden, "second": self.second, "image_shape": shape}

    def to(self, dtype: torch.dtype) -> RBM:
        """The same model in another precision."""
        other = type(self)(dtype=dtype, **self.hyperparameters())
        other.load_tensors({name: tensor.detach() for name, tensor in self.tensors().items()})
        return other

    def train_all(self) -> RBM:
        """Ask for gradients of every tensor."""
        for tensor in self.tensors().values():
            tensor.requires_grad_()
        return self

    # The two forms ----------------------------------------------------------------------------------------------------

    def binary_form(self) -> tuple[Tensor, Tensor, Tensor]:
        """A (H, O), a (H,) and d (O,) of φ = hᵀAo + aᵀh + dᵀo for units of 0 and 1."""
        return 2 * self.weights, self.hidden_bias - self.weights.sum(1), self.outer_bias - self.weights.sum(0)

    def set_binary_form(self, couplings: Tensor, hidden: Tensor, outer: Tensor) -> None:
        """Take A (H, O), a (H,) and d (O,): W = A/2, c_H = a + ½A1, c_O = d + ½Aᵀ1."""
        with torch.no_grad():
            self.weights.copy_(couplings / 2)
            self.hidden_bias.copy_(hidden + couplings.sum(1) / 2)
            self.outer_bias.copy_(outer + couplings.sum(0) / 2)

    # Energies and conditionals ----------------------------------------------------------------------------------------

    def energy(self, outer: Tensor, hidden: Tensor) -> Tensor:
        """-φ (…) of outer units (…, O) and hidden units (…, H), numbers from 0 to 1."""
        couplings, a, d = self.binary_form()
        return -((hidden @ couplings) * outer).sum(-1) - hidden @ a - outer @ d

    def free_energy(self, outer: Tensor) -> Tensor:
        """-log Σ_h exp φ(o, h) (…) of outer units (…, O); of an RBM these are the visible ones."""
        _, _, d = self.binary_form()
        return -outer @ d - torch.nn.functional.softplus(self.hidden_logits(outer)).sum(-1)

    def hidden_logits(self, outer: Tensor) -> Tensor:
        """log p(h = 1 | o) / p(h = 0 | o), (…, H), given outer units (…, O)."""
        return torch.nn.functional.linear(2 * outer - 1, self.weights, self.hidden_bias)

    def outer_logits(self, hidden: Tensor) -> Tensor:
        """log p(o = 1 | h) / p(o = 0 | h), (…, O), given hidden units (…, H)."""
        return torch.nn.functional.linear(2 * hidden - 1, self.weights.t(), self.outer_bias)

    def visible_logits(self, hidden: Tensor) -> Tensor:
        """The visible part (…, V) of `outer_logits`."""
        return self.outer_logits(hidden)[..., : self.visible]

    # Blocked sampling -------------------------------------------------------------------------------------------------

    def sample_hidden(self, outer: Tensor, generator: torch.Generator) -> Tensor:
        """One draw of all hidden units (…, H) given the outer ones (…, O)."""
        return bernoulli(self.hidden_logits(outer), generator)

    def sample_outer(self, hidden: Tensor, generator: torch.Generator) -> Tensor:
        """One draw of all outer units (…, O) given the hidden ones (…, H)."""
        return bernoulli(self.outer_logits(hidden), generator)

    def sample(self, outer: Tensor, sweeps: int, generator: torch.Generator, known: Tensor | None = None) -> Tensor:
        """Outer units (…, O) after so many sweeps (hidden, then outer) from `outer`; `known` (…, O) ones stay."""
        for _ in range(sweeps):
            fresh = self.sample_outer(self.sample_hidden(outer, generator), generator)
            outer = fresh if known is None else torch.where(known, outer, fresh)
        return outer

    # Evidence ---------------------------------------------------------------------------------------------------------

    def no_evidence(self, *batch: int) -> Evidence:
        return Evidence(torch.zeros(*batch, self.units, 2, dtype=self.dtype, device=self.weights.device))

    def observe(self, values: Tensor, known: Tensor, hidden: Tensor | None = None) -> Evidence:
        """Evidence (…, units, 2) that the visible units where `known` (…, V) have `values` (…, V).

        A value is a probability of 1: 0 and 1 are exact, anything between is soft. `hidden` (…, H), or (…, H + second
        layer), are log-odds for hidden units: 0 says nothing, ±inf clamps.
        """
        chance = values.to(self.dtype)
        log = torch.stack([torch.log1p(-chance), torch.log(chance)], -1)
        return self._with_hidden(torch.where(known[..., None], log, torch.zeros_like(log)), hidden)

    def evidence_from_image(
        self,
        grey: Tensor,
        unknown: Tensor | None = None,
        strength: Tensor | float = 1.0,
        hidden: Tensor | None = None,
    ) -> Evidence:
        """What a picture says where it is not `unknown`; all (…, height, width), grey levels above ½ are 1.

        `strength` s in [0, 1] is how firmly: 1 observes the pixel, less gives log-odds ±log((1 + s)/(1 - s)).
        """
        if self.image_shape is None or grey.shape[-2:] != self.image_shape:
            own = "no picture" if self.image_shape is None else "{1}×{0} pixels".format(*self.image_shape)
            raise BoltzmannError(f"The picture has shape {tuple(grey.shape)}: this model takes {own}.")
        firm = torch.as_tensor(strength, dtype=self.dtype, device=grey.device).expand(grey.shape)
        if not bool(((firm >= 0) & (firm <= 1)).all()):
            raise BoltzmannError(f"The strength reaches from {firm.min():g} to {firm.max():g}: expected 0 to 1.")
        against = torch.log1p(-firm) - torch.log1p(firm)
        if unknown is not None:
            against = torch.where(unknown, torch.zeros_like(against), against)
        bright, none = grey > 0.5, torch.zeros_like(against)
        log = torch.stack([torch.where(bright, against, none), torch.where(bright, none, against)], -1)
        return self._with_hidden(log.flatten(-3, -2), hidden)

    def _with_hidden(self, visible: Tensor, hidden: Tensor | None) -> Evidence:
        """Log-potentials (…, V, 2) and log-odds of hidden units as evidence for all units."""
        whole = visible.new_zeros(*visible.shape[:-2], self.units, 2)
        whole[..., : self.visible, :] = visible
        if hidden is not None:
            odds = hidden.to(self.dtype)
            end = self.visible + odds.shape[-1]
            whole[..., self.visible : end, :] = torch.stack([-odds.clamp(min=0), odds.clamp(max=0)], -1)
        return Evidence(whole)

    def log_odds(self, evidence: Evidence) -> tuple[Tensor, Tensor]:
        """The evidence as log-odds of the outer (…, O) and the hidden units (…, H); ±inf where a state is forbidden.

        Evidence may be given for the visible units alone, (…, V, 2), or for all units, (…, units, 2).
        """
        log = evidence.log_potentials
        if log.ndim < 2 or log.shape[-1] != 2 or log.shape[-2] not in (self.visible, self.units):
            shape = tuple(log.shape[-2:])
            raise BoltzmannError(f"The evidence is for {shape}: expected ({self.visible}, 2) or ({self.units}, 2).")
        dead = torch.isneginf(log).all(-1)
        if bool(dead.any()):
            raise ContradictoryEvidence(int(dead.reshape(-1, dead.shape[-1]).any(0).int().argmax()))
        odds = (log[..., 1] - log[..., 0]).to(self.dtype)
        if odds.shape[-1] == self.visible:
            odds = torch.nn.functional.pad(odds, (0, self.units - self.visible))
        visible, hidden, second = odds.split([self.visible, self.hidden, self.second], -1)
        return torch.cat([visible, second], -1), hidden

    def shown(self, visible: Tensor) -> Tensor:
        """Values of visible units (…, V) as beliefs and samples show them: pictures (…, height, width)."""
        return visible.unflatten(-1, self.belief_shape)

    def bits(self, beliefs: Tensor, values: Tensor) -> Tensor:
        """Cross-entropy in bits of beliefs (…, 2) at true values (…) from 0 to 1, for each unit.

        A unit believed with certainty to be what it is not costs as much as the smallest number has bits.
        """
        logs = torch.log2(beliefs.clamp_min(torch.finfo(beliefs.dtype).tiny))
        return -(values * logs[..., 1] + (1 - values) * logs[..., 0])

    def receptive_fields(self) -> Tensor:
        """What turning a hidden unit on adds to the log-odds of the visible ones, 2W: (H, height, width) or (H, V)."""
        return self.shown(2 * self.weights.detach()[:, : self.visible])

    # The same distribution as a factor graph --------------------------------------------------------------------------

    def to_factor_graph(self) -> FactorGraph:
        """Units in their order, the table ½ w h̃ õ for every pair: the split whose messages start at zero like ours."""
        version = tuple(tensor._version for tensor in self.tensors().values())  # a trainer changes them in place
        if self._graph is None or self._graph[0] != version:
            self._graph = version, self._make_graph()
        return self._graph[1]

    def _make_graph(self) -> FactorGraph:
        half = self.weights.detach().t().reshape(-1) / 2  # outer-major
        tables = torch.stack([torch.stack([half, -half]), torch.stack([-half, half])])
        place = torch.arange(self.outer, device=self.weights.device)
        place[self.visible :] += self.hidden  # the second layer comes last
        outer = place.repeat_interleave(self.hidden)
        hidden = torch.arange(self.hidden, device=place.device).repeat(self.outer) + self.visible
        group = FactorGroup(tables, torch.stack([outer, hidden]), torch.arange(len(half), device=place.device))
        bias = self.outer_bias.detach()
        fields = torch.cat([bias[: self.visible], self.hidden_bias.detach(), bias[self.visible :]]) / 2
        vectors = to_host(torch.stack([-fields, fields], 1))
        constant = float(fields.double().sum() - half.double().sum())
        return FactorGraph(
            [2] * self.units, [group], list(vectors), constant=constant, dtype=self.dtype, device=place.device
        )

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        """The factor graph, and the evidence in its packing."""
        return self.to_factor_graph(), evidence.derived(self, "packed", lambda: self._packed(evidence))

    def _packed(self, evidence: Evidence) -> Evidence:
        self.log_odds(evidence)  # checks the shape
        graph, log = self.to_factor_graph(), evidence.log_potentials.to(self.dtype)
        if log.shape[-2] != self.units:
            log = torch.nn.functional.pad(log, (0, 0, 0, self.units - self.visible))
        packed = log.new_zeros(*log.shape[:-2], graph.packing.size)
        packed[..., self._entries(graph).reshape(-1)] = log.flatten(-2)
        return Evidence(packed)

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        """Packed beliefs of that graph as those of the visible units, (…, V, 2) or (…, height, width, 2)."""
        picked = beliefs[..., self._entries(self.to_factor_graph())[: self.visible]]
        return picked.unflatten(-2, self.belief_shape)

    def hidden_from_graph(self, beliefs: Tensor) -> Tensor:
        """Packed beliefs of that graph as p(1) of the hidden units, (…, H + second layer)."""
        return beliefs[..., self._entries(self.to_factor_graph())[self.visible :, 1]]

    def _entries(self, graph: FactorGraph) -> Tensor:
        """Where the states of each unit lie in the graph's packing, (units, 2)."""
        return torch.stack(
            [graph.packing.entry_of(torch.full((self.units,), state, device=self.weights.device)) for state in (0, 1)],
            1,
        )


class DBM(RBM):
    """A deep Boltzmann machine with two hidden layers, as the RBM whose outer units are visible and second layer."""

    kind = "dbm"

    def __init__(self, visible: int, hidden: int, second: int, **others: Any) -> None:
        if second < 1:
            raise BoltzmannError(f"The second hidden layer has {second} units: expected at least one.")
        super().__init__(visible, hidden, second=second, **others)


def bernoulli(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Independent draws of 0 and 1, in the shape (…) and the type of the logits."""
    chance = torch.rand(logits.shape, generator=generator, dtype=logits.dtype, device=logits.device)
    return (chance < torch.sigmoid(logits)).to(logits.dtype)
