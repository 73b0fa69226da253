"""What a data set is, and how a command line names one.

A data set is one file in this package with one registered class. Its parameters are declared like any others; `open`
turns them and a path into splits. To add one, copy the smallest file here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.protocol.catalogue import Parameters, ending
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import DATASETS

SPLITS = ("train", "val", "test")

Array = NDArray[Any]
Progress = Callable[[int, int], None]
"""Called with (done, total) while something is made."""


class DataError(StudioError):
    """Data that cannot be read, made or found. The message is one sentence for a person."""


@dataclass(frozen=True)
class Splits:
    """Arrays by split and name, such as `splits["train"]["images"]`; in one split they all have the same length."""

    parts: Mapping[str, Mapping[str, Array]]
    constants: Mapping[str, Array] = field(default_factory=dict)

    def __getitem__(self, split: str) -> Mapping[str, Array]:
        if split not in self.parts:
            raise DataError(f"This data has no {split!r} split: expected one of {', '.join(self.parts)}.")
        return self.parts[split]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __contains__(self, split: object) -> bool:
        return split in self.parts

    @property
    def sizes(self) -> dict[str, int]:
        """How many rows each split has."""
        return {split: len(next(iter(arrays.values()))) for split, arrays in self.parts.items()}


class Dataset(Parameters):
    """Base of every data set. Subclasses give `name`, `title`, `summary` and what follows, and register themselves."""

    path: ClassVar[Literal["none", "optional", "required"]] = "required"
    """Whether the data lie in a file or folder, are generated, or either."""
    path_text: ClassVar[str] = "FILE.npz"
    """How the path is written in help, such as FILE.npz or FOLDER."""
    yields: ClassVar[str] = ""
    """The arrays of a split, with shapes and types, in one line."""
    picture_shape: ClassVar[tuple[int, int] | None] = None
    """Height and width of `images`, for data sets whose pictures all have one size."""
    grey: ClassVar[bool] = True
    """Whether these pictures have grey levels; False where they are black and white."""

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        """Read or make the splits. `workers` and `progress` matter only where something is made."""
        raise NotImplementedError

    def located(self, path: Path | None) -> Path:
        """The path given, or else the fetched file, for data sets that lie in a file."""
        from mrfstudio.engine.data.fetch import fetched  # fetch knows all data sets; this is its one way back

        found = path or fetched(self.name)
        if found is None:
            remedy = f"write {self.spelling()}, or fetch it with `mrfstudio data fetch {self.name}`"
            raise DataError(f"The data set {self.name!r} needs a path: {remedy}.")
        return Path(found)

    def figures(self, arrays: Mapping[str, Array]) -> NDArray[np.bool_]:
        """The silhouettes (N, h, w) in the arrays of one split, for data sets that have some."""
        raise DataError(f"The data set {self.name!r} holds no silhouettes: try glyphs, shapes or mnist:FILE.npz.")

    @classmethod
    def spelling(cls) -> str:
        """How the command line names this data set: `faces`, `mnist:FILE.npz` or `border[:FILE.npz]`."""
        return cls.name + {"none": "", "optional": f"[:{cls.path_text}]", "required": f":{cls.path_text}"}[cls.path]


@dataclass(frozen=True)
class DataChoice:
    """What `NAME[:PATH]` means: a data set and where it lies."""

    dataset: type[Dataset]
    path: Path | None

    def open(self, *, workers: int = 1, progress: Progress | None = None, **parameters: Any) -> Splits:
        """Open the data set with these parameters."""
        return self.dataset(**parameters).open(self.path, workers=workers, progress=progress)


def parse_data(text: str) -> DataChoice:
    """Read `NAME` or `NAME:PATH`; only the first colon counts, so that paths may hold others."""
    name, colon, rest = text.partition(":")
    names = DATASETS.names()
    if name not in names:
        hint = ""
        if not colon and Path(text).exists():
            hint = f"; a path follows a name, as in border:{text}"
        known = ", ".join(dataset_class(n).spelling() for n in names)
        end = hint + "." if hint else ending(name, names)
        raise DataError(f"There is no data set {name!r}{end} Known: {known}.")
    dataset = dataset_class(name)
    if dataset.path == "none" and colon:
        raise DataError(f"The data set {name!r} is generated and takes no path, but {rest!r} was given.")
    path = Path(rest).expanduser() if rest else None
    if path is not None and not path.exists():
        raise DataError(f"{path} does not exist: {dataset.spelling()} needs an existing file or folder.")
    if dataset.path == "required":
        path = dataset().located(path)
    return DataChoice(dataset, path)


def dataset_class(name: str) -> type[Dataset]:
    """The registered data set of this name."""
    found = DATASETS[name]
    assert issubclass(found, Dataset)
    return found


def hold_out(train: Mapping[str, Array], count: int) -> dict[str, Mapping[str, Array]]:
    """Training arrays with their last `count` rows as validation split; none of them if `count` is 0."""
    rows = len(next(iter(train.values())))
    if not 0 <= count < rows:
        raise DataError(f"{count} validation rows were asked for, but there are {rows} to train with: expected fewer.")
    if count == 0:
        return {"train": train}
    kept = rows - count
    return {
        "train": {name: array[:kept] for name, array in train.items()},
        "val": {name: array[kept:] for name, array in train.items()},
    }
