"""Curves, histograms, scatter plots, heat maps."""
