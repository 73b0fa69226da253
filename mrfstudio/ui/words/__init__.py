"""Words with equations in the window, in the colours of the theme."""
