"""An Ising model is learned, asked and scored like any graph whose weights are shared: see the family `graph`."""

from __future__ import annotations

from mrfstudio.engine.families.graph.density import GraphDensity
from mrfstudio.engine.families.graph.evaluation import evaluate_graph
from mrfstudio.engine.families.graph.query import GraphObjective
from mrfstudio.engine.training.density import density
from mrfstudio.engine.training.evaluation import evaluation
from mrfstudio.engine.training.learners.query import query_objective

density("ising")(GraphDensity)
query_objective("ising")(GraphObjective)
evaluation("ising")(evaluate_graph)
