"""A family of models from another package: pictures whose pixels are coins, each with its own bias."""

MODELS = ("coins",)
