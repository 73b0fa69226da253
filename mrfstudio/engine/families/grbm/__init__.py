"""The Gaussian restricted Boltzmann machine: continuous pixels, binary hidden units."""

MODELS = ("grbm",)
