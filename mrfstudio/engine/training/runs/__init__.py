"""Training runs as folders on disk: plan, state, curves, snapshots."""
