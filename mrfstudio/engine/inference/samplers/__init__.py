"""Markov chains that sample a graph, and what their samples can know."""

ALGORITHMS = ("gibbs",)
