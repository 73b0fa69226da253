"""Grids whose scores come from a picture: messages on them, and a trainable field on labels."""

MODELS = ("scored-grid",)
