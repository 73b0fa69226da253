"""Train, in the window."""
