"""Runs as web pages: one file that a browser opens without a network. Knows neither torch nor Qt."""
