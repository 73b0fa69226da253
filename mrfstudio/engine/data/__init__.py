"""Data sets: one a file, with the class that `contract.py` describes; `border_ownership.py` is a good first one to read."""
