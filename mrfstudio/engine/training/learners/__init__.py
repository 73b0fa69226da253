"""How a batch becomes a gradient: one learner a file."""

LEARNERS = ("cd", "em", "likelihood", "pcd", "perceptron", "pseudolikelihood", "query", "saddle")
