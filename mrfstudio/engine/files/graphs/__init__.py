"""Graphs as files: UAI and libDAI models, evidence, and numbers beside them."""
