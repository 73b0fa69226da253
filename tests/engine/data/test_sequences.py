"""Sequences from text files and .ts files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.data.dataset import DataError
from mrfstudio.engine.data.sequences import Sequences, read_ts
from mrfstudio.engine.data.text import LETTERS, Text

TS = """# a comment
@problemName Small
@univariate false
@classLabel true one two
@data
1,2,3:4,5,6:one
7,8:9,10:two
1,1,1,1:2,2,2,2:one
"""


def test_letters_are_cut_into_lines(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("Ab, c!\n" * 40)
    splits = Text(length=5).open(path)
    rows = np.concatenate([splits[split]["x"] for split in splits])
    spelled = {"".join(LETTERS[n] for n in row) for row in rows}
    assert "ab c " in spelled
    assert splits["train"]["lengths"].tolist() == [5] * len(splits["train"]["x"])
    assert splits.constants["symbols"].tolist() == list(LETTERS)


def test_sentences_keep_common_words_and_an_end(tmp_path: Path) -> None:
    path = tmp_path / "fortunes"
    path.write_text("The cat is here.  It is\nmy very own cat\n%\nNothing.\n%\nA rare word is a rare joy\n%\n" * 10)
    splits = Text(unit="words", vocabulary=3, shortest=3).open(path)
    symbols = splits.constants["symbols"].tolist()
    assert symbols[:2] == [".", "?"]
    assert set(symbols[2:]) == {"is", "cat", "a"} or set(symbols[2:]) <= {"is", "cat", "a", "rare"}
    rows, lengths = splits["train"]["x"], splits["train"]["lengths"]
    assert all(row[length - 1] == 0 for row, length in zip(rows, lengths, strict=True))
    assert all((row[length:] == -1).all() for row, length in zip(rows, lengths, strict=True))
    assert {int(length) for length in lengths} <= {5, 7, 8}


def test_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(b"\x89PNG\0\0\0")
    with pytest.raises(DataError, match="zero bytes"):
        Text().open(path)
    path.write_text("too short")
    with pytest.raises(DataError, match="at least 10"):
        Text().open(path)


def test_ts_files_have_dimensions_between_colons(tmp_path: Path) -> None:
    path = tmp_path / "Small_TRAIN.ts"
    path.write_text(TS)
    rows, labels = read_ts(path)
    assert [row.shape for row in rows] == [(3, 2), (2, 2), (4, 2)]
    assert labels == ["one", "two", "one"]
    assert rows[0].tolist() == [[1, 4], [2, 5], [3, 6]]
    (tmp_path / "Small_TEST.ts").write_text(TS)
    splits = Sequences().open(path)
    frames = np.concatenate([row[:n] for row, n in zip(splits["train"]["x"], splits["train"]["lengths"], strict=True)])
    assert np.abs(frames.mean(0)).max() < 1e-6
    assert np.abs(frames.std(0) - 1).max() < 1e-6
    assert np.isnan(splits["train"]["x"][1, 2:]).all()
    assert len(Sequences(only="two").open(path)["test"]["x"]) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [("1,2:3:one", "length"), ("1,x:3,4:one", "numbers"), ("1,?:3,4:one", "numbers"), ("1,nan:3,4:one", "missing")],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.ts"
    path.write_text(TS + line + "\n")
    with pytest.raises(DataError, match=f"line 9.*{said}"):
        Sequences().open(path)


def test_one_long_sequence_among_many_short_ones_is_refused_before_all_are_padded(tmp_path: Path) -> None:
    """20,000 sequences of one number and one of 200,000 would take 15 GB at one length."""
    path = tmp_path / "a.ts"
    path.write_text("@classLabel true a\n@data\n" + "1:a\n" * 20_000 + ",".join(["1"] * 200_000) + ":a\n")
    with pytest.raises(DataError, match="one of 20001 sequences has 200000 numbers"):
        Sequences().open(path)
