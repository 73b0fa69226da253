"""Where nodes stand: layouts by name, lattices that are found, pivots for large graphs."""
