"""Reads one case after the other in a process of its own, which may run out of memory or time.

Before each case it says which (reader and number), so that whoever watches knows what a crash came from.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from mrfstudio.bench.fuzz.reader import Reader, case
from mrfstudio.bench.fuzz.readers import all_readers

MEMORY = 512 * 2**20
"""Bytes that reading a small file may take."""
SECONDS = 2.0
"""Seconds of the processor in which it refuses, …"""
OPENING = 10.0
"""… or opens and uses it."""
HARD = 4 * 2**30
IN_MEMORY = "/dev/shm"
"""Where files never reach a disk: writing one over another there takes a hundredth of the time."""
WORTH = MEMORY // 8
SMALL = 2**20
"""Bytes of a file that counts as small: larger ones may take what they hold."""


def judged(reader: Reader, path: Path, data: bytes) -> str:
    """What is wrong with how a reader takes a file; empty where nothing is."""
    _placed(path, data)
    before, began = _peak(), time.process_time()
    refused = False
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            reader.read(path)
        except reader.errors as refusal:
            refused = True
            if "\n" in str(refusal).strip() or not str(refusal):
                return f"refuses in more than one line: {str(refusal)[:200]!r}"
        except Exception as problem:
            return f"raises {type(problem).__name__}\n{''.join(traceback.format_exception(problem))[-3000:]}"
    taken, memory = time.process_time() - began, _more_than(before)
    if memory > MEMORY and len(data) < SMALL:
        return f"takes {memory >> 20} MB"
    if taken > (SECONDS if refused else OPENING):
        return f"takes {taken:.1f} s to {'refuse' if refused else 'open'}"
    odd = [each for each in heard if issubclass(each.category, RuntimeWarning | ResourceWarning)]
    return f"warns: {odd[0].category.__name__}: {odd[0].message}" if odd else ""


def _peak() -> int:
    """The most bytes that this process had since the last time that was forgotten."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _more_than(before: int) -> int:
    """By how many bytes the peak has risen, to within WORTH, and be ready for the next case.

    A peak of an earlier case hides a later one that is lower: it is forgotten as soon as it is worth mentioning. That
    is seldom, and asking the system to forget takes as long as reading a file.
    """
    risen = _peak() - before
    if risen > WORTH:
        with suppress(OSError):  # not Linux, or not allowed: the peak is then that of all cases
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return risen


def kind_of(finding: str) -> str:
    """What stays the same while a file is made smaller: the first line, without its numbers."""
    first = finding.splitlines()[0]
    return " ".join(word for word in first.split()[:3] if not any(c.isdigit() for c in word))


def shrunk(reader: Reader, path: Path, data: bytes, finding: str, tries: int = 200) -> bytes:
    """A smaller file with the same finding."""
    size = len(data) // 2
    while size >= 1 and tries > 0:
        at = 0
        while at < len(data) and tries > 0:
            smaller, tries = data[:at] + data[at + size :], tries - 1
            if kind_of(judged(reader, path, smaller) or "nothing") == kind_of(finding):
                data = smaller
            else:
                at += size
        size //= 2
    return data


def main() -> None:
    """Lines in and out are JSON: `{reader, first, count}` reads cases, `{reader, make, to}` writes one to a file, and
    `{reader, file, finding}` makes one smaller."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None) as made:
        resource.setrlimit(resource.RLIMIT_DATA, (HARD, HARD))
        readers = {each.title: each for each in all_readers(Path(made))}
        seeds = {title: each.seeds() for title, each in readers.items()}
        for title, each in readers.items():
            for seed in seeds[title]:
                try:
                    each.read(_placed(Path(made) / title.replace(" ", "-") / each.name, seed))
                except each.errors as refusal:
                    print(json.dumps({"seed": title, "finding": str(refusal)}), flush=True)
        _tell({"readers": list(readers)})
        for line in sys.stdin:
            asked = json.loads(line)
            reader = readers[asked["reader"]]
            path = Path(made) / reader.title.replace(" ", "-") / reader.name
            if "make" in asked:
                Path(asked["to"]).write_bytes(case(reader, seeds[reader.title], asked["make"]))
                _tell({"made": asked["make"]})
                continue
            if "file" in asked:
                smaller = shrunk(reader, path, Path(asked["file"]).read_bytes(), asked["finding"])
                Path(asked["file"]).with_suffix(".small").write_bytes(smaller)
                _tell({"shrunk": len(smaller)})
                continue
            began = time.process_time()
            for number in range(asked["first"], asked["first"] + asked["count"]):
                data = case(reader, seeds[reader.title], number)
                _tell({"case": number})
                finding = judged(reader, path, data)
                if finding:
                    _tell({"finding": finding, "number": number})
            _tell({"done": time.process_time() - began})


def _placed(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _tell(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main()
