"""The cloned grid MRF: every pixel has a label, and each label several hidden clones."""

MODELS = ("grid",)
