"""Photographs cut by scribbles: scores from colours, distances and kept networks on a scored grid of contrast."""

MODELS = ("photo-scores",)
