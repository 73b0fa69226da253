"""RENN: the region-based free energy minimised by a network ([Liu20], section 4.3)."""

from __future__ import annotations

from mrfstudio.engine.inference.regions.energy_network import EnergyNetwork
from mrfstudio.engine.inference.regions.on_regions import OnCycles
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class RegionEnergyNetwork(EnergyNetwork, OnCycles):
    """Parameters of RENN."""

    name = "renn"
    title = "Region-based energy network"
    summary = (
        "A network gives beliefs of regions and is trained, on this graph alone, to lower their free energy. "
        "The residual is the larger of the change of a belief and the disagreement of a region with its parent."
    )
