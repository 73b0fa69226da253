"""Every function of the engine that takes tensors says their shapes, in its docstring or where it has them from.

A shape is written (batch, states), or the text speaks of the shape of something, or of a scalar. Besides its own words
a function may rely on

    the method that it overrides, of a base class or of a protocol with the same parameters,
    its class, where it is `__init__`, or `forward` and `backward` of a function of autograd,
    the function that it is written inside of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.places import ROOT

ENGINE = ROOT / "mrfstudio" / "engine"
AXIS = r"[^(),\n:;]{0,40}"
SHAPE = re.compile(rf"(?<![\w\])}}])\({AXIS}(?:,{AXIS})+\)|\(…\)|\bshape[ds]?\b|\bscalars?\b", re.IGNORECASE)
TENSOR = re.compile(r"\bTensors?\b")
SPOKEN_FOR_BY_THE_CLASS = {"__init__", "forward", "backward"}


@dataclass(frozen=True, eq=False)
class Function:
    """A function where it stands."""

    place: str
    node: ast.FunctionDef
    owner: ast.ClassDef | None
    outer: ast.FunctionDef | None

    @property
    def takes_tensors(self) -> bool:
        given = self.node.args
        named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        return any(each.annotation and TENSOR.search(ast.unparse(each.annotation)) for each in named)


def says(node: ast.FunctionDef | ast.ClassDef | None) -> bool:
    return node is not None and SHAPE.search(ast.get_docstring(node) or "") is not None


def functions_in(
    node: ast.AST, place: str, owner: ast.ClassDef | None = None, outer: ast.FunctionDef | None = None
) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from functions_in(child, place, child, None)
        elif isinstance(child, ast.FunctionDef):
            yield Function(f"{place}:{child.lineno} {child.name}", child, owner, outer)
            yield from functions_in(child, place, None, child)
        else:
            yield from functions_in(child, place, owner, outer)


class Engine:
    """All functions and classes of some modules, by their text."""

    def __init__(self, texts: dict[str, str]) -> None:
        trees = {name: ast.parse(text) for name, text in texts.items()}
        self.functions = [found for name, tree in trees.items() for found in functions_in(tree, name)]
        self.classes: dict[str, list[ast.ClassDef]] = {}
        for node in (node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            self.classes.setdefault(node.name, []).append(node)
        self.promised = [
            method
            for same in self.classes.values()
            for each in same
            if "Protocol" in self.names_of_bases(each)
            for method in methods(each)
            if says(method)
        ]

    def names_of_bases(self, node: ast.ClassDef) -> list[str]:
        return [re.sub(r"\[.*", "", ast.unparse(base)).split(".")[-1] for base in node.bases]

    def bases(self, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
        for name in self.names_of_bases(node):
            for base in self.classes.get(name, []):
                yield base
                yield from self.bases(base)

    def silent(self) -> list[str]:
        """Functions that take tensors of which nobody says the shape."""
        return [each.place for each in self.functions if each.takes_tensors and not self.is_told(each)]

    def is_told(self, each: Function) -> bool:
        if says(each.node) or says(each.outer):
            return True
        if each.owner is None:
            return False
        if each.node.name in SPOKEN_FOR_BY_THE_CLASS and says(each.owner):
            return True
        inherited = [m for base in self.bases(each.owner) for m in methods(base) if m.name == each.node.name]
        kept = [m for m in self.promised if m.name == each.node.name and parameters(m) == parameters(each.node)]
        return any(says(method) for method in inherited) or bool(kept)


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef)]


def parameters(node: ast.FunctionDef) -> list[str]:
    return [each.arg for each in node.args.args]


def test_every_function_that_takes_tensors_says_their_shapes() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ENGINE.rglob("*.py"))}
    engine = Engine(texts)
    assert sum(each.takes_tensors for each in engine.functions) > 600  # or nothing was looked at
    assert engine.silent() == []


def test_a_function_without_a_shape_would_be_found() -> None:
    silent = Engine(
        {
            "a.py": '''
class Base:
    def told(self, x: Tensor):
        """Of x (N, D)."""

class Promise(Protocol):
    def kept(self, x: Tensor):
        """Of x (N,)."""

class Own(Base):
    def told(self, x: Tensor): ...
    def kept(self, x: Tensor): ...
    def alone(self, x: dict[str, Tensor]): ...
    def count(self, x: int): ...

def call(x: Tensor):
    """f(x, y) of something."""

def spoken(x: Tensor):
    """In the shape of x."""
    def inside(y: Tensor): ...
'''
        }
    ).silent()
    assert [place.split()[1] for place in silent] == ["alone", "call"]
