"""Readers of graphs, of the names beside them, and of numbers for them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from mrfstudio.bench.fuzz import grammars
from mrfstudio.bench.fuzz.mutations import bytes_mutated, gz_mutated, json_text_mutated, text_mutated
from mrfstudio.bench.fuzz.reader import Reader

UAI = b"MARKOV\n3\n2 2 3\n2\n2 0 1\n2 1 2\n\n4\n 1 2 3 4\n6\n 1 0 1 0.5 1 1\n"
FG = b"2\n\n2\n0 1\n2 2\n4\n0 1\n1 0.5\n2 0.5\n3 1\n\n1\n1\n2\n2\n0 1\n1 3\n"
BIF = b"""network "n" { }
variable A { type discrete [ 2 ] { yes, no }; }
variable B { type discrete [ 3 ] { low, mid, high }; property x = "1"; }
probability ( A ) { table 0.2, 0.8; }
probability ( B | A ) { (yes) 0.1, 0.2, 0.7; (no) 0.3, 0.3, 0.4; default 0.2, 0.3, 0.5; }
"""
XMLBIF = b"""<?xml version="1.0"?><BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>A</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>B</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>A</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>
<DEFINITION><FOR>B</FOR><GIVEN>A</GIVEN><TABLE>0.1 0.9 0.6 0.4</TABLE></DEFINITION></NETWORK></BIF>"""
XDSL = b"""<?xml version="1.0"?><smile version="1.0" id="n"><nodes>
<cpt id="A"><state id="yes"/><state id="no"/><probabilities>0.2 0.8</probabilities></cpt>
<deterministic id="C"><state id="s"/><state id="t"/><parents>A</parents>
<resultingstates>s t</resultingstates></deterministic>
<cpt id="B"><state id="x"/><state id="y"/><parents>A</parents><probabilities>0.1 0.9 0.6 0.4</probabilities></cpt>
</nodes></smile>"""
NAMES = b"""{"variables": [{"name": "a", "states": ["p", "q"]}, {"name": "b", "states": ["r", "s"]},
{"name": "c", "states": ["t", "u", "v"]}]}"""


MARGINALS = b"MAR\n3 2 0.5 0.5 2 0.25 0.75 3 0.2 0.3 0.5\n"
ROW = b"""{"graph": "a", "algorithm": "bp", "seconds_given": 20.0, "clock": "wall", "hellinger": 0.1}"""


def graph_readers() -> list[Reader]:
    from mrfstudio.engine.files.graphs.graph import read_edge_alphas, read_graph, read_priors
    from mrfstudio.engine.files.graphs.text import GraphFileError
    from mrfstudio.engine.files.graphs.uai import read_evidence
    from mrfstudio.engine.graphs.ising import ising_grid
    from mrfstudio.engine.protocol.errors import StudioError
    from mrfstudio.engine.tasks.arena import read_marginals, read_rows

    graph = ising_grid(2, 2, coupling=0.5)
    words, errors = (text_mutated, bytes_mutated), (GraphFileError,)
    packed = (gz_mutated,)

    def with_names(path: Path) -> Any:
        (path.parent / "a.uai").write_bytes(UAI)
        return read_graph(path.parent / "a.uai")

    networks = {"bif": BIF, "xmlbif": XMLBIF, "xml": XMLBIF, "xdsl": XDSL}
    return [
        Reader("uai", "a.uai", read_graph, errors, lambda: [UAI], words, grammars.uai),
        Reader("fg", "a.fg", read_graph, errors, lambda: [FG], words, grammars.fg),
        Reader("uai.gz", "a.uai.gz", read_graph, errors, lambda: [gzip.compress(UAI)], packed),
        Reader("fg.gz", "a.fg.gz", read_graph, errors, lambda: [gzip.compress(FG)], packed),
        *(Reader(end, f"a.{end}", read_graph, errors, lambda t=text: [t], words) for end, text in networks.items()),  # type: ignore[misc]
        Reader("bif.gz", "a.bif.gz", read_graph, errors, lambda: [gzip.compress(BIF)], packed),
        Reader("names", "n/a.uai.names.json", with_names, errors, lambda: [NAMES], (json_text_mutated,)),
        Reader("evidence", "a.evid", lambda p: read_evidence(p, graph), errors, lambda: [b"2 0 1 3 0\n"], words),
        Reader("alphas", "a.txt", lambda p: read_edge_alphas(p, graph), errors, lambda: [b"1 0.5 1 1\n"], words),
        Reader("marginals", "a.uai.MAR", read_marginals, (StudioError,), lambda: [MARGINALS], words),
        Reader("results", "a.jsonl", read_rows, (StudioError,), lambda: [ROW], (json_text_mutated,)),
        Reader("priors", "b.txt", lambda p: read_priors(p, graph), errors, lambda: [b"1 0 1 1 .5 .5 1 1\n"], words),
    ]
