"""Converge, in the window."""
