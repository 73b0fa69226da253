"""Chains of hidden states: hidden Markov models of order one to three, directed or undirected."""

MODELS = ("chain",)
LEARNERS = ("baum-welch", "bethe-networks")
