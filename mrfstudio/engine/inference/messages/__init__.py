"""Algorithms that send messages along the edges of a factor graph: BP, α-BP, tree-reweighted BP."""

ALGORITHMS = ("alpha-bp", "bp", "trw")
