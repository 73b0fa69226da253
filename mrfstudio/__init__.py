"""MRF Studio: a desktop laboratory for Markov random fields."""

import os

# Before torch is imported anywhere: OpenMP threads that spin make every other process on the machine crawl.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

__version__ = "0.1.0"
