"""Mixtures of flows for points: GenMM and LatMM."""

MODELS = ("flow-mixture",)
