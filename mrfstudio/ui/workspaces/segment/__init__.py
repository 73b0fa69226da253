"""Segment, in the window."""
