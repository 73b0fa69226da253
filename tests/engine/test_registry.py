"""How extensions are found: folders declare names, other packages bring entry points, and nothing depends on order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mrfstudio.engine.families.contours import CONTOURS
from mrfstudio.engine.families.pixels import PIXELS
from mrfstudio.engine.registry import ALGORITHMS, DATASETS, LEARNERS, MODELS, Parts, Registry
from tests.places import ROOT

REGISTRIES = [ALGORITHMS, DATASETS, LEARNERS, MODELS]
LIST_MODULES = "\nimport json, sys; print(json.dumps(sorted(m for m in sys.modules if m.startswith('mrfstudio'))))"


def python(code: str, *folders: Path) -> tuple[str, str]:
    """What code says in a fresh interpreter: standard output and standard error. Folders are put on the path."""
    path = os.pathsep.join(map(str, (ROOT, *folders)))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def loaded_by(code: str) -> set[str]:
    return set(json.loads(python(code + LIST_MODULES)[0].splitlines()[-1]))


def install(folder: Path, group: str, entries: str, **modules: str) -> Path:
    """A folder as an installer leaves it: modules, and the entry points of a distribution."""
    described = folder / "other-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return folder


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.declared)
def test_every_folder_registers_what_it_declares_and_nothing_else(registry: Registry) -> None:
    code = f"""
from mrfstudio.engine.registry import {registry.declared} as registry, load_folder
import json
found = {{}}
for folder in sorted(set(registry.folders.values())):
    load_folder(folder)
for name, cls in registry._entries.items():
    found.setdefault(cls.__module__.rpartition(".")[0], []).append(name)
declared = {{}}
for name, folder in registry.folders.items():
    declared.setdefault(folder, []).append(name)
print(json.dumps([found, declared]))
"""
    found, declared = json.loads(python(code)[0])
    assert {folder: sorted(names) for folder, names in found.items()} == {
        folder: sorted(names) for folder, names in declared.items()
    }
    assert sum(map(len, found.values())) > 3


def test_naming_a_model_imports_its_family_and_no_other() -> None:
    loaded = loaded_by("from mrfstudio.engine.registry import MODELS; MODELS['rbm']")
    assert "mrfstudio.engine.families.rbm.query" in loaded
    assert {module.split(".")[3] for module in of_families(loaded)} == {"rbm"}


def test_asking_which_models_segment_imports_the_families_that_may() -> None:
    code = """
from mrfstudio.engine.families.contours import CONTOURS
from mrfstudio.engine.registry import MODELS
print([kind for kind in MODELS.names() if CONTOURS.knows(kind)])
"""
    assert {module.split(".")[3] for module in of_families(loaded_by(code))} == {"grid"}


@pytest.mark.parametrize("part", [CONTOURS, PIXELS], ids=lambda part: part.module)
def test_what_may_stand_in_one_module_alone_stands_there(part: Parts) -> None:
    kinds = [kind for kind in part.kinds() if MODELS.folders[kind].startswith("mrfstudio.")]
    assert kinds
    for kind in kinds:
        assert part.knows(kind)
        assert type(part[kind]).__module__ == f"{MODELS.folders[kind]}.{part.module}"


def test_naming_an_algorithm_imports_no_family_and_no_algorithm_of_regions() -> None:
    loaded = loaded_by("from mrfstudio.engine.registry import ALGORITHMS; ALGORITHMS['bp']")
    assert "mrfstudio.engine.inference.messages.belief_propagation" in loaded
    assert not of_families(loaded)
    regions = "mrfstudio.engine.inference.regions"
    assert not loaded & {f"{regions}.{name}" for name in ("generalized_bp", "renn", "bethe_net", "double_loop")}


def test_naming_a_data_set_imports_no_family_and_no_torch() -> None:
    code = """
import sys
from mrfstudio.engine.registry import DATASETS
DATASETS["border"]
assert "torch" not in sys.modules
"""
    assert not of_families(loaded_by(code))


def of_families(modules: set[str]) -> set[str]:
    """The modules inside families' folders; the folders themselves are imported for what they declare."""
    return {name for name in modules if name.startswith("mrfstudio.engine.families.") and name.count(".") > 3}


# Kernels --------------------------------------------------------------------------------------------------------------

KERNELS = """
import importlib, json, pkgutil
import mrfstudio.engine.families, mrfstudio.engine.inference
modules = [m.name for root in (mrfstudio.engine.families, mrfstudio.engine.inference)
           for m in pkgutil.walk_packages(root.__path__, root.__name__ + ".")]
for name in sorted(modules, reverse=REVERSED):
    importlib.import_module(name)
from mrfstudio.engine.inference.algorithm import _KERNELS, _Registered
from mrfstudio.engine.registry import ALGORITHMS
algorithms = [cls for cls in ALGORITHMS]
models = sorted({known.model for known in _KERNELS}, key=lambda cls: cls.__qualname__)
models += [sub for cls in list(models) for sub in cls.__subclasses__()]
found = {}
for algorithm in algorithms:
    for model in models:
        fitting = sorted((k for k in _KERNELS if k.fits(algorithm, model)), key=lambda k: k.rank(algorithm, model))
        found[f"{algorithm.name} on {model.__qualname__}"] = [type(k.kernel).__qualname__ for k in fitting]
print(json.dumps(found, sort_keys=True))
"""


def test_which_kernel_is_chosen_does_not_depend_on_the_order_of_imports() -> None:
    forward, backward = (
        json.loads(python(KERNELS.replace("REVERSED", order))[0].splitlines()[-1]) for order in ("False", "True")
    )
    assert forward == backward
    assert forward["bp on GridMRF"]
    assert forward["bp on FactorGraph"][-1] == "BeliefPropagationOnGraph"
    assert sum(bool(kernels) for kernels in forward.values()) > 20


# Other packages -------------------------------------------------------------------------------------------------------

ASK = """
from mrfstudio.engine.registry import MODELS
names = [cls.name for cls in MODELS]
assert {"grid", "rbm"} <= set(names), names
print(sorted(MODELS.broken), [name for name in names if name in ("bad", "empty", "fine", "half")])
from mrfstudio.engine.families.pixels import PIXELS
assert "rbm" in PIXELS.kinds() and "half" not in PIXELS.kinds() and not PIXELS.knows("half")
try:
    MODELS["bad"]
except Exception as problem:
    print(problem)
"""
FINE = """
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.registry import MODELS
@MODELS.register
class Fine(ModelPlan):
    name = "fine"
"""

HALF = """
from mrfstudio.engine.families.pixels import Pixels, pixels
pixels("half")(Pixels)
raise RuntimeError("after it has registered")
"""


def test_an_entry_that_cannot_be_loaded_is_named_and_left_out(tmp_path: Path) -> None:
    install(
        tmp_path,
        "mrfstudio.models",
        "bad = other_bad\nempty = other_empty\nfine = other_fine\nhalf = other_half\nmissing = other_missing",
        other_bad="raise RuntimeError('half a package')",
        other_empty="",
        other_fine=FINE,
        other_half=FINE.replace("fine", "half") + HALF,
    )
    said, warned = python(ASK, tmp_path)
    assert said.splitlines()[0] == "['bad', 'empty', 'half', 'missing'] ['fine']"
    assert "There is no model 'bad' (bad could not be loaded: RuntimeError: half a package)" in said
    assert "The model 'bad' of another package was left out: RuntimeError: half a package" in warned
    assert "The model 'empty' of another package was left out" in warned
    assert "registers no model 'empty'" in warned
    assert warned.count("'bad'") == 1  # said once, however often the models are listed


def test_an_entry_that_repeats_a_name_leaves_the_first_one_alone(tmp_path: Path) -> None:
    install(tmp_path, "mrfstudio.models", "grid = other_grid", other_grid="raise RuntimeError('never imported')")
    said, warned = python(
        "from mrfstudio.engine.registry import MODELS; print('grid' in MODELS.names(), MODELS['grid'].title)", tmp_path
    )
    assert said == "True Cloned grid MRF\n"
    assert "'grid of other_grid' of another package was left out: there is a model of this name already" in warned


def test_a_broken_entry_does_not_keep_a_command_from_working(tmp_path: Path) -> None:
    install(tmp_path, "mrfstudio.algorithms", "bad = other_bad", other_bad="import no_such_module_anywhere")
    graph = tmp_path / "chain.uai"
    graph.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n\n4\n1 2 3 4\n")
    code = f"from mrfstudio.cli import main; main(['infer', {str(graph)!r}, '--algorithm', 'exact', '--json', '-'])"
    assert json.loads(python(code, tmp_path)[0])["algorithm"] == "exact"


def test_no_family_can_speak_for_another_ones_models() -> None:
    parts: Parts[type] = Parts()
    parts.register("mine")(int)
    parts.register("mine", "theirs")(int)  # the same again
    with pytest.raises(ValueError, match="two families say the same of models of kind 'theirs'"):
        parts.register("theirs")(str)
