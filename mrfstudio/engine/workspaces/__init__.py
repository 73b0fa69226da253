"""One folder a workspace: what its layers mean, and the answers to its questions."""
