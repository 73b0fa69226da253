"""How marginals are estimated on any factor graph: one algorithm a file. Algorithms on regions are in `regions/`."""

ALGORITHMS = ("alpha-bp", "bp", "exact", "gibbs", "mean-field", "trw")
