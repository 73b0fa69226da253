"""Sequences of vectors in `.ts` files, the text format of the UCR and UEA archives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits
from mrfstudio.engine.data.text import read_text
from mrfstudio.engine.protocol.catalogue import flag, text
from mrfstudio.engine.registry import DATASETS

LARGEST = 1e18
"""Of values whose squares 32 bits still hold."""
UNSUSPECTED = 1 << 25
"""Numbers that sequences may take together when all are as long as the longest, …"""
SPARSEST = 20
"""… or so many times those in the file."""


@DATASETS.register
class Sequences(Dataset):
    """A file NAME_TRAIN.ts brings NAME_TEST.ts with it, where that lies beside it; else a fifth is held out to test."""

    name = "sequences"
    title = "Sequences of vectors"
    summary = "A .ts file: one sequence a line, dimensions between colons, numbers between commas, the class last."
    path_text = "FILE.ts"
    yields = "x (N, T, D) float32, NaN after the end; lengths (N,) int64; label (N,) int64; constants classes"

    only: str = text("", "The class to keep, by its name; empty keeps all.")
    standardise: bool = flag(True, "Bring each dimension to mean 0 and deviation 1 of all training vectors.")

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        path = self.located(path)
        train, labels = read_ts(path)
        beside = path.with_name(path.name.replace("_TRAIN", "_TEST"))
        if beside != path and beside.exists():
            test, test_labels = read_ts(beside)
        else:
            cut = len(train) - max(1, len(train) // 5)
            test, test_labels, train, labels = train[cut:], labels[cut:], train[:cut], labels[:cut]
        classes = sorted(set(labels) | set(test_labels))
        if self.only and self.only not in classes:
            raise DataError(f"{path} has no class {self.only!r}: it has {', '.join(classes)}.")
        frames = np.concatenate(train)
        mean, deviation = frames.mean(0), np.maximum(frames.std(0), 1e-9)
        shift, scale = (mean, deviation) if self.standardise else (np.zeros_like(mean), np.ones_like(mean))
        parts = {}
        for split, rows, names in (("train", train, labels), ("test", test, test_labels)):
            kept = [number for number, name in enumerate(names) if self.only in ("", name)]
            if kept:
                parts[split] = _padded(
                    [(rows[n] - shift) / scale for n in kept], [classes.index(names[n]) for n in kept]
                )
        return Splits(parts, {"classes": np.array(classes), "mean": shift, "deviation": scale})


def read_ts(path: Path) -> tuple[list[Array], list[str]]:
    """Sequences (T, D) and the class of each; all have the same dimensions, of one length within a sequence."""
    found: list[Array] = []
    labels: list[str] = []
    begun, classed = False, True
    for number, line in enumerate(read_text(path).splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if not begun:
            words = line.lower().split()
            begun = words[0] == "@data"
            if words[0] in ("@classlabel", "@targetlabel") and len(words) > 1:
                classed = words[1] == "true"
            continue
        fields = line.split(":")
        label = fields.pop() if classed else ""
        lengths = {field.count(",") for field in fields}
        try:
            values = np.array([float(value) for value in ",".join(fields).split(",")])
        except ValueError:
            raise DataError(
                f"{path}, line {number}: expected numbers between commas, dimensions between colons."
            ) from None
        if len(lengths) != 1 or (found and len(fields) != found[0].shape[1]):
            raise DataError(f"{path}, line {number}: its dimensions differ from those before, or in length.")
        if not (np.abs(values) <= LARGEST).all():
            raise DataError(f"{path}, line {number}: a value is missing, not finite or beyond {LARGEST:g}.")
        found.append(values.reshape(len(fields), -1).T)
        labels.append(label.strip())
    if len(found) < 2:
        raise DataError(f"{path} holds {len(found)} sequences after @data: expected a .ts file with several.")
    longest, there = max(row.size for row in found), sum(row.size for row in found)
    if len(found) * longest > max(UNSUSPECTED, SPARSEST * there):
        raise DataError(
            f"{path}: one of {len(found)} sequences has {longest} numbers, where {there // len(found)} are the mean: "
            f"brought to one length they would take {len(found) * longest >> 18} MB."
        )
    return found, labels


def _padded(rows: list[Array], labels: list[int]) -> dict[str, Array]:
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    x = np.full((len(rows), int(lengths.max()), rows[0].shape[1]), np.nan, dtype=np.float32)
    for number, row in enumerate(rows):
        x[number, : len(row)] = row
    return {"x": x, "lengths": lengths, "label": np.array(labels, dtype=np.int64)}
