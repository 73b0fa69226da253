"""The canvas of graphs."""
