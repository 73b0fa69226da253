"""Cycles to begin a region graph with: tree-robust bases where they are known ([Liu20], Theorems 4.1 and 4.2).

Faces of a planar graph, triangles through one node of a complete graph, and Algorithm 1 for any other. Bridges lie on
no cycle, so each block (biconnected component) is treated by itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any

Cycle = tuple[int, ...]

SMALL = 60
"""Edges up to which the shortest cycles are looked for: a block that can be drawn in several ways has long faces in
some of them. The search takes time with the cube of the edges."""

MOST_TESTS = 100
"""Planarity tests that the search for a planar part may use. What is not tried joins later, by shortest cycles."""


def cycle_basis(edges: Iterable[tuple[int, int]], *, outer_face: bool = False) -> list[Cycle]:
    """Nodes of the basis cycles of a graph, each in the order of its walk. `outer_face` adds the longest face of each
    planar block, which depends on the others but brings regions of its own.
    """
    import networkx as nx  # takes as long to import as the whole rest of the engine's own code

    graph = nx.Graph()
    graph.add_edges_from(sorted((min(a, b), max(a, b)) for a, b in edges))
    cycles: list[Cycle] = []
    for nodes in sorted(nx.biconnected_components(graph), key=min):
        if len(nodes) < 3:
            continue
        block = nx.Graph()
        block.add_nodes_from(sorted(nodes))
        block.add_edges_from(sorted(graph.subgraph(nodes).edges()))
        cycles += _block_basis(block, outer_face)
    return cycles


def _block_basis(block: Any, outer_face: bool) -> list[Cycle]:
    import networkx as nx

    nodes, edges = block.number_of_nodes(), block.number_of_edges()
    if nodes > 4 and 2 * edges == nodes * (nodes - 1):
        return star_triangles(sorted(block.nodes))
    planar, embedding = nx.check_planarity(block)
    if not planar:
        return general_basis(block)
    if edges <= SMALL and not outer_face:
        shortest = [tuple(cycle) for cycle in nx.minimum_cycle_basis(block)]
        if _is_face_basis(shortest):
            return shortest
    return faces(embedding, outer_face)


def _is_face_basis(cycles: Sequence[Cycle]) -> bool:
    """MacLane's criterion: a basis with each edge in at most two cycles holds the faces of a drawing, but one."""
    seen = Counter(frozenset(pair) for cycle in cycles for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    return max(seen.values()) <= 2


def star_triangles(nodes: Sequence[int]) -> list[Cycle]:
    """Triangles of a complete graph through its first node (Theorem 4.2)."""
    root, *others = nodes
    return [(root, j, k) for j, k in combinations(others, 2)]


def faces(embedding: Any, outer_face: bool) -> list[Cycle]:
    """Faces of a biconnected planar graph (Theorem 4.1); the longest is taken for the outer one."""
    seen: set[tuple[int, int]] = set()
    found: list[Cycle] = []
    for start, end in sorted(embedding.edges()):
        if (start, end) not in seen:
            found.append(tuple(embedding.traverse_face(start, end, seen)))
    if outer_face and len(found) > 2:
        return found
    outer = max(range(len(found)), key=lambda i: len(found[i]))
    return [face for i, face in enumerate(found) if i != outer]


def general_basis(block: Any) -> list[Cycle]:
    """Algorithm 1: the basis of a planar or complete part, then one shortest cycle for each edge outside it."""
    planar = _planar_part(block)
    clique = _large_clique(block)
    rank = planar.number_of_edges() - planar.number_of_nodes() + 1
    if (len(clique) - 1) * (len(clique) - 2) // 2 > rank:
        used: dict[int, set[int]] = {a: {b for b in clique if b != a} for a in clique}
        return star_triangles(sorted(clique)) + _grown_cycles(block, used)
    used = {a: set(planar[a]) for a in planar}
    return _cycles_of(planar) + _grown_cycles(block, used)


def _cycles_of(planar: Any) -> list[Cycle]:
    """Faces of a planar graph that may have bridges."""
    import networkx as nx

    found: list[Cycle] = []
    for nodes in sorted(nx.biconnected_components(planar), key=min):
        if len(nodes) > 2:
            found += faces(nx.check_planarity(planar.subgraph(nodes))[1], outer_face=False)
    return found


def _planar_part(block: Any) -> Any:
    """A spanning planar subgraph: a breadth-first tree, then as many edges as planarity allows, by halving."""
    import networkx as nx

    start = max(sorted(block.nodes), key=block.degree)
    part = nx.Graph()
    part.add_nodes_from(block.nodes)
    part.add_edges_from(nx.bfs_edges(block, start))
    waiting = [[edge for edge in sorted(block.edges()) if not part.has_edge(*edge)]]
    tests = 0
    while waiting and tests < MOST_TESTS:
        batch = waiting.pop()
        part.add_edges_from(batch)
        tests += 1
        if nx.check_planarity(part)[0]:
            continue
        part.remove_edges_from(batch)
        if len(batch) > 1:
            half = len(batch) // 2
            waiting += [batch[half:], batch[:half]]
    return part


def _large_clique(block: Any) -> list[int]:
    """A clique, greedily from the nodes of largest degree."""
    clique: list[int] = []
    for node in sorted(block.nodes, key=lambda n: (-block.degree(n), n)):
        if all(block.has_edge(node, other) for other in clique):
            clique.append(node)
    return clique


def _grown_cycles(block: Any, used: dict[int, set[int]]) -> list[Cycle]:
    """The loop of Algorithm 1. `used` holds the edges that cycles cover so far; its keys are the visited nodes."""
    found: list[Cycle] = []
    waiting = deque(sorted(used))
    while waiting:
        node = waiting.popleft()
        for end in sorted(block[node]):
            if end in used[node]:
                continue
            ear = [node, end] if end in used else _ear(block, node, end, used)
            back = _shortest(used, ear[-1], node)
            cycle = tuple(ear[:-1] + back[:-1])
            if len(cycle) > 2:
                found.append(cycle)
            waiting += [fresh for fresh in ear if fresh not in used]
            for a, b in pairwise(ear):
                used.setdefault(a, set()).add(b)
                used.setdefault(b, set()).add(a)
    return found


def _ear(block: Any, node: int, first: int, used: dict[int, set[int]]) -> list[int]:
    """A shortest path node, first, … through unvisited nodes to another visited one; a block always has it."""
    before: dict[int, int] = {first: node}
    queue = deque([first])
    while queue:
        here = queue.popleft()
        for there in sorted(block[here]):
            if there in before or there == node:
                continue
            before[there] = here
            if there in used:
                path = [there]
                while path[-1] != node:
                    path.append(before[path[-1]])
                return path[::-1]
            queue.append(there)
    raise AssertionError("a biconnected block has a second way out of every node")


def _shortest(used: dict[int, set[int]], start: int, end: int) -> list[int]:
    """A shortest path over used edges."""
    before: dict[int, int] = {start: start}
    queue = deque([start])
    while end not in before:
        here = queue.popleft()
        for there in sorted(used[here]):
            if there not in before:
                before[there] = here
                queue.append(there)
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]
