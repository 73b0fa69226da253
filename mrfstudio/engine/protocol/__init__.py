"""Everything that crosses to the window, as plain frozen values. Imports neither torch nor scipy."""
