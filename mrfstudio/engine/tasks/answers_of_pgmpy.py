"""What pgmpy's variable elimination answers to a graph, as JSON; runs in pgmpy's own environment.

python answers_of_pgmpy.py GRAPH.uai [VARIABLE=STATE …]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

MOST = 4 * 2**30
"""Bytes that it may take: it does not ask beforehand."""


def read(path: str) -> tuple[list[int], list[tuple[list[int], list[float]]]]:
    """Numbers of states, and for each factor its variables and its values."""
    words = iter(Path(path).read_text(encoding="ascii").split()[1:])

    def count() -> int:
        return int(next(words))

    cards = [count() for _ in range(count())]
    scopes = [[count() for _ in range(count())] for _ in range(count())]
    return cards, [(scope, [float(next(words)) for _ in range(count())]) for scope in scopes]


def network_of(cards: list[int], factors: list[tuple[list[int], list[float]]]) -> Any:
    import pgmpy.models
    from pgmpy.factors.discrete import DiscreteFactor

    kind = getattr(pgmpy.models, "DiscreteMarkovNetwork", None) or pgmpy.models.MarkovNetwork
    network = kind()
    network.add_nodes_from(range(len(cards)))
    named = {v for scope, _ in factors for v in scope}
    factors = [each for each in factors if each[0]] + [([v], [1.0] * k) for v, k in enumerate(cards) if v not in named]
    for scope, values in factors:
        network.add_edges_from((a, b) for place, a in enumerate(scope) for b in scope[place + 1 :])
        network.add_factors(DiscreteFactor(scope, [cards[v] for v in scope], values))
    return network


def main() -> int:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    from pgmpy.inference import VariableElimination

    cards, factors = read(sys.argv[1])
    observed = {int(v): int(s) for v, s in (word.split("=") for word in sys.argv[2:])}
    elimination = VariableElimination(network_of(cards, factors))
    marginals = []
    for v, states in enumerate(cards):
        if v in observed:
            marginals.append([float(state == observed[v]) for state in range(states)])
            continue
        values = elimination.query([v], evidence=observed, show_progress=False).values
        weights = [float(value) for value in values]  # of undirected networks they are not normalised
        marginals.append([weight / sum(weights) for weight in weights])
    found = {"marginals": marginals, "log_partition": None, "log_partition_kind": None}
    print(json.dumps({**found, "ending": "exact by variable elimination", "converged": True}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
