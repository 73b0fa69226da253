"""Any factor graph with trainable weights, its density, and how it is query-trained."""

MODELS = ("factor-graph",)
