"""The inference network for the Bethe free energy ([WK19], section 3.1): RENN on factors and variables."""

from __future__ import annotations

from mrfstudio.engine.inference.regions.energy_network import OWN_SCORES, EnergyNetwork
from mrfstudio.engine.protocol.catalogue import flag
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class BetheNetwork(EnergyNetwork):
    """Parameters of the Bethe inference network."""

    name = "bethe-net"
    title = "Bethe inference network"
    summary = (
        "A network gives beliefs of factors and is trained, on this graph alone, to lower the Bethe free energy. "
        "The residual is the larger of the change of a belief and the disagreement of a factor with its variable."
    )

    # Pairs have few neighbours to agree with: on large grids scores of their own end in worse minima.
    own_scores: bool = flag(False, OWN_SCORES, advanced=True)
