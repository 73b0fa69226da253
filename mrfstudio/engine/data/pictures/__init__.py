"""Data sets of pictures that are read from files, and the noise that is put on them."""

DATASETS = (
    "border",
    "frey",
    "images",
    "mnist",
    "noisy",
    "real-faces",
    "silhouettes",
)
