"""The four registries: algorithms, models, learners, data sets.

To add one, write one file with a decorated class in the matching package; `load_all` imports every module there.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Generic, TypeVar

from mrfstudio.engine.catalogue import Catalogue, Parameters, UnknownName, ending

P = TypeVar("P", bound=Parameters)
C = TypeVar("C", bound=type[Parameters])


class Registry(Generic[P]):
    """Classes by name. `package` is imported on first use, so that one new file is a new entry."""

    def __init__(self, noun: str, package: str) -> None:
        self.noun = noun
        self.package = package
        self._entries: dict[str, type[P]] = {}
        self._loaded = False

    def register(self, cls: C) -> C:
        """Class decorator: `@ALGORITHMS.register`."""
        known = self._entries.get(cls.name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"two {self.noun}s are called {cls.name!r}")
        self._entries[cls.name] = cls  # type: ignore[assignment]
        return cls

    def load_all(self) -> None:
        """Import every module of the package once."""
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")

    def names(self) -> list[str]:
        self.load_all()
        return sorted(self._entries)

    def __getitem__(self, name: str) -> type[P]:
        if name not in self._entries:
            self.load_all()  # only where it is needed: the whole package takes its time
        if name not in self._entries:
            names = ", ".join(self.names())
            raise UnknownName(f"There is no {self.noun} {name!r}{ending(name, self._entries)} Known: {names}.")
        return self._entries[name]

    def __iter__(self) -> Iterator[type[P]]:
        return (self._entries[name] for name in self.names())


ALGORITHMS: Registry[Parameters] = Registry("algorithm", "mrfstudio.engine.inference")
MODELS: Registry[Parameters] = Registry("model", "mrfstudio.engine.models")
LEARNERS: Registry[Parameters] = Registry("learner", "mrfstudio.engine.learning")
DATASETS: Registry[Parameters] = Registry("data set", "mrfstudio.engine.data")


def catalogue() -> Catalogue:
    """Everything registered, as plain descriptions for the window."""
    return Catalogue(
        algorithms=tuple(cls.entry() for cls in ALGORITHMS),
        models=tuple(cls.entry() for cls in MODELS),
        learners=tuple(cls.entry() for cls in LEARNERS),
        datasets=tuple(cls.entry() for cls in DATASETS),
    )
