"""The script beside libDAI: its program is compiled against a stand-in with libDAI's names, which enumerates states.

libDAI itself is in no registry and need not be here; what a stand-in shows is that graphs reach the program, that its
answers are read in the right order, and that agreement is judged.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio import bench

HEADER = """
#pragma once
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace dai {
typedef double Real;
typedef std::vector<double> Factor;
struct Var { std::size_t label, count; std::size_t states() const { return count; } };
struct PropertySet { template <class T> void set(const std::string &, const T &) {} };
struct FactorGraph {
    struct One { std::vector<std::size_t> labels; std::map<std::size_t, double> values; };
    std::map<std::size_t, std::size_t> cards;
    std::vector<One> factors;
    std::size_t nrVars() const { return cards.size(); }
    Var var(std::size_t i) const { return Var{i, cards.at(i)}; }
    void ReadFromFile(const char *path) {
        std::FILE *file = std::fopen(path, "r");
        std::size_t count, order, entries, index, states;
        double value;
        if (std::fscanf(file, "%zu", &count) != 1) throw 1;
        for (; count; --count) {
            One one;
            if (std::fscanf(file, "%zu", &order) != 1) throw 1;
            one.labels.resize(order);
            for (auto &label : one.labels) if (std::fscanf(file, "%zu", &label) != 1) throw 1;
            for (auto label : one.labels) {
                if (std::fscanf(file, "%zu", &states) != 1) throw 1;
                cards[label] = states;
            }
            if (std::fscanf(file, "%zu", &entries) != 1) throw 1;
            for (; entries; --entries) {
                if (std::fscanf(file, "%zu %lf", &index, &value) != 2) throw 1;
                one.values[index] = value;
            }
            factors.push_back(one);
        }
        std::fclose(file);
    }
};
struct Enumeration {
    FactorGraph graph;
    Enumeration(const FactorGraph &given, const PropertySet &) : graph(given) {}
    void init() {}
    void run() {}
    Factor belief(const Var &of) const {
        Factor found(of.count, 0.0);
        std::vector<std::size_t> x(graph.nrVars(), 0);
        double all = 0;
        for (;;) {
            double product = 1;
            for (const auto &one : graph.factors) {
                std::size_t index = 0, stride = 1;
                for (auto label : one.labels) { index += stride * x[label]; stride *= graph.cards.at(label); }
                product *= one.values.count(index) ? one.values.at(index) : 0.0;
            }
            found[x[of.label]] += product;
            all += product;
            std::size_t i = 0;
            for (; i < x.size() && ++x[i] == graph.cards.at(i); ++i) x[i] = 0;
            if (i == x.size()) break;
        }
        for (auto &each : found) each /= all;
        return found;
    }
};
struct BP : Enumeration { using Enumeration::Enumeration; };
struct JTree : Enumeration { using Enumeration::Enumeration; };
}
"""


@pytest.fixture
def libdai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script with its program compiled against the stand-in."""
    if not shutil.which("g++") or not shutil.which("ar"):
        pytest.skip("there is no compiler for C++")
    script = next(each for each in bench.peers() if each.PEER.name == "libdai")
    checkout = tmp_path / "libdai"
    (checkout / "include" / "dai").mkdir(parents=True)
    (checkout / "lib").mkdir()
    for name in ("bp", "factorgraph", "jtree", "properties"):
        text = HEADER if name == "factorgraph" else '#include "factorgraph.h"\n'
        (checkout / "include" / "dai" / f"{name}.h").write_text(text, encoding="ascii")
    subprocess.run(["ar", "rc", checkout / "lib" / "libdai.a"], check=True)
    (checkout / "ChangeLog").write_text("\nstand-in 1.0\n", encoding="ascii")
    monkeypatch.setenv("MRFSTUDIO_LIBDAI", str(checkout))
    monkeypatch.setenv("MRFSTUDIO_PEERS", str(tmp_path / "peers"))
    monkeypatch.delenv("CXX", raising=False)
    return script


def tree() -> dict[str, np.ndarray]:
    """Triples with one variable in common, on which BP is exact."""
    draw = np.random.default_rng(0)
    return {"scopes": np.array([[2, 0, 4], [3, 2, 1], [5, 6, 0]]), "tables": draw.normal(size=(3, 2, 2, 2))}


def fields() -> dict[str, np.ndarray]:
    """A factor of two variables of 2 and 3 states, with local potentials."""
    draw = np.random.default_rng(1)
    return {
        "cards": np.array([2, 3]),
        "orders": np.array([2]),
        "scopes": np.array([1, 0]),
        "tables": draw.normal(size=6),
        "local": draw.normal(size=(2, 3)),
    }


def test_the_same_graph_gives_the_same_answers(libdai: Any) -> None:
    assert not libdai.PEER.installed
    libdai.PEER.install()
    assert libdai.PEER.installed
    rivals = sys.modules["rivals"]
    for name, studio in (("triples", libdai.propagated), ("exact", libdai.exact)):
        found = rivals.compare(libdai.PEER, rivals.Task(name, name, tree, studio, 1e-9))
        assert found["agree"], found
    uneven = rivals.Task("exact-uneven", "uneven", fields, libdai.exact, 1e-9)
    assert rivals.compare(libdai.PEER, uneven)["agree"]
    assert libdai.PEER.version() == "libDAI stand-in 1.0"
    other = rivals.Task("exact", "other", tree, lambda inputs: (np.full((7, 2), 0.5), 1.0), 1e-9)
    assert not rivals.compare(libdai.PEER, other)["agree"]


def test_a_checkout_that_was_not_built_is_named(libdai: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MRFSTUDIO_LIBDAI", str(tmp_path))
    with pytest.raises(SystemExit, match=r"No lib/libdai\.a in"):
        libdai.PEER.install()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libdai.a").touch()
    with pytest.raises(SystemExit, match="did not compile"):
        libdai.PEER.install()
