"""Models of small colour windows that repair photographs: a mixture of Gaussians, and a Gaussian RBM."""

MODELS = ("patches", "patch-rbm")
LEARNERS = ("online-em",)
