"""The page of the Python library, made from signatures and docstrings."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any


class Plain(str):
    """An annotation that is shown without quotes."""

    __repr__ = str.__str__


def page(module: ModuleType) -> str:
    """Every public name of a module; of classes also the members that have a docstring."""
    lines = ["# Library", "", module.__doc__ or "", ""]
    for name in module.__all__:
        value = getattr(module, name)
        lines += [f"## `mrfstudio.{name}`", "", *described(value, f"mrfstudio.{name}")]
        for member, each in vars(value).items() if inspect.isclass(value) else ():
            if isinstance(each, classmethod | staticmethod):
                each = each.__func__
            if (isinstance(each, property) or inspect.isfunction(each)) and each.__doc__ and not member.startswith("_"):
                lines += [f"### `{name}.{member}`", "", *described(each, member)]
    return "\n".join(lines)


def described(value: Any, name: str) -> list[str]:
    """The call as it is written, where there is one, and the docstring."""
    words = [inspect.getdoc(value) or "", ""]
    if isinstance(value, property) or (inspect.isclass(value) and issubclass(value, Exception)):
        return words
    call = inspect.signature(value)
    parameters = [
        each.replace(annotation=Plain(each.annotation)) if isinstance(each.annotation, str) else each
        for each in call.parameters.values()
        if each.name not in ("self", "cls")
    ]
    returns = Plain(call.return_annotation) if isinstance(call.return_annotation, str) else call.return_annotation
    shown = inspect.Signature(parameters, return_annotation=inspect.Signature.empty if returns == "None" else returns)
    return ["```python", f"{name}{shown}", "```", "", *words]
