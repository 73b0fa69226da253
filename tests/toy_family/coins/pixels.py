"""Coins fill in pictures: beliefs are the probabilities of black and white."""

from mrfstudio.engine.families.pixels import Pixels, pixels

pixels("coins")(Pixels)
