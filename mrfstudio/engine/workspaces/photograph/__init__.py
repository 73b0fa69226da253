"""Photograph: scribble on a photograph, and the object comes out."""

WORKSPACES = ("photograph",)
ALGORITHMS = ("cutout", "cutout-alpha-bp", "cutout-mean-field")
