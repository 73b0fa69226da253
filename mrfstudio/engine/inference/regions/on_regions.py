"""What algorithms on region graphs share: which regions, and the potentials in them."""

from __future__ import annotations

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import require_possible
from mrfstudio.engine.inference.algorithm import NO_LOG_PARTITION, Algorithm, LogPartition, Model
from mrfstudio.engine.inference.energy import region_log_partition
from mrfstudio.engine.inference.regions.region_graph import RegionError, bethe_regions, cycle_regions, shared_regions
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.protocol.catalogue import choice, flag, integer

MOST_FORBIDDEN = -10.0
"""The largest log-belief in a forbidden entry with which a free energy still means something."""


class OnRegions(Algorithm):
    """An algorithm that works on a region graph. One that has no regions of its own choice takes Bethe's."""

    def supports(self, model: Model) -> str | None:
        reason = super().supports(model)
        if reason is not None or not isinstance(model, FactorGraph):
            return reason
        try:
            self.tables(model)
        except RegionError as error:
            return str(error)
        return None

    def tables(self, graph: FactorGraph) -> RegionTables:
        """The regions of a graph, made once."""
        return graph.structural("bethe regions", lambda: RegionTables(graph, bethe_regions(graph)))


class OnCycles(OnRegions):
    """Regions from cycles, with the choices that a person has."""

    regions: str = choice(
        "cycles",
        ("cycles", "shared", "bethe"),
        "Regions from short cycles of the graph and their intersections, from factors that all hold a few shared "
        "variables, or from single factors and variables.",
    )
    shared: int = integer(
        2,
        "With the regions `shared`: variables with most neighbours that every region holds. Tables double with each, "
        "and dense graphs are answered better.",
        low=0,
        high=16,
        advanced=True,
    )
    outer_face: bool = flag(
        False, "Whether the outline of a planar graph becomes a region too; its table grows quickly.", advanced=True
    )
    largest: int = integer(
        65536,
        "Cycles whose table would have more entries than this are left out.",
        low=4,
        high=1 << 22,
        logarithmic=True,
        advanced=True,
    )

    def tables(self, graph: FactorGraph) -> RegionTables:
        if self.regions == "bethe":
            return super().tables(graph)

        if self.regions == "shared":
            return graph.structural(
                ("shared regions", self.shared, self.largest),
                lambda: RegionTables(graph, shared_regions(graph, self.shared, largest=self.largest)),
            )

        def make() -> RegionTables:
            return RegionTables(graph, cycle_regions(graph, outer_face=self.outer_face, largest=self.largest))

        return graph.structural(("cycle regions", self.outer_face, self.largest), make)


def region_potentials(graph: FactorGraph, tables: RegionTables, evidence: Evidence) -> Tensor:
    """log φ_R of all regions, evidence included, (…, entries); -inf where an entry is impossible."""

    def make() -> Tensor:
        require_possible(graph, evidence)
        return tables.potentials(graph, graph.local_potentials(evidence))

    return evidence.derived(graph, f"regions {id(tables)}", make)


def region_estimate(algorithm: OnRegions, graph: FactorGraph, evidence: Evidence, log_beliefs: Tensor) -> LogPartition:
    """-F_R at log-beliefs (…, entries); none while they hold something possible that evidence has just forbidden."""
    tables = algorithm.tables(graph)
    potentials = region_potentials(graph, tables, evidence)
    forbidden = torch.where(potentials.isneginf(), log_beliefs, -torch.inf)
    if float(forbidden.max()) > MOST_FORBIDDEN:
        return NO_LOG_PARTITION
    return LogPartition(float(region_log_partition(graph, tables, potentials, log_beliefs)), "estimate")
