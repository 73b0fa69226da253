"""Region graphs: cycle bases, closure under intersection, counting numbers, and the algorithms that work on them."""

ALGORITHMS = ("bethe-net", "gbp", "renn")
