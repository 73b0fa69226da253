"""What `mrfstudio data` does: plain functions with plain results, for the command line, the window and notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits, dataset_class, parse_data
from mrfstudio.engine.data.drawn.generated import Generated
from mrfstudio.engine.data.fetch import ADDRESS, DOWNLOADS, data_folder, download, fetched
from mrfstudio.engine.data.pictures.border_noise import DELETION, SPURIOUS_EDGES
from mrfstudio.engine.data.pictures.border_ownership import BorderOwnership, make_border
from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.protocol.catalogue import ending
from mrfstudio.engine.registry import DATASETS

DEFAULT_SOURCE = "glyphs"
DEFAULT_COUNT = 10_000
LARGEST_HOLD_OUT = 2000


@dataclass(frozen=True)
class Listed:
    """One line of `data list`."""

    name: str
    title: str
    summary: str
    spelling: str
    """How `--data` names it."""
    yields: str
    generated: bool
    """Whether it can be had without any file."""
    files: dict[str, str | None]
    """What `data fetch` can get for it, and where that lies if it has been fetched."""


def list_data() -> list[Listed]:
    """All data sets, in alphabetical order."""
    lines = []
    for name in DATASETS.names():
        kind = dataset_class(name)
        files = {key: str(fetched(key) or "") or None for key, file in DOWNLOADS.items() if file.dataset == name}
        generated = kind.path != "required"
        lines.append(Listed(name, kind.title, kind.summary, kind.spelling(), kind.yields, generated, files))
    return lines


def fetch_data(
    name: str, out: str | Path | None = None, *, workers: int = 0, progress: Progress | None = None, **parameters: Any
) -> Path:
    """Make a generated data set or download a known file, and say where it lies.

    The file is `out`, or lies in the data folder; `border:FILE` or `silhouettes:FILE` reads generated ones.
    """
    generated = [kind for kind in DATASETS if issubclass(kind, Dataset) and kind.path != "required"]
    names = [kind.name for kind in generated]
    if name in DOWNLOADS:
        return download(name, _target(out) if out is not None else None, progress)
    if name not in names:
        known = [*names, *DOWNLOADS]
        end = ending(name, known)
        raise DataError(f"There is nothing called {name!r} to fetch{end} Known: {', '.join(known)}.")
    target = _target(out) if out is not None else data_folder() / f"{name}.npz"
    if out is None:
        target.parent.mkdir(parents=True, exist_ok=True)
    splits = dataset_class(name)(**parameters).open(workers=workers, progress=progress)
    _save(splits, target)
    return target


def make_border_file(
    out: str | Path,
    source: str = DEFAULT_SOURCE,
    *,
    count: int | None = None,
    validation: int | None = None,
    test: int | None = None,
    seed: int = 0,
    spurious: int = SPURIOUS_EDGES,
    deletion: float = DELETION,
    workers: int = 0,
    progress: Progress | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """`data make border --from SOURCE --count N --seed S --out FILE`; the result is ready for JSON.

    `count` images train; None takes all of a file, or 10,000 generated ones. `parameters` are those of the source.
    With more than one worker (0 chooses) a script needs the usual `if __name__ == "__main__":` around its calls.
    """
    noise: dict[str, Any] = {"seed": seed, "spurious": spurious, "deletion": deletion}
    noise = {name: BorderOwnership(**noise).values()[name] for name in noise}  # one place says what is allowed
    target = _target(out)
    choice = parse_data(source)
    limits = {"train": count, "val": validation, "test": test}
    for split, limit in limits.items():
        least = int(split == "train")
        if limit is not None and limit < least:
            raise DataError(f"{limit} images were asked for as {split} split: expected at least {least}.")
    dataset = choice.dataset(**{**_source_sizes(choice.dataset, limits, seed), **parameters})
    splits = dataset.open(choice.path, workers=workers, progress=progress)
    figures = _figures(dataset, splits, limits, source)
    # Drawing has already reported; a second bar from 0 would only puzzle.
    noise_progress = None if isinstance(dataset, Generated) else progress
    data = make_border(figures, workers=workers, progress=noise_progress, **noise)
    data.save(target)
    probabilities = [float(p) for p in data.p_contour]
    return {"file": str(target), "source": source, "seed": seed, "images": data.sizes, "p_contour": probabilities}


def _figures(dataset: Dataset, splits: Splits, limits: dict[str, int | None], source: str) -> dict[str, Array]:
    """The silhouettes (N, h, w) of each split, as many as were asked for."""
    figures = {}
    for split, available in splits.sizes.items():
        limit = limits[split]
        if limit is not None and limit > available:
            hint = ", or for no validation images" if split == "train" and "val" in splits else ""
            given = f"{source} has {available} images in its {split} split, but {limit} were asked for"
            raise DataError(f"{given}: ask for fewer{hint}.")
        if limit != 0:
            figures[split] = dataset.figures({name: array[:limit] for name, array in splits[split].items()})
    return figures


def _source_sizes(kind: type[Dataset], limits: dict[str, int | None], seed: int) -> dict[str, Any]:
    """How many images a source should open: generated ones draw exactly what is needed."""
    if not issubclass(kind, Generated):
        known = {field.name: field.kind for field in kind.fields()}
        keep = limits["val"] is not None and known.get("validation") == "integer"
        return {"validation": limits["val"]} if keep else {}
    count = limits["train"] or DEFAULT_COUNT
    held_out = min(max(count // 10, 1), LARGEST_HOLD_OUT)
    sizes = {"validation": limits["val"], "test": limits["test"]}
    return {"count": count, "seed": seed, **{k: held_out if v is None else v for k, v in sizes.items()}}


def _target(out: str | Path) -> Path:
    target = Path(out).expanduser()
    if target.is_dir() or not target.parent.is_dir():
        problem = "is a folder" if target.is_dir() else "lies in a folder that does not exist"
        raise DataError(f"{target} {problem}: expected the path of a new npz file.")
    return target


def _save(splits: Any, target: Path) -> None:
    if hasattr(splits, "save"):
        splits.save(target)
        return
    parts = [splits[split] for split in splits]
    together = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if "images" in together:  # as files of pictures have them
        pictures = together.pop("images")
        together["x"] = np.rint(pictures * 255) if pictures.dtype.kind == "f" else pictures
        together["x"] = together["x"].astype(np.uint8)
    if "classes" in together:
        together["y"] = together.pop("classes")
    arrays = {**together, **splits.constants}
    with atomic_path(target) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **arrays)


__all__ = ["ADDRESS", "Listed", "fetch_data", "list_data", "make_border_file"]
