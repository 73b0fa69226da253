"""Exact inference: in which order variables are summed out, the contraction, and exact samples."""

ALGORITHMS = ("exact",)
