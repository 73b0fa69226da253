"""A generator that learns by moving its points onto the data as cheaply as possible: EOTGM and EOTGAN."""

MODELS = ("transport",)
LEARNERS = ("sinkhorn",)
