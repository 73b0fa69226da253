"""Factor graphs: their tables, packing, evidence, where they come from and where their nodes stand."""
