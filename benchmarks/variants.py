"""Other graphs like those of the UAI competitions, with their exact marginals: a folder for `benchmarks/arena.py`.

    python benchmarks/variants.py FOLDER [--seeds 0 1] [--only grid-mixed …]

Each family is drawn anew: grids, diagnoses (noisy-or), segmentations, pedigrees, two slices of a dynamic network,
relations, detections of objects, constraints, and random factors of three variables with five states. They are as large
as an exact answer with plenty of time allows (`WIDEST`; one that does not fit is left out, and said so).
A graph that is there already is not drawn again. The families of `HARD` are drawn where they are named.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mrfstudio.engine.files.graphs.graph import write_graph
from mrfstudio.engine.files.graphs.uai import write_evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.join.join_tree import JoinTree
from mrfstudio.engine.inference.join.propagation import order_of
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.tasks.infer import answer

WIDEST, EFFORT = 28.0, 3.0
"""Bits of the largest table of an exact answer, and how long its order is looked for, in times of the usual."""
MEMORY = 12.0
"""Gigabytes that it may take."""
SPINS = np.array([[1.0, -1.0], [-1.0, 1.0]])

Draw = np.random.Generator
Factors = list[tuple[tuple[int, ...], np.ndarray]]
Variant = tuple[list[int], Factors, dict[int, int]]
"""Numbers of states, log-tables by scope, and observed states."""


def log(table: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(table))


def _neighbours(rows: int, columns: int) -> list[tuple[int, int]]:
    at = np.arange(rows * columns).reshape(rows, columns)
    across = zip(at[:, :-1].ravel().tolist(), at[:, 1:].ravel().tolist(), strict=True)
    return [*across, *zip(at[:-1].ravel().tolist(), at[1:].ravel().tolist(), strict=True)]


def grid(draw: Draw, side: int, attractive: bool, strength: float) -> Variant:
    """Binary, with couplings of one sign or of both."""
    factors: Factors = [((v,), draw.uniform(-1, 1) * np.array([-1.0, 1.0])) for v in range(side * side)]
    for pair in _neighbours(side, side):
        coupling = strength * draw.uniform(0 if attractive else -1, 1)
        factors.append((pair, coupling * SPINS))
    return [2] * side * side, factors, {}


def diagnosis(draw: Draw, diseases: int, findings: int) -> Variant:
    """Noisy-or: rare diseases, findings that a few of them cause, most findings observed."""
    factors: Factors = [((v,), log(np.array([1 - p, p]))) for v, p in enumerate(draw.uniform(0.01, 0.15, diseases))]
    observed = {}
    for finding in range(diseases, diseases + findings):
        causes = tuple(draw.choice(diseases, int(draw.integers(2, 6)), replace=False).tolist())
        kept = draw.uniform(0.1, 0.8, len(causes))
        off = np.full((2,) * len(causes), 0.98)
        for states in itertools.product((0, 1), repeat=len(causes)):
            off[states] *= math.prod(q for q, state in zip(kept, states, strict=True) if state)
        factors.append(((*causes, finding), log(np.stack([off, 1 - off], -1))))
        if draw.random() < 0.8:
            observed[finding] = int(draw.random() < 0.4)
    return [2] * (diseases + findings), factors, observed


def segmentation(draw: Draw, rows: int, columns: int, states: int) -> Variant:
    """Neighbouring regions like to be alike; what was seen of each speaks for some of the states."""
    factors: Factors = [((v,), draw.normal(0, 1.0, states)) for v in range(rows * columns)]
    pairs = _neighbours(rows, columns)
    at = np.arange(rows * columns).reshape(rows, columns)
    pairs += [(int(at[r, c]), int(at[r + 1, c + 1])) for r in range(rows - 1) for c in range(columns - 1)][::2]
    factors += [(pair, draw.uniform(0.3, 1.5) * np.eye(states)) for pair in pairs]
    return [states] * rows * columns, factors, {}


def pedigree(draw: Draw, people: int, loci: int) -> Variant:
    """Two alleles of three kinds at each locus, one of each parent, chosen by a switch that neighbouring loci share
    most of the time; genotypes without order are seen of some people.
    """
    cards: list[int] = []
    factors: Factors = []
    observed: dict[int, int] = {}
    founders = people // 3 + 2

    def new(states: int) -> int:
        cards.append(states)
        return len(cards) - 1

    parents = {p: sorted(draw.choice(p, 2, replace=False).tolist()) for p in range(founders, people)}
    before: dict[tuple[int, int], int] = {}
    inherited = np.zeros((3, 3, 2, 3))
    for one, two, switch in itertools.product(range(3), range(3), range(2)):
        inherited[one, two, switch, (one, two)[switch]] = 1
    genotype = np.zeros((3, 3, 6))
    for number, (one, two) in enumerate(itertools.combinations_with_replacement(range(3), 2)):
        genotype[one, two, number] = genotype[two, one, number] = 1
    for _ in range(loci):
        frequencies = log(draw.dirichlet(np.full(3, 2.0)))
        alleles: dict[tuple[int, int], int] = {}
        kinds: dict[tuple[int, int], int] = {}
        for person in range(people):
            for side in (0, 1):
                allele = alleles[person, side] = new(3)
                if person < founders:
                    factors.append(((allele,), frequencies))
                    kinds[person, side] = int(draw.integers(3))
                    continue
                parent, switch = parents[person][side], new(2)
                factors.append(((alleles[parent, 0], alleles[parent, 1], switch, allele), log(inherited)))
                if (person, side) in before:
                    factors.append(((before[person, side], switch), log(np.array([[0.9, 0.1], [0.1, 0.9]]))))
                before[person, side] = switch
                kinds[person, side] = kinds[parent, int(draw.integers(2))]
            if person >= founders // 2 and draw.random() < 0.7:
                seen = new(6)
                factors.append(((alleles[person, 0], alleles[person, 1], seen), log(genotype)))
                observed[seen] = int(genotype[kinds[person, 0], kinds[person, 1]].argmax())
    return cards, factors, observed


def slices(draw: Draw, side: int, strength: float) -> Variant:
    """Two slices of a dynamic network: every variable of one with every variable of the other."""
    pairs = [((a, side + b), draw.normal(0, strength) * SPINS) for a in range(side) for b in range(side)]
    fields = [((v,), draw.normal(0, 0.5) * np.array([-1.0, 1.0])) for v in range(2 * side)]
    return [2] * (2 * side), [*fields, *pairs], {}


def dense(draw: Draw, spins: int, strength: float) -> Variant:
    """Every spin with every other."""
    spread = strength / math.sqrt(spins)
    pairs = [(pair, draw.normal(0, spread) * SPINS) for pair in itertools.combinations(range(spins), 2)]
    fields = [((v,), draw.normal(0, 0.5) * np.array([-1.0, 1.0])) for v in range(spins)]
    return [2] * spins, [*fields, *pairs], {}


def relations(draw: Draw, people: int) -> Variant:
    """Friends smoke alike: a variable for each person and for each pair of them."""
    cards, factors = [2] * people, list[tuple[tuple[int, ...], np.ndarray]]()
    factors += [((v,), np.array([0.0, draw.normal(-0.3, 0.3)])) for v in range(people)]
    alike = np.zeros((2, 2, 2))
    alike[0, 0, 1] = alike[1, 1, 1] = 0.5
    for one, other in itertools.combinations(range(people), 2):
        cards.append(2)
        factors.append(((one, other, len(cards) - 1), alike))
        factors.append(((len(cards) - 1,), np.array([0.0, draw.normal(-0.5, 0.5)])))
    return cards, factors, {}


def detection(draw: Draw, objects: int, hints: int) -> Variant:
    """Up to twenty places for each object, every two objects bound, and hints about single ones."""
    cards = [int(k) for k in draw.integers(11, 21, objects)]
    factors: Factors = [((v,), draw.normal(0, 1.5, k)) for v, k in enumerate(cards)]
    for pair in itertools.combinations(range(objects), 2):
        table = draw.normal(0, 0.7, [cards[v] for v in pair])
        table[draw.random(table.shape) < 0.1] = -np.inf
        table[0, 0] = 0.0
        factors.append((pair, table))
    for _ in range(hints):
        seen = int(draw.integers(objects))
        cards.append(int(draw.integers(2, 11)))
        factors.append(((seen, len(cards) - 1), draw.normal(0, 1, (cards[seen], cards[-1]))))
    return cards, factors, {}


def constraints(draw: Draw, variables: int, degree: float, states: int) -> Variant:
    """Neighbours differ and some further pairs of states are forbidden; one planted assignment is allowed."""
    planted = draw.integers(states, size=variables)
    factors: Factors = [((v,), draw.normal(0, 0.5, states)) for v in range(variables)]
    pairs = list(itertools.combinations(range(variables), 2))
    for place in draw.choice(len(pairs), int(variables * degree / 2), replace=False).tolist():
        one, other = pairs[place]
        table = draw.normal(0, 0.5, (states, states))
        table[draw.random(table.shape) < 0.15] = -np.inf
        if planted[one] != planted[other]:
            np.fill_diagonal(table, -np.inf)
        table[planted[one], planted[other]] = 0.0
        factors.append(((one, other), table))
    return [states] * variables, factors, {}


def triples(draw: Draw, variables: int, factors: int, spread: float) -> Variant:
    scopes = [tuple(draw.choice(variables, 3, replace=False).tolist()) for _ in range(factors)]
    return [5] * variables, [(scope, draw.normal(0, spread, (5, 5, 5))) for scope in scopes], {}


FAMILIES: dict[str, Callable[[Draw], Variant]] = {
    "grid-attractive-12": lambda draw: grid(draw, 12, True, 1.0),
    "grid-mixed-16": lambda draw: grid(draw, 16, False, 2.0),
    "grid-mixed-20": lambda draw: grid(draw, 20, False, 1.5),
    "diagnosis": lambda draw: diagnosis(draw, 50, 60),
    "segmentation-21": lambda draw: segmentation(draw, 4, 12, 21),
    "segmentation-2": lambda draw: segmentation(draw, 15, 16, 2),
    "pedigree": lambda draw: pedigree(draw, 18, 3),
    "slices": lambda draw: slices(draw, 18, 0.4),
    "relations": lambda draw: relations(draw, 18),
    "detection": lambda draw: detection(draw, 5, 40),
    "constraints": lambda draw: constraints(draw, 40, 4.0, 4),
    "triples": lambda draw: triples(draw, 26, 24, 1.5),
}
HARD: dict[str, Callable[[Draw], Variant]] = {
    "hard-grid-22": lambda draw: grid(draw, 22, False, 2.0),
    "hard-slices": lambda draw: slices(draw, 23, 0.4),
    "hard-relations": lambda draw: relations(draw, 27),
    "hard-constraints": lambda draw: constraints(draw, 54, 4.0, 4),
    "hard-diagnosis": lambda draw: diagnosis(draw, 62, 72),
    "hard-dense": lambda draw: dense(draw, 27, 1.2),
}
"""Graphs that `auto` does not answer exactly in 20 s, or hardly; a solution takes up to a minute and 9 GB."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="*", default=list(FAMILIES), choices=[*FAMILIES, *HARD])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for seed, name in itertools.product(given.seeds, given.only):
        path = given.folder / f"{name}-{seed}.uai"
        if path.with_name(path.name + ".MAR").exists():
            continue
        print(f"{path.stem:<26} {put(path, *(FAMILIES | HARD)[name](np.random.default_rng((seed, 19))))}", flush=True)


def put(path: Path, cards: list[int], factors: Factors, observed: dict[int, int]) -> str:
    """Write a graph, its evidence and its solution; what was found in words."""
    graph = FactorGraph.from_factors(cards, factors)
    evidence = graph.evidence(observed)
    width = order_of(graph, evidence, 0, EFFORT).width
    if width > WIDEST:
        return f"left out: its largest table would have 2^{width:.0f} entries"
    found = answer(JoinTree(gigabytes=MEMORY, effort=EFFORT), graph, evidence, Limits(iterations=1))
    assert found["log_partition_kind"] == "exact"
    write_graph(path, graph)
    write_evidence(path.with_name(path.name + ".evid"), observed, graph)
    path.with_name(path.name + ".PR").write_text(f"PR\n{found['log_partition'] / math.log(10)!r}\n")
    lines = [f"{len(row)} {' '.join(map(repr, row))}" for row in found["marginals"]]
    path.with_name(path.name + ".MAR").write_text("MAR\n" + "\n".join([str(len(lines)), *lines]) + "\n")
    return f"{graph.variables} variables, {graph.factors} factors: 2^{width:.0f} entries, {found['seconds']:.1f} s"


if __name__ == "__main__":
    main()
