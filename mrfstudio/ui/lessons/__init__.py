"""Lessons in the window: a dialog to choose one, and a guide above the canvas that plays it."""
