"""Numbers beside a graph, in a file of their own with white space between them: an α for each edge, priors."""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.files.text import AnyPath, read_numbers
from mrfstudio.engine.models.factor_graph import FactorGraph


def read_edge_alphas(path: AnyPath, graph: FactorGraph) -> tuple[float, ...]:
    """One α for each factor of two variables, in the order of the graph's file."""
    file = read_numbers(path)
    if len(file) != graph.factors:
        raise file.error(f"{len(file)} numbers were found where one α for each of {graph.factors} edges was expected")
    bad = np.flatnonzero(~((file.values > 0) & (file.values <= 2)))
    if len(bad):
        raise file.error(f"an α is {file.found(int(bad[0]))}, and one in (0, 2] was expected", int(bad[0]))
    return tuple(file.values.tolist())


def read_priors(path: AnyPath, graph: FactorGraph) -> list[np.ndarray]:
    """Log-priors (states,) of all variables; the file has a probability for each state, up to a factor a variable."""
    file = read_numbers(path)
    sizes = graph.cardinalities
    if len(file) != sizes.sum():
        raise file.error(f"{len(file)} numbers were found where one for each of {sizes.sum()} states was expected")
    if (file.values < 0).any():
        place = int((file.values < 0).argmax())
        raise file.error(f"a prior is {file.found(place)}, and a probability was expected", place)
    priors = np.split(file.values, np.cumsum(sizes)[:-1])
    empty = next((number for number, prior in enumerate(priors) if not prior.any()), None)
    if empty is not None:
        place = int(sizes[:empty].sum())
        raise file.error(f"the prior of variable {graph.labels[empty]} forbids every state", place)
    with np.errstate(divide="ignore"):
        return [np.log(prior) for prior in priors]
