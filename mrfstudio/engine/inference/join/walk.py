"""In which order a join tree's messages are made and let go, so that few of them are there at a time.

All messages towards the roots come first, then those away from them. On the way back a cluster needs what it was sent;
where that is too much to keep, only some messages stay, and those in between are made a second time when they are
needed: of n messages in a row about 2√n are there at once.
"""

from __future__ import annotations

from collections.abc import Sequence

LITTLE = 2**25
"""Entries of all messages together up to which they simply stay."""
SMALL = 2**12
"""Entries of a message that always stays."""


class Walk:
    """The clusters of a forest in an order in which senders come before those they send to.

    `parents` are -1 at roots, `sizes` the entries of what each cluster says to its parent.
    """

    def __init__(self, parents: Sequence[int], sizes: Sequence[int]) -> None:
        self.parents, self.sizes = parents, sizes
        self.children: list[list[int]] = [[] for _ in parents]
        for cluster, parent in enumerate(parents):
            if parent >= 0:
                self.children[parent].append(cluster)
        self.order = self._depth_first()
        self.stay = self._stay(LITTLE)

    def _depth_first(self) -> list[int]:
        """What is sent to one cluster directly before it: little waits."""
        found = []
        stack = [cluster for cluster, parent in enumerate(self.parents) if parent < 0]
        while stack:
            cluster = stack.pop()
            found.append(cluster)
            stack += sorted(self.children[cluster], key=lambda child: -self.sizes[child])
        return found[::-1]

    def _stay(self, most: int) -> set[int]:
        """Whose messages stay: all where they are few, else so that those that do, and those made again between two
        of them, are fewest together.
        """
        everybody = set(range(len(self.parents)))
        if sum(self.sizes) <= most:
            return everybody
        best: tuple[int, set[int]] | None = None
        between = most // 8
        while between < sum(self.sizes):
            stay = self._every(between)
            most_at_once = self.peak(stay)
            if best is None or most_at_once < best[0]:
                best = (most_at_once, stay)
            between *= 2
        return best[1] if best is not None else everybody

    def _every(self, between: int) -> set[int]:
        """Those behind which so many entries of messages that do not stay have come together."""
        stay, waiting = set[int](), [0] * len(self.parents)
        for cluster in self.order:
            size = self.sizes[cluster]
            waiting[cluster] = size + sum(waiting[child] for child in self.children[cluster])
            if size <= SMALL or waiting[cluster] > between:
                stay.add(cluster)
                waiting[cluster] = 0
        return stay

    def again(self, cluster: int, there: set[int]) -> list[int]:
        """Whose messages are to be made again before the cluster's own are there, in order; `there` are those kept."""
        found, stack = [], [child for child in self.children[cluster] if child not in there]
        while stack:
            at = stack.pop()
            found.append(at)
            stack += [child for child in self.children[at] if child not in there]
        return found[::-1]

    def peak(self, stay: set[int]) -> int:
        """The most entries of messages that are there at once."""
        walked = Counted(self, stay)
        walked.walk()
        return walked.most


class Walker:
    """Goes the way; `collect` makes what a cluster says to its parent, `distribute` what it says to its children."""

    def __init__(self, way: Walk, stay: set[int]) -> None:
        self.way, self.stay = way, stay

    def walk(self) -> None:
        way, there = self.way, set[int]()
        for cluster in way.order:
            self.collect(cluster, first=True)
            there.add(cluster)
            for child in way.children[cluster]:
                if child not in self.stay:
                    self.forget(child)
                    there.discard(child)
        for cluster in reversed(way.order):
            for missing in way.again(cluster, there):
                self.collect(missing, first=False)
                there.add(missing)
            self.distribute(cluster)
            for child in way.children[cluster]:
                self.forget(child)
                there.discard(child)

    def collect(self, cluster: int, *, first: bool) -> None:
        raise NotImplementedError

    def distribute(self, cluster: int) -> None:
        """Also lets go of what the parent has said."""
        raise NotImplementedError

    def forget(self, child: int) -> None:
        """What a cluster has said to its parent is not needed any more."""
        raise NotImplementedError


class Counted(Walker):
    """Only counts."""

    def __init__(self, way: Walk, stay: set[int]) -> None:
        super().__init__(way, stay)
        self.now = self.most = 0

    def collect(self, cluster: int, *, first: bool) -> None:
        self._add(self.way.sizes[cluster])

    def distribute(self, cluster: int) -> None:
        for child in self.way.children[cluster]:
            self._add(self.way.sizes[child])
        self.now -= self.way.sizes[cluster] if self.way.parents[cluster] >= 0 else 0

    def forget(self, child: int) -> None:
        self.now -= self.way.sizes[child]

    def _add(self, size: int) -> None:
        self.now += size
        self.most = max(self.most, self.now)
