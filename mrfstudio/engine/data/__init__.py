"""Data sets: one a file, each with the class that `dataset.py` describes. Those in `drawn/` need no file."""

DATASETS = (
    "binary",
    "border",
    "chains",
    "frey",
    "images",
    "ising",
    "mimo",
    "mnist",
    "noisy",
    "real-faces",
    "points",
    "sequences",
    "silhouettes",
    "text",
)
