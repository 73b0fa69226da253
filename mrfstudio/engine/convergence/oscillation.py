"""Which messages oscillate, with which period, and what helps against it.

With x_t the last messages as probabilities, D_p is the mean of |x_t - x_{t-p}|. While something converges, however
slowly, D_p grows with p: the further back, the further away. Where it comes back to a small part of its largest value,
at p, the messages swing. They have the period p where x_t is x_{t-p} but for a factor, which a shrinking swing has;
chaotic runs come near again, now at one p, now at another, and have none. A swing that is shrinking fast is on its way
to a fixed point and is not counted; one that shrinks slowly is, because damping ends it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mrfstudio.engine.protocol.catalogue import ParameterError

LEAST_ITERATIONS = 6
"""A shorter history shows no period twice."""
ITERATIONS = 24
"""A history to keep: periods up to 12 are seen in it, each of them twice."""
SMALLEST = 1e-5
"""Swings of a probability below this are rounding of 32 bits or nothing that anybody would see."""
RETURNS = 0.35
"""D_p over the largest D of a message that has come back: any real period P ≥ 4 has a whole number p this close."""
SUSTAINED = 0.5
"""How much of the swing in the first half of the history must be left in the second."""
UNLIKE = 0.2
"""Part of a swing that the one a period before may leave unexplained; in chaotic runs it leaves a third and more."""
WANDERING = 2.5
"""Way over swing of a message that goes to and fro without a period; one that converges monotonically has 1."""
IRREGULAR = -1
"""The `period` of a message that keeps swinging without one, as chaotic runs do, or with one longer than is seen."""
SHRINKS = 0.98
"""Factor an iteration below which swings get smaller; nearer to 1 they might as well stay."""
LARGEST_DAMPING = 0.95
"""More is advised to nobody: progress would no longer be seen."""
SMALLEST_ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class Oscillation:
    """What a history shows, one entry a message: (messages,) each.

    `period` is 0 where a message does not oscillate and `IRREGULAR` where it swings without one; `amplitude` is how
    far its probabilities swing from lowest to highest in the last half of the history, 0 where it does not oscillate;
    `decay` is the factor by which the swing shrinks an iteration, 1 where it stays, above 1 where it grows, 0 where
    there is none.
    """

    period: np.ndarray
    amplitude: np.ndarray
    decay: np.ndarray

    @property
    def count(self) -> int:
        """How many messages oscillate."""
        return int(np.count_nonzero(self.period))

    @property
    def commonest(self) -> int:
        """The shortest period after which more than half of the oscillating messages come back; 0 where none is so.

        A message of period 2 also comes back after 8: where others need 8, all of them share that one.
        """
        regular = self.period[self.period > 0]
        longest = int(regular.max(initial=0))
        return next((p for p in range(1, longest + 1) if 2 * np.count_nonzero(p % regular == 0) > self.count), 0)

    @property
    def sharing(self) -> int:
        """How many messages come back after the commonest period."""
        regular = self.period[self.period > 0]
        return int(np.count_nonzero(self.commonest % regular == 0)) if self.commonest else 0

    @property
    def shrinks(self) -> bool:
        """Whether the swings with a period clearly get smaller, and most have one: they may come to rest by themselves.

        Without a period the largest swing of a dozen iterations says little about that of the next.
        """
        regular = self.decay[self.period > 0]
        return 2 * len(regular) > self.count and float(np.median(regular)) < SHRINKS


def find_oscillations(history: ArrayLike, owner: ArrayLike | None = None, *, smallest: float = SMALLEST) -> Oscillation:
    """Look at probabilities (iterations, messages) or (iterations, messages, states), the newest last.

    Beliefs do as well as messages. In a flat vector of messages with different numbers of states, `owner` (entries,)
    says to which message 0 … n - 1 each entry of (iterations, entries) belongs. Consecutive iterations only: a history
    that skips some shows other periods. One of fewer than `LEAST_ITERATIONS` shows none.
    """
    seen = np.asarray(history, dtype=np.float64)
    if seen.ndim not in (2, 3):
        raise ParameterError(f"A history has the axes iterations and messages: {seen.ndim} axes were given.")
    if not np.isfinite(seen).all():
        raise ParameterError("A history holds numbers that are not finite: give probabilities, not logarithms.")
    combine = _combiner(seen, owner)
    iterations = len(seen)
    if iterations < LEAST_ITERATIONS:
        nothing = np.zeros(combine(seen[0]).shape if iterations else 0)
        return Oscillation(nothing.astype(np.int64), nothing, nothing)
    # The same number of differences for every lag, or a long lag would be judged by one iteration alone.
    lags = iterations // 2
    recent = seen[lags:]
    distances = np.stack(
        [combine(np.abs(recent - seen[lags - p : iterations - p]).mean(0)) for p in range(1, lags + 1)]
    )
    early, late = combine(np.ptp(seen[:lags], 0)), combine(np.ptp(recent, 0))
    way = combine(np.abs(np.diff(recent, axis=0)).sum(0))
    period = _periods(distances)
    for p in np.unique(period[period > 0]).tolist():
        unlike = _unlike(recent, seen[lags - p : iterations - p], combine)
        period[(period == p) & (unlike > UNLIKE)] = IRREGULAR
    period[(period == 0) & (way > WANDERING * late)] = IRREGULAR
    oscillates = (period != 0) & (late > smallest) & (late >= SUSTAINED * early)
    with np.errstate(divide="ignore", invalid="ignore"):
        decay = (late / early) ** (1 / (iterations - lags))
    decay = np.where(oscillates, np.where(early > 0, decay, np.inf), 0.0)
    return Oscillation(np.where(oscillates, period, 0), np.where(oscillates, late, 0.0), np.minimum(decay, 10.0))


def _combiner(seen: np.ndarray, owner: ArrayLike | None) -> Any:
    """A function from numbers an entry to numbers a message: the largest of its states."""
    if owner is None:
        return lambda values: values if values.ndim == 1 else values.max(-1)
    owners = np.asarray(owner, dtype=np.int64)
    if seen.ndim != 2 or owners.shape != seen.shape[1:]:
        raise ParameterError(
            f"{owners.size} owners were given for entries of shape {seen.shape[1:]}: give one for each entry."
        )
    order = np.argsort(owners, kind="stable")
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    count = int(owners.max(initial=-1)) + 1
    if len(starts) != count:
        raise ParameterError(f"Owners name {len(starts)} messages, but the last is number {count - 1}: leave none out.")
    return lambda values: np.maximum.reduceat(values[order], starts) if count else np.zeros(0)


def _periods(distances: np.ndarray) -> np.ndarray:
    """From D (lags, messages) the period of each message, 0 where it never comes near again."""
    peak = distances.max(0, initial=0.0)
    best = distances.min(0, initial=np.inf)
    # Twice the period comes back as well as once, up to what is left of a transient: the first of the good ones. An
    # exact return is preferred to a near one, so that a cycle of four is not called two because it nearly is.
    close = distances <= np.minimum(np.maximum(3 * best, 0.02 * peak), RETURNS * peak)
    # Coming back is after having been away: D rises first.
    away = np.maximum.accumulate(distances, 0)
    came_back = close & (distances <= RETURNS * np.concatenate([np.zeros_like(away[:1]), away[:-1]]))
    return np.where(came_back.any(0) & (peak > 0), came_back.argmax(0) + 1, 0)


def _unlike(recent: np.ndarray, before: np.ndarray, combine: Any) -> np.ndarray:
    """The part of each message's swing that is no multiple of the swing before, (messages,): 0 … 1."""
    now, then = recent - recent.mean(0), before - before.mean(0)
    power = (then**2).sum(0)
    factor = np.maximum((now * then).sum(0), 0.0) / np.maximum(power, 1e-300)
    rest = combine(((now - factor * then) ** 2).sum(0))
    return np.sqrt(rest / np.maximum(combine((now**2).sum(0)), 1e-300))


# Advice ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Advice:
    """One thing to try: an algorithm, the same or another, with some of its parameters changed, and why."""

    title: str
    reason: str
    algorithm: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for frames and JSON."""
        return {
            "title": self.title,
            "reason": self.reason,
            "algorithm": self.algorithm,
            "parameters": dict(self.parameters),
        }


def advice(
    found: Oscillation,
    algorithm: str,
    parameters: Mapping[str, Any],
    *,
    pairwise: bool = True,
    guaranteed: tuple[float, float] | None = None,
) -> tuple[Advice, ...]:
    """What helps an algorithm with these parameters, the gentlest first; empty where nothing oscillates.

    `guaranteed` is the interval of α for which convergence is certain, where it is known; α-BP needs `pairwise` graphs.
    """
    if not found.count:
        return ()
    offers = (_damp(found, algorithm, parameters), _lower_alpha(algorithm, parameters, pairwise, guaranteed))
    return tuple(offer for offer in offers if offer is not None)


def region_advice(algorithm: str, parameters: Mapping[str, Any]) -> tuple[Advice, ...]:
    """What helps messages between regions that do not settle: damping rarely does, the double loop nearly always."""
    if algorithm != "gbp" or parameters["method"] != "messages":
        return ()
    reason = "Messages between regions swing where couplings are strong, however damped; a double loop settles."
    return (Advice("Double loop", reason, algorithm, {"method": "double-loop"}),)


def _damp(found: Oscillation, algorithm: str, parameters: Mapping[str, Any]) -> Advice | None:
    """Halve the step: a swing of factor -1 becomes none at all with damping ½, and each halving takes the rest."""
    damping = parameters.get("damping")
    if damping is None:
        return None
    following = round((1 + float(damping)) / 2, 3)
    if following > LARGEST_DAMPING:
        return None
    many = f"{found.count} messages" if found.count > 1 else "One message"
    swing = f"oscillate, most with period {found.commonest}" if found.commonest else "swing without a common period"
    swing = swing if found.count > 1 else swing.replace("oscillate, most", "oscillates").replace("swing ", "swings ")
    reason = f"{many} {swing}: keeping part of the old message takes the swing out."
    return Advice(f"Damp: {following:g}", reason, algorithm, {"damping": following})


def _lower_alpha(
    algorithm: str, parameters: Mapping[str, Any], pairwise: bool, guaranteed: tuple[float, float] | None
) -> Advice | None:
    """The largest α with a guarantee below the present one, else half of it; none where the present one has it."""
    if algorithm not in ("bp", "alpha-bp") or not pairwise or parameters.get("temperature", 1.0) != 1.0:
        return None
    alpha = float(parameters.get("alpha", 1.0))
    if guaranteed is not None and guaranteed[0] <= alpha <= guaranteed[1]:
        return None
    # Rounded down: the interval's own end rounded up would lie outside.
    certain = np.floor(100 * guaranteed[1]) / 100 if guaranteed is not None else 0.0
    if guaranteed is not None and guaranteed[0] < certain < alpha:
        reason = f"With α up to {certain:g} this graph is guaranteed to converge to one fixed point."
        return _with_alpha(float(certain), reason, algorithm, parameters)
    if alpha / 2 < SMALLEST_ALPHA:
        return None
    reason = "A smaller α converges on more graphs, with beliefs that lie nearer to mean field's."
    return _with_alpha(round(alpha / 2, 3), reason, algorithm, parameters)


def _with_alpha(alpha: float, reason: str, algorithm: str, parameters: Mapping[str, Any]) -> Advice:
    if algorithm == "alpha-bp":
        return Advice(f"Lower α: {alpha:g}", reason, algorithm, {"alpha": alpha})
    kept = {"damping": parameters["damping"]} if "damping" in parameters else {}
    return Advice(f"α-BP with α = {alpha:g}", reason, "alpha-bp", {"alpha": alpha, **kept})
