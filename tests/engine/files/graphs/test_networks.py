"""BIF, XMLBIF and XDSL: the same network read from each, and hostile files refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.files.graphs.graph import read_graph, write_graph
from mrfstudio.engine.files.graphs.text import GraphFileError
from mrfstudio.engine.tasks.infer import infer_file

BIF = """
network "sprinkler" { property author "nobody"; }
// comments are skipped { }
variable Cloudy { type discrete [ 2 ] { no, yes }; property "x = (1, 2)"; }
variable Rain { type discrete [ 2 ] { no, yes }; }
variable Wet { type discrete [ 3 ] { dry, damp, "very wet" }; }
probability ( Cloudy ) { table 0.4, 0.6; }
probability ( Rain | Cloudy ) { (no) 0.8, 0.2; (yes) 0.3, 0.7; }
probability ( Wet | Rain, Cloudy ) {
  default 0.2, 0.3, 0.5;  /* the rest */
  (no, no) 0.9, 0.1, 0.0;
  (no, yes) 0.7, 0.2, 0.1;
}
"""
XMLBIF = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF (NETWORK)*> ]>
<BIF VERSION="0.3"><NETWORK><NAME>sprinkler</NAME>
<VARIABLE TYPE="nature"><NAME>Cloudy</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>Rain</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>Wet</NAME><OUTCOME>dry</OUTCOME><OUTCOME>damp</OUTCOME>
<OUTCOME>very wet</OUTCOME></VARIABLE>
<DEFINITION><FOR>Cloudy</FOR><TABLE>0.4 0.6</TABLE></DEFINITION>
<DEFINITION><FOR>Rain</FOR><GIVEN>Cloudy</GIVEN><TABLE>0.8 0.2 0.3 0.7</TABLE></DEFINITION>
<DEFINITION><FOR>Wet</FOR><GIVEN>Rain</GIVEN><GIVEN>Cloudy</GIVEN>
<TABLE>0.9 0.1 0.0  0.7 0.2 0.1  0.2 0.3 0.5  0.2 0.3 0.5</TABLE></DEFINITION>
</NETWORK></BIF>"""
XDSL = """<smile version="1.0" id="n"><nodes>
<cpt id="Cloudy"><state id="no"/><state id="yes"/><probabilities>0.4 0.6</probabilities></cpt>
<cpt id="Rain"><state id="no"/><state id="yes"/><parents>Cloudy</parents>
<probabilities>0.8 0.2 0.3 0.7</probabilities></cpt>
<cpt id="Wet"><state id="dry"/><state id="damp"/><state id="very wet"/><parents>Rain Cloudy</parents>
<probabilities>0.9 0.1 0.0 0.7 0.2 0.1 0.2 0.3 0.5 0.2 0.3 0.5</probabilities></cpt></nodes></smile>"""


def by_hand() -> dict[str, list[float]]:
    cloudy, rain = np.array([0.4, 0.6]), np.array([[0.8, 0.2], [0.3, 0.7]])  # rain[cloudy, rain]
    wet = np.array([[[0.9, 0.1, 0.0], [0.7, 0.2, 0.1]], [[0.2, 0.3, 0.5]] * 2])  # wet[rain, cloudy, wet]
    joint = np.einsum("c,cr,rcw->crw", cloudy, rain, wet)
    return {
        "Cloudy": joint.sum((1, 2)).tolist(),
        "Rain": joint.sum((0, 2)).tolist(),
        "Wet": joint.sum((0, 1)).tolist(),
    }


@pytest.mark.parametrize(("ending", "text"), [(".bif", BIF), (".xmlbif", XMLBIF), (".xml", XMLBIF), (".xdsl", XDSL)])
def test_a_network_is_read_with_its_names_and_answers_as_by_hand(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"sprinkler{ending}"
    path.write_text(text)
    graph = read_graph(path)
    assert graph.names is not None
    assert graph.names.variables == ("Cloudy", "Rain", "Wet")
    assert graph.names.states[2] == ("dry", "damp", "very wet")
    told = infer_file(path, "exact")
    assert told["log_partition"] == pytest.approx(0.0, abs=1e-12)
    for name, marginal in zip(told["names"], told["marginals"], strict=True):
        assert marginal == pytest.approx(by_hand()[name["name"]])


def test_names_of_a_uai_file_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "s.bif").write_text(BIF)
    graph = read_graph(tmp_path / "s.bif")
    write_graph(tmp_path / "s.uai", graph)
    again = read_graph(tmp_path / "s.uai")
    assert again.names == graph.names
    beside = tmp_path / "s.uai.names.json"
    told = json.loads(beside.read_text())
    assert told["variables"][2] == {"name": "Wet", "states": ["dry", "damp", "very wet"]}
    for damage in ('{"variables": 3}', "[", '{"variables": [{"name": "a", "states": ["b"]}]}', '{"variables": [5]}'):
        beside.write_text(damage)
        with pytest.raises(GraphFileError, match=r"names\.json: "):
            read_graph(tmp_path / "s.uai")


def laughs() -> str:
    entities = "".join(f'<!ENTITY a{n} "{"&a" + str(n - 1) + ";" if n else "ha"}{"x" * 20}">' for n in range(9))
    return f'<?xml version="1.0"?><!DOCTYPE BIF [{entities}]><BIF><NETWORK><NAME>&a8;</NAME></NETWORK></BIF>'


WIDE = "".join(f"variable V{n} {{ type discrete [ 9 ] {{ {', '.join('abcdefghi')} }}; }}\n" for n in range(10))


@pytest.mark.parametrize(
    ("ending", "text", "said"),
    [
        (".bif", "variable A { type discrete [ 2 ] { a, b", "the file ends"),
        (".bif", "variable A { type discrete [ 3 ] { a, b }; }", "declares 3 states and names 2"),
        (".bif", "nonsense", "found \"nonsense\" where network, variable or probability"),
        (".bif", "variable A { type discrete [ 2 ] { a, b }; } probability ( A | B ) { table 1, 0; }", "not declared"),
        (".bif", "variable A { type discrete [ 2 ] { a, b }; } probability ( A ) { table 1; }", "where 2 were"),
        (".bif", "variable A { type discrete [ 2 ] { a, b }; } probability ( A ) { table 0, 0; }", "is 0, where"),
        (".bif", "variable A { type discrete [ 2 ] { a, b }; } probability ( A ) { table x, 0; }", "where a number"),
        (".bif", "variable A { type discrete [ 2 ] { a, b }; } probability ( A ) { table 1e999, 0; }", "too large"),
        (".bif", "variable A { type discrete [ 1 ] { a }; } variable A { type discrete [ 1 ] { a }; }", "twice"),
        (".bif", "variable A { type discrete [ 2 ] { a, a }; }", "a name of its own"),
        (".bif", f"{WIDE}probability ( V0 | {', '.join(f'V{n}' for n in range(1, 10))} ) {{ default 1; }}", "entries"),
        (".bif", "", "no variable"),
        (".xmlbif", laughs(), "entities"),
        (".xmlbif", "<a>" * 100, "more than 40 deep"),
        (".xmlbif", "<BIF><NETWORK></BIF>", "the XML is damaged"),
        (".xmlbif", "<BIF><DEFINITION><TABLE>1</TABLE></DEFINITION></BIF>", "for no variable"),
        (".xdsl", '<smile><nodes><utility id="u"/></nodes></smile>', "of the kind utility"),
    ],
)  # fmt: skip
def test_damaged_and_hostile_files_are_refused_in_one_sentence(
    tmp_path: Path, ending: str, text: str, said: str
) -> None:
    path = tmp_path / f"bad{ending}"
    path.write_text(text)
    with pytest.raises(GraphFileError) as refused:
        read_graph(path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<BIF>" + "<a/>" * 300_001 + "</BIF>", "the file has more than 300000 tags, the most that is read."),
        ("<a>" * 50, "tags lie more than 40 deep in each other, the most that is read."),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a/>', "the file declares entities, which are not read."),
    ],
)
def test_a_refused_document_is_told_once(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.xmlbif"
    path.write_text(text)
    with pytest.raises(GraphFileError) as refused:
        read_graph(path)
    assert str(refused.value) == f"{path}: {said}"
