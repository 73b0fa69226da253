"""An algorithm for MRF Studio that comes from another package."""
