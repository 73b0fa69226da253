"""Gaussian expectation-propagation messages of a GRBM: one iteration, on the unknown pixels of a batch alone.

Observed pixels are folded into the hidden bias, c ← c + W_obs v_obs, which is exact. Every other pixel is a *row*:
rows of all images of a batch lie one after the other, so that images with different masks need no padding. A message
from a hidden unit to a pixel is (information η, precision λ ≤ 0), both (rows, hidden); they start at 0. With the unary
of a pixel (n, t) = (τb, τ) plus soft evidence, one iteration is

    Λ = max(t + Σ_h λ, floor · t),   N = n + Σ_h η with N/Λ kept within reach        belief of the pixel: N/Λ, 1/Λ
    A = Λ - λ,   D = N - η                                                         its cavity: mean D/A, variance 1/A
    m = w D/A,   z = w²/A,   X = c + Σ_rows (m + z/2),   p = σ(X),  q = 1 - p        belief of the hidden unit
    r = 1/(1 + pq z),   λ' = -pq w² r,   η' = w p (1 - q m) r

The last line is belief (μ_B/σ_B², 1/σ_B²) minus cavity, moments matched, with the cavity cancelled: nothing is
subtracted that could lose digits, and λ' ≤ 0 shows at once. Hence A ≥ Λ: one floor keeps belief and cavity positive.

η' holds λ' times the cavity's mean, which all units move at once: where they take a part f of a pixel's precision, an
error of its mean comes back as -f/(1 - f), and grows if f > ½. So every η' is *carried* along with the mean,

    S = Σ_h λ',   Λ' = max(t + S, floor · t),   s = (n + Σ_h η' - Λ' N/Λ) / (Λ' - κ S),   η'' = η' + κ s λ',

after which the belief's mean is N/Λ + s: with κ = 1 it is (n + Σ of what units say)/t, with no extrapolation, and in
TAP's equations (`first_order.py`). A unit's own message is no part of its cavity, so κ = 1 - Σ w⁴/(Σ w²)², 0 for a
single unit. Fixed points are the same (s = 0).

The half-steps follow each other (pixels to hidden, then back with the fresh X), so that p belongs to the unit and not
to the edge; a flooding schedule, as [QT21] draws it, has the same fixed points and needs about twice the
iterations.

*Within reach*: given any h the mean of a pixel lies between n + Σ min(w, 0) and n + Σ max(w, 0), divided by t. Without
that bound undamped iterations on very large weights multiply N by the number of units each time; with it nothing
overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.graphs.evidence import GaussianEvidence


@dataclass(frozen=True, eq=False)
class Rows:
    """The unknown pixels of a batch and all that an iteration needs of them.

    places (rows,) are their positions in (batch, visible), flattened; batch is the number of images. weights
    (rows, hidden); information n, precision t, low, high, shared κ (rows,); bias (batch, hidden), the observed added.
    `member` (batch, rows) is 1 where a row belongs to an image, None for a single image.
    """

    places: Tensor
    images: Tensor
    member: Tensor | None
    weights: Tensor
    information: Tensor
    precision: Tensor
    least: Tensor
    low: Tensor
    high: Tensor
    bias: Tensor
    shared: Tensor

    def over_pixels(self, edges: Tensor) -> Tensor:
        """Sums over the rows of each image: (…, rows, hidden) to (…, batch, hidden)."""
        return edges.sum(-2, keepdim=True) if self.member is None else self.member @ edges

    def to_rows(self, units: Tensor) -> Tensor:
        """Values of hidden units (batch, hidden) at the rows of their image, (rows, hidden) or broadcastable to it."""
        return units if self.member is None else units.index_select(0, self.images)


@dataclass(frozen=True, eq=False)
class Columns:
    """What rows take from a model's weights: W transposed (visible, hidden)."""

    weights: Tensor

    @classmethod
    def of(cls, weights: Tensor) -> Columns:
        """From W (hidden, visible)."""
        return cls(weights.t().contiguous())


def make_rows(model: GRBM, evidence: GaussianEvidence, columns: Columns | None = None) -> Rows:
    """The rows of evidence (…, visible). Differentiable in the model's parameters, or in the weights of `columns`."""
    columns = columns or Columns.of(model.weights)
    observed = evidence.observed.reshape(-1, model.visible)
    values = evidence.values.reshape(-1, model.visible)
    places = (~observed).reshape(-1).nonzero().squeeze(1)
    images = places.div(model.visible, rounding_mode="floor")
    pixels = places - images * model.visible
    weights = columns.weights.index_select(0, pixels)
    bias = model.hidden_bias + (values * observed) @ columns.weights
    if evidence.hidden is not None:
        bias = bias + evidence.hidden.reshape(-1, model.hidden).to(bias.dtype)
    own = model.precision.index_select(0, pixels)
    information = own * model.visible_bias.index_select(0, pixels) + evidence.information.reshape(-1)[places]
    precision = own + evidence.precision.reshape(-1)[places]
    member = None
    if len(observed) != 1:
        member = (images == torch.arange(len(observed), device=places.device)[:, None]).to(weights.dtype)
    # How far units can pull each pixel; what lies at a bound moves with it, so gradients go through.
    low = (information + weights.clamp_max(0).sum(1)) / precision
    high = (information + weights.clamp_min(0).sum(1)) / precision
    least = model.floor * precision
    shared = _shared(weights)
    return Rows(places, images, member, weights, information, precision, least, low, high, bias, shared)


def _shared(weights: Tensor) -> Tensor:
    """κ (rows,) of weights (rows, hidden): 0 where one unit speaks to a pixel, next to 1 where many do."""
    squares = weights.square()
    return 1 - squares.square().sum(1) / squares.sum(1).clamp_min(1e-15).square()


def pixel_beliefs(rows: Rows, eta: Tensor, lam: Tensor) -> tuple[Tensor, Tensor]:
    """N and Λ of every row: information and precision of the pixel's belief, (rows,) each."""
    information, precision, _ = bounded_beliefs(rows, eta.sum(1), lam.sum(1))
    return information, precision


def bounded_beliefs(rows: Rows, eta: Tensor, lam: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """N, Λ and where N/Λ was out of reach, -1 below and 1 above, from the sums of messages, all (rows,)."""
    precision = torch.maximum(rows.precision + lam, rows.least)
    information = rows.information + eta
    mean = information / precision
    # A mean at its bound counts as inside: before the first message it lies there when all weights have one sign.
    side = (mean > rows.high).to(torch.int8) - (mean < rows.low).to(torch.int8)
    bound = torch.where(side < 0, rows.low, rows.high) * precision
    return torch.where(side == 0, information, bound), precision, side


def hidden_logits(rows: Rows, information: Tensor, precision: Tensor, eta: Tensor, lam: Tensor) -> Tensor:
    """X (batch, hidden): log-odds of the hidden units after the pixels have spoken."""
    inverse = rows.weights / (precision[:, None] - lam)
    return rows.bias + rows.over_pixels(inverse * (information[:, None] - eta + 0.5 * rows.weights))


def next_messages(rows: Rows, eta: Tensor, lam: Tensor) -> tuple[Tensor, Tensor]:
    """One iteration: (η', λ') from (η, λ), all (rows, hidden). Plain and differentiable by autograd."""
    information, precision = pixel_beliefs(rows, eta, lam)
    w = rows.weights
    inverse = w / (precision[:, None] - lam)
    m = inverse * (information[:, None] - eta)
    z = inverse * w
    logits = rows.bias + rows.over_pixels(torch.add(m, z, alpha=0.5))
    p, q = torch.sigmoid(logits), torch.sigmoid(-logits)
    wr = w / (1 + rows.to_rows(p * q) * z)
    new_eta, new_lam = wr * (rows.to_rows(p) - rows.to_rows(p * q) * m), -(rows.to_rows(p * q) * w) * wr
    return new_eta + new_lam * _carried(rows, information / precision, new_eta, new_lam), new_lam


def _carried(rows: Rows, mean: Tensor, eta: Tensor, lam: Tensor) -> Tensor:
    """κ s (rows, 1) of new messages η', λ' (rows, hidden), where pixels had the means N/Λ (rows,)."""
    taken = lam.sum(1)
    precision = torch.maximum(rows.precision + taken, rows.least)
    shift = (rows.information + eta.sum(1) - precision * mean) / (precision - rows.shared * taken)
    return (rows.shared * shift)[:, None]


def write_messages(
    rows: Rows,
    information: Tensor,
    precision: Tensor,
    eta: Tensor,
    lam: Tensor,
    new_eta: Tensor,
    new_lam: Tensor,
    scratch: Tensor,
) -> Tensor:
    """`next_messages` from given beliefs (rows,) into given memory, without gradients; returns X (batch, hidden).

    `scratch` is (3, rows, hidden). Fresh memory for every product would take most of the time.
    """
    w, (inverse, m, z) = rows.weights, scratch
    torch.sub(precision[:, None], lam, out=inverse)
    torch.div(w, inverse, out=inverse)
    torch.sub(information[:, None], eta, out=m).mul_(inverse)
    torch.mul(inverse, w, out=z)
    mean, half_variance = rows.over_pixels(scratch[1:])
    logits = (rows.bias + mean).add_(half_variance, alpha=0.5)
    p = torch.sigmoid(logits)
    minus_y = rows.to_rows(torch.sigmoid(-logits).mul_(p).neg_())
    wr = torch.div(w, torch.addcmul(z.new_ones(()), z, minus_y, value=-1.0, out=z), out=z)
    torch.mul(wr, w, out=new_lam).mul_(minus_y)
    torch.addcmul(rows.to_rows(p), m, minus_y, out=m)
    torch.mul(m, wr, out=new_eta)
    new_eta.addcmul_(new_lam, _carried(rows, information / precision, new_eta, new_lam))
    return logits


@torch.no_grad()
def run_beliefs(rows: Rows, iterations: int) -> tuple[Tensor, Tensor]:
    """N and Λ of every row (rows,) after some iterations, in the memory of two sets of messages."""
    memory = rows.weights.new_zeros((7, *rows.weights.shape))
    (eta, lam, new_eta, new_lam), scratch = memory[:4], memory[4:]
    for _ in range(iterations):
        write_messages(rows, *pixel_beliefs(rows, eta, lam), eta, lam, new_eta, new_lam, scratch)
        (eta, lam), (new_eta, new_lam) = (new_eta, new_lam), (eta, lam)
    return pixel_beliefs(rows, eta, lam)
