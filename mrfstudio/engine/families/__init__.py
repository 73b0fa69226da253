"""Families of models, a folder each. Adding a family is adding a folder: nothing outside names one.

    __init__.py      MODELS = ("mine",): the kinds it brings, as plain words, read without loading torch. A learner or
                     an algorithm that only this family has is declared here too: LEARNERS = (…), ALGORITHMS = (…)
    model.py         the model: `kind`, `tensors`, `load_tensors`, `hyperparameters` (`TrainableModel` in
                     `training/learner.py`); and its plan, `@MODELS.register class Mine(ModelPlan)` (`plan.py` here),
                     which makes new models, and saved ones again. With `as_graph` and `from_graph` (`GraphLike` in
                     `inference/algorithm.py`) every algorithm works on it

These two are enough to open its files and to offer it for training. The rest says what it can do; each file registers
one part, and any may be left out or share a file with another. Only `pixels.py` and `contours.py` must have these
names: which families have them is asked without importing the others.

    belief_propagation.py, gibbs.py, …
                     `@kernel(Algorithm, Mine)`, one class an algorithm: faster than the factor graph, or in its place
                     (`Kernel` in `inference/algorithm.py`)
    query.py         `@query_objective("mine")`: how it is query-trained (`QueryObjective` in
                     `training/learners/query.py`)
    density.py       `@density("mine")`: its unnormalised density, for cd, pcd, likelihood and all other learners that
                     work on densities (`Density` in `training/density.py`)
    showing.py       `@showing("mine")`: what a person sees of it while it learns (`Shown` in `training/showing.py`);
                     left out, its matrices are shown
    evaluation.py    `@evaluation("mine")`: its scores on held-out data (`Evaluation` in `training/evaluation.py`)
    pixels.py        `@pixels("mine")`: it fills in pictures, in Inpaint and by `mrfstudio inpaint` (`PictureModel` and
                     `Pixels` in `families/pixels.py`)
    contours.py      `@contours("mine")`: it segments contours, in Segment and by `mrfstudio segment` (`ContourModel`
                     and `Contours` in `families/contours.py`)

A family of another package is the same folder, found by an entry point of the group `mrfstudio.models` whose name is
the kind and whose value is the package; `tests/toy_family` is one in four files. `ising` is a good one to read first:
most of it is borrowed from `graph`. Files of this folder itself are what families share: contracts, and scores of
contours.
"""
