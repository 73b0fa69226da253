"""A workspace of another package, as small as one can be."""
