"""The template for other packages installs as it stands, and its algorithm is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

TEMPLATE = ROOT / "docs" / "extending" / "template"
PAIR = "MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n2\n1 3\n4\n5 1 1 5\n"


def test_the_template_is_built_installed_and_used(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    built = subprocess.run(build, cwd=TEMPLATE, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    wheel = next(tmp_path.glob("*.whl"))
    into = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(into)]
    installed = subprocess.run([*pip, str(wheel)], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    graph = tmp_path / "pair.uai"
    graph.write_text(PAIR, encoding="utf-8")
    command = [sys.executable, "-m", "mrfstudio", "infer", str(graph), "--algorithm", "alone", "--temperature", "0.5"]
    paths = os.pathsep.join([str(into), str(ROOT)])
    run = subprocess.run([*command, "--json", "-"], env={**os.environ, "PYTHONPATH": paths}, capture_output=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["converged"]
    assert [round(p, 6) for p in found["marginals"][0]] == [0.1, 0.9]  # 1 : 3 squared
    assert [round(p, 6) for p in found["marginals"][1]] == [0.5, 0.5]
