"""Data sets: one a file, each with the class that `dataset.py` describes. Those of pictures are in `pictures/`;
those in `drawn/` need no file."""

DATASETS = (
    "binary",
    "chains",
    "ising",
    "mimo",
    "points",
    "sequences",
    "text",
)
