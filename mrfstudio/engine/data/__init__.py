"""Data sets: one a file, each with the class that `contract.py` describes."""
