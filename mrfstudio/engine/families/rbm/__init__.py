"""Restricted and deep Boltzmann machines of binary units."""

MODELS = ("dbm", "rbm")
ALGORITHMS = ("matrix-bp",)
