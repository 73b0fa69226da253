"""Ising models with trainable couplings and fields."""

MODELS = ("ising",)
