"""Ready for a GPU that nobody here has: every kernel and every learner says where its tensors are."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from mrfstudio.engine.families.scored_grid.contrast_grid import ContrastGrid
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, kernels
from mrfstudio.engine.inference.messages import binary_odds
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.registry import ALGORITHMS, LEARNERS, MODELS
from mrfstudio.engine.training.learner import BatchContext, Learner, TensorSource, TrainingData
from tests.engine.helpers.devices import elsewhere
from tests.engine.helpers.graphs import random_factors
from tests.places import ROOT

CARDS: dict[str, dict[str, Any]] = {
    "grid": {"clones": [2, 1, 1], "connectivity": 8, "tying": "free", "label_names": ["CONTOUR", "OUT", "IN"]},
    "rbm": {"visible": 6, "hidden": 3, "second": 0, "image_shape": [2, 3]},
    "dbm": {"visible": 6, "hidden": 3, "second": 2, "image_shape": [2, 3]},
    "grbm": {"image_shape": [2, 3], "hidden": 4, "variance": "learned", "floor": 0.1},
    "crbm": {"visible": 6, "features": 6, "hidden": 2, "image_shape": [2, 3], "decoder": "mean-field"},
    "scored-grid": {"labels": 2, "channels": 1, "features": 2},
    "ising": {"edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]], "nodes": 6, "sharing": "none", "shape": None},
    "factor-graph": {"cardinalities": [2] * 6, "scopes": [[[0, 1], [2, 3], [4, 5]]], "positions": [[0, 1, 2]],
                     "classes": None, "unary": "free"},
    "chain": {"states": 2, "order": 1, "form": "directed", "shapes": {"transitions": [3, 2],
                  "words": [2, 3]}},
    "flow-mixture": {"components": 2, "shared": False, "shapes": {"shift": [2, 2], "log_scale": [2, 2],
                     "weights": [2]}},
    "transport": {"noise": 2, "shapes": {"in": [2, 3], "in_bias": [3], "mid": [3, 3], "mid_bias": [3], "out": [3, 2],
                  "out_bias": [2]}},
    "patches": {"side": 2, "components": 2, "rank": 1},
    "patch-rbm": {"side": 2, "hidden": 3, "floor": 0.1},
    "photo-scores": {"labels": [[1, "a", "#102030"], [2, "b", "#405060"]], "hidden": 2},
}  # fmt: skip
BITS = torch.rand(8, 2, 3, generator=torch.Generator().manual_seed(1)) > 0.5


UNDIRECTED = "chain, undirected"
VARIANTS = {UNDIRECTED: {**CARDS["chain"], "form": "undirected", "shapes": {"transitions": [1, 2, 2], "words": [2, 3]}}}
"""Of kinds that no learner covers in one form alone."""


def small(kind: str) -> Any:
    model = MODELS[kind.partition(",")[0]].restore({**CARDS, **VARIANTS}[kind])
    draws = torch.Generator().manual_seed(0)
    for tensor in model.tensors().values():
        with torch.no_grad():
            tensor.add_(0.01 * torch.randn(tensor.shape, generator=draws))
        tensor.requires_grad_()
    return model


def data_of(kind: str) -> dict[str, torch.Tensor]:
    bits = BITS.to(torch.uint8)
    if kind in ("ising", "factor-graph"):
        return {"x": BITS.reshape(8, 6).to(torch.int8) * (2 if kind == "ising" else 1) - (1 if kind == "ising" else 0)}
    if kind == "scored-grid":
        return {"images": bits, "pictures": 255 * bits.unsqueeze(-1)}
    if kind in ("chain", UNDIRECTED):
        return {"x": BITS.reshape(8, 6).long()}
    if kind in ("flow-mixture", "transport"):
        return {"x": BITS.reshape(8, 6)[:, :2] + torch.linspace(0, 1, 8)[:, None]}
    if kind in ("patches", "patch-rbm"):
        return {"images": (255 * torch.rand(8, 2, 2, 3, generator=torch.Generator().manual_seed(2))).to(torch.uint8)}
    scale = 1 if kind == "grid" else 255
    return {"images": scale * bits, "noisy_images": scale * bits}


def test_every_kind_says_the_shapes_of_its_tensors_before_they_are_made() -> None:
    assert set(CARDS) == set(MODELS.names())
    for kind, card in CARDS.items():
        model = MODELS[kind].restore(card)
        expected = MODELS[kind].shapes(model.hyperparameters())
        if not expected:  # then they are asked of a model whose tensors take no memory
            with torch.device("meta"):
                assert MODELS[kind].restore(card).tensors(), kind
        found = {name: tuple(tensor.shape) for name, tensor in model.tensors().items()}
        assert {name: found[name] for name in expected} == expected, kind


# Kernels --------------------------------------------------------------------------------------------------------------


def models() -> Iterator[tuple[str, Any, Any]]:
    ising = ising_grid(3, 3, seed=7)
    mixed = FactorGraph.from_factors(*random_factors(0, variables=5, factors=6, strength=0.6))
    yield "ising graph", ising, ising.evidence({0: 1})
    yield "mixed graph", mixed, mixed.evidence({0: 1})
    for kind in ("rbm", "dbm"):
        machine = MODELS[kind].restore(CARDS[kind])
        yield kind, machine, machine.no_evidence()
    grey = torch.zeros(2, 3)
    noisy = MODELS["crbm"].restore(CARDS["crbm"])
    yield "crbm", noisy, noisy.evidence_from_image(grey, BITS[0])
    pixels = MODELS["grbm"].restore(CARDS["grbm"])
    yield "grbm", pixels, pixels.evidence_from_image(grey, BITS[0])
    grid = MODELS["grid"].restore(CARDS["grid"])
    yield "grid", grid, grid.evidence_from_image(BITS[0])
    scored = MODELS["scored-grid"].restore(CARDS["scored-grid"]).field(torch.zeros(2, 1, 2, 3)[:1])
    yield "scores", scored, Evidence(torch.zeros(1, 2, 3, 2))
    contrast = ContrastGrid([torch.ones(3, 3), torch.ones(2, 4)], 2)
    yield "contrast", contrast, Evidence(torch.zeros(3, 4, 2))


def pairs() -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binary_odds, "LARGE", 1)  # kernels for large graphs work on small ones too,
        patch.setattr(binary_odds, "PADDING", 9.0)  # most of whose nodes lie on the border
        return _pairs()


def _pairs() -> list[Any]:
    found: list[Any] = []
    for name, model, evidence in models():
        usual: list[Algorithm] = [cls() for cls in ALGORITHMS]  # type: ignore[misc]
        for algorithm in (*usual, BeliefPropagation(kernel="generic")):
            for kernel in kernels(algorithm, model) if algorithm.supports(model) is None else ():
                title = f"{algorithm.name}-{type(kernel).__name__}-{name}"
                if title in (each.id for each in found):
                    continue
                found.append(pytest.param(algorithm, kernel, model, evidence, id=title))
    return found


@pytest.mark.parametrize(("algorithm", "kernel", "model", "evidence"), pairs())
def test_a_kernel_makes_its_tensors_where_the_model_is(
    algorithm: Algorithm, kernel: Kernel, model: Any, evidence: Any
) -> None:
    with torch.no_grad(), elsewhere():
        state = kernel.init(algorithm, model, evidence)
        for _ in range(2):
            state = kernel.step(algorithm, model, evidence, state)
        beliefs = kernel.beliefs(algorithm, model, evidence, state)
    assert beliefs.device.type == "cpu"
    assert bool(torch.isfinite(beliefs).all())


ON_PICTURES = {"CutoutKernel", "RepairKernel"}
"""Their evidence is a picture in memory and their model stays on the CPU wherever sessions compute."""


UNTRAINED = {"photo-scores"}
"""It learns from strokes, on the CPU as well, and not by a learner."""


def test_no_kernel_no_learner_and_no_family_is_left_out() -> None:
    tried = {id(each.values[1]) for each in pairs()}
    assert {type(kernel).__name__ for kernel in _all_kernels() if id(kernel) not in tried} == ON_PICTURES
    assert {each.values[1].name for each in trainings()} == set(LEARNERS.names())  # type: ignore[attr-defined]
    assert {str(each.values[0]).partition(",")[0] for each in trainings()} == set(MODELS.names()) - UNTRAINED


# Learners -------------------------------------------------------------------------------------------------------------


def trainings() -> list[Any]:
    found = []
    for kind in (*CARDS, *VARIANTS):
        model = small(kind)
        for cls in LEARNERS:
            learner: Learner = cls()  # type: ignore[assignment]
            if learner.supports(model) is None:
                found.append(pytest.param(kind, learner, id=f"{kind}-{cls.name}"))
    return found


@pytest.mark.parametrize(("kind", "learner"), trainings())
def test_a_learner_makes_its_tensors_where_the_model_is(kind: str, learner: Learner) -> None:
    model = small(kind)
    data = TrainingData(TensorSource(**data_of(kind)), None, {}, kind)
    state = learner.start(model, data, 0)
    batch = data.train[torch.arange(4)]
    with elsewhere():
        result = learner.batch(model, batch, state, BatchContext(0, 0, 0, 4, slice(0, 4)))
    assert math.isfinite(result.loss)


# The lint -------------------------------------------------------------------------------------------------------------

STEPS = ("init", "step", "beliefs", "batch")
PICTURES = ("families/patches", "families/photographs", "workspaces/photograph")
"""Pictures in memory, as `ON_PICTURES`."""


def waits(source: str) -> list[str]:
    """Calls of `.numpy()` and `.item()` in functions called like those of a kernel or learner, or in others of the file
    that these lead to."""
    functions: dict[str, list[ast.FunctionDef]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    found, begun, names = [], set(), list(STEPS)
    while names:
        name = names.pop()
        if name in begun:
            continue
        begun.add(name)
        for inner in (inner for function in functions.get(name, []) for inner in ast.walk(function)):
            if isinstance(inner, ast.Name):
                names.append(inner.id)
            elif isinstance(inner, ast.Attribute):
                names.append(inner.attr)
                if inner.attr in ("numpy", "item"):
                    found.append(f"{name}: line {inner.lineno}: .{inner.attr}")
    return found


def test_the_lint_sees_what_it_looks_for() -> None:
    assert waits("class A:\n def step(self):\n  return self.x.item()\n") == ["step: line 3: .item"]
    assert waits("class A:\n def other(self):\n  return self.x.item()\n") == []
    assert waits("def batch(x):\n f = x.item\n return f()\n") == ["batch: line 2: .item"]
    hidden = "class A:\n def step(self):\n  return self.next()\n def next(self):\n  return far(self.x)\n"
    assert waits(hidden + "def far(x):\n return x.numpy()\n") == ["far: line 7: .numpy"]


def test_steps_wait_for_no_number_of_the_device() -> None:
    engine = ROOT / "mrfstudio" / "engine"
    folders = [engine / name for name in ("inference", "families", "training", "workspaces")]
    declared = {Path(inspect.getfile(type(k))) for k in _all_kernels() if k.on_cpu}
    faults = [
        f"{path.relative_to(ROOT)}: {fault}"
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        if path not in declared
        if not path.relative_to(engine).as_posix().startswith(PICTURES)
        for fault in waits(path.read_text(encoding="utf-8"))
    ]
    assert faults == []


ON_THE_CPU = (
    *PICTURES,
    "data",  # files on disk
    "files",
    "session/exact_reference.py",  # models that were moved to the CPU
    "inference/exact/contraction.py",  # these look at the device first
    "inference/messages/flat.py",
    "inference/messages/flat_binary.py",  # asked by it alone
    "inference/messages/small_binary.py",
    "inference/regions/objective.py",
    "runtime",  # `to_host` itself, and what looks at the device first
)


def test_answers_move_to_the_host_in_one_place() -> None:
    """`.numpy()` of a tensor that lies on a GPU fails: `to_host` moves it."""
    engine = ROOT / "mrfstudio" / "engine"
    declared = {Path(inspect.getfile(type(k))).parent for k in _all_kernels() if k.on_cpu}
    faults = [
        f"{path.relative_to(engine).as_posix()}: {call.lineno}"
        for path in sorted(engine.rglob("*.py"))
        if not path.relative_to(engine).as_posix().startswith(ON_THE_CPU) and path.parent not in declared
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Attribute) and call.attr == "numpy"
    ]
    assert faults == []


def test_64_bits_are_asked_for_where_a_device_may_lack_them() -> None:
    """MPS has none, and `double` fails there: `wide` knows. What was moved to the CPU first may have them."""
    inference = ROOT / "mrfstudio" / "engine" / "inference"
    declared = {Path(inspect.getfile(type(k))).parent for k in _all_kernels() if k.on_cpu}
    faults = [
        f"{path.relative_to(inference).as_posix()}: {call.lineno}"
        for path in sorted(inference.rglob("*.py"))
        if path.parent not in declared
        and not f"inference/{path.relative_to(inference).as_posix()}".startswith(ON_THE_CPU)
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Attribute) and call.attr == "double" and "cpu" not in ast.unparse(call)
    ]
    assert faults == []


def test_a_cpu_kernel_names_an_algorithm_that_answers_in_torch() -> None:
    for kernel in _all_kernels():
        if kernel.on_cpu:
            twins = kernels(ALGORITHMS[kernel.on_cpu](), ising_grid(2, 2))  # type: ignore[arg-type]
            assert twins, type(kernel).__name__
            assert not any(twin.on_cpu for twin in twins), type(kernel).__name__


def _all_kernels() -> list[Kernel]:
    from mrfstudio.engine.inference import algorithm

    ALGORITHMS.load_all()
    MODELS.load_all()
    return [each.kernel for each in algorithm._KERNELS]
