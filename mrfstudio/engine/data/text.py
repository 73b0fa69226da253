"""Sequences of letters or words from any text file, fortunes with their % lines included."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits
from mrfstudio.engine.protocol.catalogue import choice, integer
from mrfstudio.engine.registry import DATASETS

LETTERS = " abcdefghijklmnopqrstuvwxyz"
UNKNOWN, END = "?", "."
LARGEST_FILE = 200_000_000
_SPLIT_SEED = 0  # the same lines validate and test whoever asks


@DATASETS.register
class Text(Dataset):
    """Letters: a to z and space, in lines of one length. Words: sentences with an end mark, rare words as `?`."""

    name = "text"
    title = "Text file"
    summary = "Letters or words of a text file that you give; lines with a single % end a saying, as in fortunes."
    path_text = "FILE.txt"
    yields = "x (N, T) int64, lengths (N,) int64; constants symbols (V,) and unit"

    unit: str = choice("letters", ("letters", "words"), "What a column is.")
    length: int = integer(32, "Letters in a line, or words at most in a sentence.", low=2, high=10_000)
    shortest: int = integer(4, "Words at least in a sentence.", low=1, advanced=True)
    vocabulary: int = integer(1000, "Words that are told apart; all rarer ones are one.", low=2, high=1_000_000)
    most: int = integer(0, "Lines or sentences at most, from the front; 0 takes all.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        whole = read_text(self.located(path))
        if self.unit == "letters":
            rows, symbols = self._lines(whole), list(LETTERS)
        else:
            rows, symbols = self._sentences(whole)
        rows = rows[: self.most or None]
        if len(rows) < 10:
            raise DataError(f"{path} has {len(rows)} {self._noun} of this length: expected at least 10.")
        order = np.random.default_rng(_SPLIT_SEED).permutation(len(rows))
        tenth = max(1, len(rows) // 10)
        parts = {"train": order[2 * tenth :], "val": order[tenth : 2 * tenth], "test": order[:tenth]}
        return Splits(
            {split: _padded([rows[number] for number in chosen]) for split, chosen in parts.items()},
            {"symbols": np.array(symbols), "unit": np.array(self.unit)},
        )

    @property
    def _noun(self) -> str:
        return "lines" if self.unit == "letters" else "sentences"

    def _lines(self, whole: str) -> list[list[int]]:
        """The letters of the whole text cut into lines; everything else is one space."""
        kept = re.sub(r"[^a-z]+", " ", whole.lower()).strip()
        numbers = [LETTERS.index(letter) for letter in kept]
        return [numbers[start : start + self.length] for start in range(0, len(numbers) - self.length + 1, self.length)]

    def _sentences(self, whole: str) -> tuple[list[list[int]], list[str]]:
        """Sentences as numbers of words, each with an end mark; and the words, the most frequent first."""
        pieces = re.split(r"[.!?;]+[\s\"')]|\n%\n|\n\s*\n", whole.lower())
        sentences = [re.findall(r"[a-z]+(?:'[a-z]+)?", piece) for piece in pieces]
        sentences = [words for words in sentences if self.shortest <= len(words) <= self.length]
        counts = Counter(word for words in sentences for word in words)
        # By number, then by the alphabet, so that a tie falls the same way everywhere.
        common = sorted(counts, key=lambda word: (-counts[word], word))[: self.vocabulary]
        symbols = [END, UNKNOWN, *common]
        place = {word: number for number, word in enumerate(symbols)}
        return [[*(place.get(word, 1) for word in words), 0] for words in sentences], symbols


def read_text(path: Path) -> str:
    """A text file, UTF-8 or Latin-1."""
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected a text file.")
    if path.stat().st_size > LARGEST_FILE:
        raise DataError(f"{path} has {path.stat().st_size:,} bytes: expected at most {LARGEST_FILE:,}.")
    raw = path.read_bytes()
    if b"\0" in raw[:4096]:
        raise DataError(f"{path} is no text file: it holds zero bytes.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _padded(rows: list[list[int]]) -> dict[str, Array]:
    """Rows of different lengths as one array, filled up with -1."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    x = np.full((len(rows), int(lengths.max())), -1, dtype=np.int64)
    for number, row in enumerate(rows):
        x[number, : len(row)] = row
    return {"x": x, "lengths": lengths}
