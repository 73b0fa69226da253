"""XMLBIF (Weka, SamIam, pgmpy) and XDSL (GeNIe): Bayesian networks as XML.

XMLBIF lists for each DEFINITION the numbers with its FOR variables fastest, after the GIVEN ones; XDSL lists them with
the node's own states fastest, after its parents. Entities are refused: a few lines of them can fill a memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from mrfstudio.engine.files.graphs.network import Network, as_number
from mrfstudio.engine.files.graphs.text import AnyPath, GraphFileError, read_text

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

DEEPEST = 40
MOST_TAGS = 300_000
"""Networks of a thousand variables have some ten thousand; each takes about 300 bytes."""


@dataclass(eq=False, slots=True)
class Element:
    """One tag with what is in it; names of tags in capitals."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts).strip()

    def all(self, *tags: str) -> list[Element]:
        return [child for child in self.children if child.tag in tags]

    def texts(self, tag: str) -> list[str]:
        return [child.text for child in self.all(tag)]

    def walk(self, *tags: str) -> list[Element]:
        """Elements of some tags anywhere below, in their order."""
        found = []
        for child in self.children:
            found += [child] if child.tag in tags else []
            found += child.walk(*tags)
        return found


def parse_xml(path: AnyPath) -> Element:
    """The tree of a file, without entities. Raises `GraphFileError`."""
    root = Element("")
    open_tags = [root]
    left = iter(range(MOST_TAGS))

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if next(left, None) is None:
            raise GraphFileError(f"{path}: the file has more than {MOST_TAGS} tags, the most that is read.")
        if len(open_tags) > DEEPEST:
            raise GraphFileError(f"{path}: tags lie more than {DEEPEST} deep in each other, the most that is read.")
        element = Element(tag.upper(), attributes)
        open_tags[-1].children.append(element)
        open_tags.append(element)

    def entity(*_: object) -> None:
        raise GraphFileError(f"{path}: the file declares entities, which are not read.")

    def write(text: str) -> None:
        open_tags[-1].parts.append(text)

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: open_tags.pop()
    parser.CharacterDataHandler = write
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(read_text(path), True)
    except GraphFileError:
        raise
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code) or "unknown"
        raise GraphFileError(f"{path}, line {error.lineno}: the XML is damaged ({reason}).") from None
    except ValueError as error:  # an encoding that is not known
        raise GraphFileError(f"{path}: the XML cannot be read ({error}).") from None
    return root


def read_xmlbif(path: AnyPath) -> FactorGraph:
    """Read a network; its variables and states have the file's names."""
    return xmlbif_network(path).graph()


def xmlbif_network(path: AnyPath) -> Network:
    """What the file declares."""
    root, network = parse_xml(path), Network(path)
    for variable in root.walk("VARIABLE"):
        name = next(iter(variable.texts("NAME")), "")
        network.add_variable(name, variable.texts("OUTCOME") or variable.texts("VALUE"))
    for definition in root.walk("DEFINITION", "PROBABILITY"):
        own, given = definition.texts("FOR"), definition.texts("GIVEN")
        if not own:
            raise network.error("a definition is for no variable")
        where = f'the table of "{own[0]}"'
        scope, shape = network.scope([*given, *own], where)
        numbers = [as_number(network, word, where) for text in definition.texts("TABLE") for word in text.split()]
        network.add_table(scope, network.filled(numbers, shape, where), where)
    return network


def read_xdsl(path: AnyPath) -> FactorGraph:
    """Read the chance nodes of a GeNIe network; utilities and decisions are refused."""
    return xdsl_network(path).graph()


def xdsl_network(path: AnyPath) -> Network:
    """What the file declares."""
    root, network = parse_xml(path), Network(path)
    nodes = [node for group in root.walk("NODES") for node in group.children]
    for node in nodes:
        name = node.attributes.get("id", "")
        if node.tag not in ("CPT", "DETERMINISTIC"):
            raise network.error(f'node "{name}" is of the kind {node.tag.lower()}, where cpt was expected')
        network.add_variable(name, [state.attributes.get("id", "") for state in node.all("STATE")])
    for node in nodes:
        name = node.attributes.get("id", "")
        where = f'the table of "{name}"'
        parents = " ".join(node.texts("PARENTS")).split()
        scope, shape = network.scope([*parents, name], where)
        network.add_table(scope, _xdsl_table(network, node, shape, scope[-1], where), where)
    return network


def _xdsl_table(network: Network, node: Element, shape: tuple[int, ...], own: int, where: str) -> np.ndarray:
    if node.tag == "CPT":
        numbers = [as_number(network, word, where) for text in node.texts("PROBABILITIES") for word in text.split()]
        return network.filled(numbers, shape, where)
    results = " ".join(node.texts("RESULTINGSTATES")).split()
    chosen = network.filled([network.state(own, name, where) for name in results], shape[:-1], where).astype(np.int64)
    return np.eye(shape[-1])[chosen]
