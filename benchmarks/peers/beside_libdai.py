"""The studio beside libDAI (C++): belief propagation on a grid, triples and networks, exact marginals by a tree.

    python benchmarks/peers/beside_libdai.py --checkout FOLDER [--only TASK …] [--out FOLDER]

libDAI lies in no package registry. FOLDER is a checkout of it in which `make` has built `lib/libdai.a`, as its README
says; `MRFSTUDIO_LIBDAI` names one for `mrfstudio bench --peers`. `beside_libdai.cpp` is compiled against it with the
compiler that `CXX` names (else g++) and kept beside the environments of other peers. Both get the same graph by an .fg
file, in 64 bits. Files of a competition: see networks.py.

libDAI sends messages of factors of single variables too, an iteration later than local potentials act here; so fields
are written into the tables of other factors, and beliefs after the same iterations must agree. After every iteration
libDAI computes beliefs of variables and factors, which it cannot leave out, and the studio its residual. Exact answers
are timed from a graph in memory to the marginals of all variables, orders of elimination included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import networks
from rivals import Arrays, Peer, Task, best_seconds, peers_folder, report, run_peer

SIDE, SMALL, WIDE, ITERATIONS, REPEATS = 100, 6, 14, 10, 5
VARIABLES, TRIPLES, STATES = 1000, 2000, 5
NAMED = "MRFSTUDIO_LIBDAI"


def grid_inputs(side: int = SIDE) -> Arrays:
    """Scopes (factors, 2) and log-tables (factors, 2, 2) of an Ising grid with random couplings and fields."""
    draw = np.random.default_rng(0)
    at = np.arange(side * side).reshape(side, side)
    right, down = np.stack([at[:, :-1], at[:, 1:]], -1), np.stack([at[:-1], at[1:]], -1)
    scopes = np.concatenate([right.reshape(-1, 2), down.reshape(-1, 2)])
    spins = np.array([-1.0, 1.0])
    tables = draw.normal(0, 0.5, len(scopes))[:, None, None] * np.outer(spins, spins)
    tables += draw.normal(0, 0.2, len(scopes))[:, None, None] * spins
    return {"scopes": scopes, "tables": tables}


def triple_inputs() -> Arrays:
    """Random factors of three variables: scopes (factors, 3) and log-tables (factors, 5, 5, 5)."""
    draw = np.random.default_rng(1)
    scopes = np.array([draw.choice(VARIABLES, 3, replace=False) for _ in range(TRIPLES)])
    scopes = np.unique(scopes, return_inverse=True)[1].reshape(scopes.shape)  # a variable in no factor has no file
    return {"scopes": scopes, "tables": draw.normal(0, 0.7, (TRIPLES, *[STATES] * 3))}


def graph_of(inputs: Arrays) -> Any:
    """The studio's graph of these factors, 64 bits as libDAI computes, with nothing said of single variables."""
    import torch

    from mrfstudio.engine.graphs.factor_graph import FactorGraph

    if "local" in inputs:
        cards, factors = inputs["cards"].tolist(), networks.absorbed(inputs)
    else:
        cards = [inputs["tables"].shape[1]] * (int(inputs["scopes"].max()) + 1)
        pairs = zip(inputs["scopes"].tolist(), inputs["tables"], strict=True)
        factors = [(tuple(scope), table) for scope, table in pairs]
    return FactorGraph.from_factors(cards, factors, dtype=torch.float64)


def propagated(inputs: Arrays) -> tuple[np.ndarray, float]:
    """Beliefs (variables, states) after `ITERATIONS` iterations of BP, and the seconds of all of them."""
    from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation

    graph, bp = graph_of(inputs), BeliefPropagation()
    evidence = graph.no_evidence()

    def work() -> Any:
        state = bp.init(graph, evidence)
        for _ in range(ITERATIONS):
            state = bp.step(graph, evidence, state)
        return state

    beliefs = bp.beliefs(graph, evidence, work())
    return _rows(graph.packing.unpack_numpy(beliefs.numpy())), best_seconds(work, repeats=REPEATS)


def exact(inputs: Arrays) -> tuple[np.ndarray, float]:
    """Exact marginals (variables, states), and the seconds of the first answer: a second one would be remembered."""
    import mrfstudio

    graph = graph_of(inputs)
    begin = time.perf_counter()
    answer = mrfstudio.infer(graph, "exact")
    spent = time.perf_counter() - begin
    return _rows([np.asarray(marginal) for marginal in answer.marginals]), spent


def _rows(marginals: list[np.ndarray]) -> np.ndarray:
    """Marginals (variables, most states), 0 where a variable has fewer."""
    found = np.zeros((len(marginals), max(map(len, marginals))))
    for row, marginal in zip(found, marginals, strict=True):
        row[: len(marginal)] = marginal
    return found


class LibDAI(Peer):
    """A checkout in place of an environment: its program is compiled, not installed by pip."""

    @property
    def checkout(self) -> Path | None:
        named = os.environ.get(NAMED)
        return Path(named) if named else None

    @property
    def program(self) -> Path:
        return peers_folder() / self.name / "beside_libdai"

    @property
    def installed(self) -> bool:
        return self.checkout is not None and self.program.exists()

    @property
    def how_to_install(self) -> str:
        return f"python {self.script} --checkout FOLDER, with {NAMED} set to the same"

    def install(self) -> None:
        """Compile the program against the checkout that is named."""
        source = Path(__file__).with_suffix(".cpp")
        if self.checkout is None or not (self.checkout / "lib" / "libdai.a").exists():
            raise SystemExit(
                f"No lib/libdai.a in {self.checkout or 'no folder'}: name a checkout that `make` has built."
            )
        self.program.parent.mkdir(parents=True, exist_ok=True)
        line = [os.environ.get("CXX", "g++"), "-O3", "-std=c++11", "-I", self.checkout / "include", source]
        line += [self.checkout / "lib" / "libdai.a", *self._libraries(), "-o", self.program]
        done = subprocess.run([str(word) for word in line], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"libDAI: the program did not compile.\n{done.stderr[-2000:]}")

    def _libraries(self) -> list[str]:
        """What libDAI itself is linked with: newer versions count in GMP's integers."""
        assert self.checkout is not None
        headers = (self.checkout / "include" / "dai").glob("*.h")
        uses_gmp = any("gmpxx" in header.read_text(encoding="utf-8", errors="replace") for header in headers)
        return ["-lgmpxx", "-lgmp"] if uses_gmp else []

    def version(self) -> str:
        """What git says of the checkout, else the first line of its change log."""
        git = ["git", "-C", str(self.checkout), "describe", "--always", "--tags"]
        said = subprocess.run(git, capture_output=True, text=True).stdout.strip() if self._is_git() else ""
        return f"libDAI {said or self._first_change()}"

    def _is_git(self) -> bool:
        return self.checkout is not None and (self.checkout / ".git").exists()

    def _first_change(self) -> str:
        log = Path(self.checkout or ".", "ChangeLog")
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        return next((line.strip() for line in lines if line.strip()), "of unknown version")

    def asked(self, task: str, inputs: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Marginals (variables, states) of its program, and the seconds of a run."""
        from mrfstudio.engine.files.graphs.fg import write_fg

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "graph.fg")
            write_fg(path, graph_of(inputs))
            way = "jtree" if task.startswith("exact") else "bp"
            line = [str(self.program), way, str(ITERATIONS), str(REPEATS), str(path)]
            seconds, *marginals = run_peer(f"{self.name}, {task}", line).splitlines()
        return _rows([np.array([float(word) for word in line.split()]) for line in marginals]), np.array(float(seconds))


EXACT = ("Segmentation_11", "Alchemy_11")
"""Networks of the competition that a join tree answers within a few seconds."""
PEER = LibDAI(
    "libdai",
    (),
    __file__,
    (
        Task("grid", f"BP, Ising grid {SIDE}×{SIDE}, {ITERATIONS} iterations", grid_inputs, propagated, 1e-6),
        Task("triples", f"BP, {TRIPLES} triples of {STATES} states", triple_inputs, propagated, 1e-6),
        *(
            Task(name, f"BP, UAI 2014: {name}, {ITERATIONS} iterations", inputs, propagated, 1e-6)
            for name, inputs in networks.competition()
        ),
        Task("exact", f"exact marginals, grid {SMALL}×{SMALL}", lambda: grid_inputs(SMALL), exact, 1e-6),
        Task("exact-wide", f"exact marginals, grid {WIDE}×{WIDE}", lambda: grid_inputs(WIDE), exact, 1e-6),
        *(
            Task(f"exact-{name}", f"exact marginals, UAI 2014: {name}", inputs, exact, 1e-6)
            for name, inputs in networks.competition()
            if name in EXACT
        ),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="The studio beside libDAI, in one run.")
    parser.add_argument("--checkout", type=Path, metavar="FOLDER", help=f"a checkout with lib/libdai.a (else {NAMED})")
    parser.add_argument("--only", nargs="+", default=(), metavar="TASK", choices=[task.name for task in PEER.tasks])
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write libdai.json there")
    options = parser.parse_args()
    if options.checkout is not None:
        os.environ[NAMED] = str(options.checkout)
    PEER.install()
    report(PEER, options.only, options.out)


if __name__ == "__main__":
    main()
