"""Inpaint, in the window."""
