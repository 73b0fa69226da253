"""How parameters are found: one trainer for every model and learner."""
