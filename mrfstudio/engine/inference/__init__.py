"""How marginals are estimated on any factor graph: one algorithm a file, in folders of their kind.

`messages/` along edges, `exact/`, `samplers/`, `regions/`, and `join/` with `auto`.
"""

ALGORITHMS = ("mean-field",)
