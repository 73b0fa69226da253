"""Join graphs: clusters of variables up to a size, exact where the size is enough; and `auto`, which picks for you."""

ALGORITHMS = ("auto", "cut-set", "join-graph", "join-tree", "sparse-tree")
