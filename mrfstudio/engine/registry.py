"""What the studio can be extended with: algorithms, models, learners, data sets, workspaces, and what families add.

A folder declares in its `__init__.py` which names it brings, as plain words, and its modules register the classes:

    ALGORITHMS = ("mine",)                  # in the folder's __init__.py: read without loading torch
    @ALGORITHMS.register                    # in any module of the folder
    class Mine(Algorithm): name = "mine"

Folders are found below `mrfstudio.engine` by walking its packages, and in other distributions by entry points of the
groups `mrfstudio.algorithms`, `.models`, `.learners` and `.data`, whose value is a package or a module.
Asking for a name imports the modules of its folder and nothing else.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from mrfstudio.engine.protocol.catalogue import Catalogue, Parameters, UnknownName, ending


class Named(Protocol):
    """What is registered: a class with a name."""

    name: ClassVar[str]


P = TypeVar("P", bound=Named)
C = TypeVar("C", bound=type[Named])
T = TypeVar("T")

if TYPE_CHECKING:
    from mrfstudio.engine.families.plan import ModelPlan
    from mrfstudio.engine.workspaces.service import Service

HOUSE = "mrfstudio.engine"

log = logging.getLogger(__name__)


class Registry(Generic[P]):
    """Classes by name. Names are known from folders' declarations; classes are imported when they are asked for."""

    def __init__(self, noun: str, declared: str, group: str, module: str = "") -> None:
        """`declared` is the name of the tuple in a folder's `__init__.py`, `group` that of the entry points.

        `module` is the one module of a folder that registers; empty: any may.
        """
        self.noun, self.declared, self.group, self.module = noun, declared, group, module
        self.broken: dict[str, str] = {}
        """Entries of other packages that could not be loaded, and why."""
        self._entries: dict[str, type[P]] = {}
        self._folders: dict[str, str] | None = None
        self._tried: set[str] = set()

    def register(self, cls: C) -> C:
        """Class decorator: `@ALGORITHMS.register`."""
        known = self._entries.get(cls.name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"two {self.noun}s are called {cls.name!r}")
        self._entries[cls.name] = cls  # type: ignore[assignment]
        return cls

    @property
    def folders(self) -> dict[str, str]:
        """Which package or module brings each name."""
        if self._folders is None:
            self._folders = {name: folder for folder in _packages() for name in self._declared_in(folder)}
            for entry in entry_points(group=self.group):
                if entry.name in self._folders:
                    # Not under the name alone: that one is fine.
                    self._leave_out(f"{entry.name} of {entry.value}", f"there is a {self.noun} of this name already")
                else:
                    self._folders[entry.name] = entry.value
        return self._folders

    def _declared_in(self, folder: str) -> tuple[str, ...]:
        names: tuple[str, ...] = vars(importlib.import_module(folder)).get(self.declared, ())
        return names

    def names(self) -> list[str]:
        """Every name in order; nothing is imported but the folders' declarations."""
        return sorted(self.folders.keys() - self.broken.keys() | self._entries.keys())

    def __getitem__(self, name: str) -> type[P]:
        # Even where the class is known: another family may have imported it alone, without its kernels and looks.
        if name in self.folders:
            self._load(name)
        if name not in self._entries:
            why = f" ({name} could not be loaded: {self.broken[name]})" if name in self.broken else ""
            names = self.names()
            raise UnknownName(f"There is no {self.noun} {name!r}{why}{ending(name, names)} Known: {', '.join(names)}.")
        return self._entries[name]

    def __iter__(self) -> Iterator[type[P]]:
        for name in self.names():
            try:
                yield self[name]
            except UnknownName:
                if name not in self.broken:
                    raise

    def load_all(self) -> None:
        """Import everything."""
        for _ in self:
            pass

    def _load(self, name: str) -> None:
        folder = self.folders[name] + (f".{self.module}" if self.module else "")
        if folder.startswith(HOUSE):
            load_folder(folder)
            return
        if name in self._tried:
            return
        self._tried.add(name)
        try:  # what somebody else wrote must not keep the studio from starting
            load_folder(folder)
            if name not in self._entries:
                raise ImportError(f"{folder} registers no {self.noun} {name!r}")
        except Exception as problem:
            self._entries.pop(name, None)  # half a folder is none
            self._leave_out(name, f"{type(problem).__name__}: {problem}")

    def _leave_out(self, name: str, why: str) -> None:
        log.warning("The %s %r of another package was left out: %s", self.noun, name, why)
        self.broken[name] = why


class Parts(Generic[T]):
    """One thing that families say of their models, such as how they are evaluated; by kind of model.

    A family registers it in any module of its folder: `@evaluation("rbm", "dbm")`.
    """

    def __init__(self, module: str = "") -> None:
        """`module` is the one module of a folder here that may register it; empty: any may."""
        self.module = module
        self._found: dict[str, T] = {}

    def register(self, *kinds: str) -> Callable[[T], T]:
        """Decorator."""

        def keep(value: T) -> T:
            for kind in kinds:
                if _origin(self._found.get(kind, value)) != _origin(value):
                    raise ValueError(f"two families say the same of models of kind {kind!r}")
                self._found[kind] = value
            return value

        return keep

    def of(self, model: Any) -> T | None:
        """What the model's family says, or None."""
        load_family(type(model))
        return self._found.get(getattr(model, "kind", ""))

    def __getitem__(self, kind: str) -> T:
        """What was registered for a kind; one of `kinds`."""
        return self._found[kind]

    def knows(self, kind: str) -> bool:
        """Whether models of a kind have this; imports the folder of that kind alone, and only where it may be there."""
        folder = MODELS.folders.get(kind, "")
        if self.module and folder.startswith(HOUSE) and find_spec(f"{folder}.{self.module}") is None:
            return False
        if kind in MODELS.names():
            with suppress(UnknownName):  # of another package, and broken: it was named when it was left out
                MODELS[kind]
        return kind in self._found and kind not in MODELS.broken

    def kinds(self) -> tuple[str, ...]:
        """The kinds of models that have this."""
        MODELS.load_all()
        return tuple(sorted(self._found.keys() - MODELS.broken.keys()))


def _origin(value: Any) -> tuple[str, str]:
    """Where something was written: the same class or function imported twice is no second one."""
    written = value if hasattr(value, "__qualname__") else type(value)
    return written.__module__, written.__qualname__


def load_family(model: type) -> None:
    """Import every module of the folders that a class and its bases are defined in: kernels, training, looks."""
    home = model.__module__.partition(".")[0]
    for base in model.__mro__:
        if base.__module__.partition(".")[0] in (home, "mrfstudio"):
            load_folder(base.__module__.rpartition(".")[0] or base.__module__)


@cache
def load_folder(name: str) -> None:
    """Import all modules of a package, but not those of packages in it; or one module."""
    package = importlib.import_module(name)
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        if not module.ispkg:
            importlib.import_module(f"{name}.{module.name}")


@cache
def _packages() -> tuple[str, ...]:
    """Every package below the engine."""
    root = importlib.import_module(HOUSE)
    return tuple(m.name for m in pkgutil.walk_packages(root.__path__, f"{HOUSE}.") if m.ispkg)


ALGORITHMS: Registry[Parameters] = Registry("algorithm", "ALGORITHMS", "mrfstudio.algorithms")
MODELS: Registry[ModelPlan] = Registry("model", "MODELS", "mrfstudio.models")
LEARNERS: Registry[Parameters] = Registry("learner", "LEARNERS", "mrfstudio.learners")
DATASETS: Registry[Parameters] = Registry("data set", "DATASETS", "mrfstudio.data")
SERVICES: Registry[Service] = Registry("workspace", "WORKSPACES", "mrfstudio.workspaces", module="service")


def catalogue() -> Catalogue:
    """Everything registered, as plain descriptions for the window."""
    return Catalogue(
        algorithms=tuple(cls.entry() for cls in ALGORITHMS),
        models=tuple(cls.entry() for cls in MODELS),
        learners=tuple(cls.entry() for cls in LEARNERS),
        datasets=tuple(cls.entry() for cls in DATASETS),
    )
