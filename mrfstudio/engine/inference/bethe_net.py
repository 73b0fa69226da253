"""The inference network for the Bethe free energy (Wiseman and Kim, section 3.1): RENN on factors and variables."""

from __future__ import annotations

from mrfstudio.engine.inference.energy_network import EnergyNetwork
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
