"""Algorithms that send messages along the edges of a factor graph: BP, residual BP, α-BP, tree-reweighted BP."""

ALGORITHMS = ("alpha-bp", "bp", "residual-bp", "trw")
