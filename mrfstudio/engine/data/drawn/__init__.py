"""Data sets that are drawn here and need no file: digits and shapes, faces, figures of any size."""

DATASETS = (
    "faces",
    "figures",
    "glyphs",
    "shapes",
)
