"""Pictures, figures, animations and the tour: what leaves the window."""
