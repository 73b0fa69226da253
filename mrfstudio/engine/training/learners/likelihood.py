"""Maximum likelihood with the marginals of any algorithm, and no gradient through the inference.

    gradient of -log p(data) = Σ (marginals of the model - marginals with the data clamped) · ∇ potentials

Where everything is visible the clamped marginals are counts; hidden variables take a second run of the same algorithm
for each item ([Liu20], section 5.4).

With `exact` this is the gradient of the true likelihood; with `mean-field` or `bp` that of their own log Z at a fixed
point. The loss is log Z - score(data); where the algorithm gives no log Z, or a large machine would take as long for it
as for its messages, it is E_model[score] - score(data), which has the same gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from torch import Tensor

from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.catalogue import ParameterError, integer, number, text
from mrfstudio.engine.registry import ALGORITHMS, LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, Inference, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult


@LEARNERS.register
class Likelihood(DensityLearner):
    """Parameters of maximum likelihood."""

    name = "likelihood"
    title = "Maximum likelihood"
    summary = "Moves the marginals of the model, as an algorithm computes them, towards those of the data."

    needs: ClassVar[tuple[str, ...]] = ("partition",)
    sums_hidden = True

    algorithm: str = text("bp", "The algorithm that gives the marginals, such as exact, bp, mean-field or trw.")
    algorithm_options: str = text(
        "", "Parameters of the algorithm, such as damping=0.5 or alpha=0.8,damping=0.3.", advanced=True
    )
    iterations: int = integer(100, "Iterations at most.", low=1, high=1_000_000, logarithmic=True)
    more_iterations: int = integer(
        0, "Further iterations for each epoch passed: parameters grow, and messages take longer.", low=0
    )
    tolerance: float = number(1e-6, "Where a run counts as converged.", low=0.0, logarithmic=True, advanced=True)

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if not self.covers(found):
            return None
        return found.refusal(model, self.inference(0).algorithm)

    def inference(self, epoch: int) -> Inference:
        """The algorithm with its options, and the limits in an epoch."""
        cls = cast("type[Algorithm]", ALGORITHMS[self.algorithm])
        algorithm = cls().replace(**parsed(self.algorithm_options))
        iterations = self.iterations + self.more_iterations * epoch
        return Inference(algorithm, Limits(iterations=iterations, tolerance=self.tolerance))

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen = density_of(model, batch).disturbed(context)
        log_z = seen.partition(self.inference(context.epoch))
        data = seen.clamped(self.inference(context.epoch))
        (log_z.surrogate.mean() - data.surrogate.mean()).backward()
        loss = float((log_z.value - data.value).mean())
        converged = min(log_z.converged, data.converged)
        return BatchResult(loss, float(len(seen.visible)), {"converged": converged}, state)


def parsed(options: str) -> dict[str, str | bool]:
    """`alpha=0.8,damping=0.3` as names and values; the algorithm's own declaration checks them."""
    values: dict[str, str | bool] = {}
    for part in filter(None, (word.strip() for word in options.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise ParameterError(f"algorithm_options is {options!r}: expected name=value, several joined by commas.")
        given = value.strip()
        values[name.strip().replace("-", "_")] = given == "true" if given in ("true", "false") else given
    return values
