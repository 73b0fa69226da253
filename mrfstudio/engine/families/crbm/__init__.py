"""Conditional restricted Boltzmann machines: the biases of both layers depend on what is seen."""

MODELS = ("crbm",)
LEARNERS = ("max-margin",)
