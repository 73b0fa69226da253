"""The Photograph workspace in the window."""
