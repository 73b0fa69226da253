"""One command on every file of a folder: which files, which of them are done, and how their work is shared out.

An item is done when its files are there, the JSON with the key of what it was made from: the command's options and
the bytes of every file it reads. So a batch that was killed goes on where it was, another option, a changed picture or
a model trained anew computes again, and the answer of an item depends neither on the number of workers nor on the
shard. Where folders lie is not part of the key: they may be moved.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.workers import process_pool

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".pgm", ".ppm")
GRAPHS = (".uai", ".fg", ".bif", ".xmlbif", ".xml", ".xdsl")
READS = {
    "segment": PICTURES,
    "inpaint": PICTURES,
    "infer": (*GRAPHS, *(f"{ending}.gz" for ending in GRAPHS)),
}
"""What each command takes from a folder."""
PARTNERS = ("--scribbles", "--mask", "--evidence", "--priors", "--edge-alphas")
"""Options whose value may be a folder, with a file of the item's own name in it."""
WRITES = ("--cutout",)
"""Options whose value is a folder to write into, a picture with the item's name each."""
TRIES = 2  # alone, of an item that was under way when a process died
CONNECT_SECONDS = 10.0


@dataclass(frozen=True)
class BatchItem:
    """The words of one command, the JSON file of its answer, and the key of what it is made from. Plain strings.

    `pictures` are the other files that it writes.
    """

    name: str
    words: tuple[str, ...]
    answer: str
    key: str
    pictures: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        try:
            found = json.loads(Path(self.answer).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        written = all(Path(picture).is_file() for picture in self.pictures)
        return written and isinstance(found, dict) and found.get("key") == self.key


Work = Callable[[BatchItem], str]
"""Computes an item and writes its answers; returns an empty string, or why it could not."""


def batch_items(command: str, folder: Path, out: Path, options: Sequence[str]) -> list[BatchItem]:
    """Every file of the folder that the command reads, in order of their names. Raises `StudioError`."""
    if not folder.is_dir():
        raise StudioError(f"{folder} is no folder: expected one with {', '.join(READS[command])} files.")
    _spare_what_is_read(command, folder, out, options)
    files = {path: ending for path in sorted(folder.iterdir()) if (ending := _ending(command, path))}
    if not files:
        raise StudioError(f"{folder} has no {', '.join(READS[command])} files.")
    stems = {path: path.name[: -len(ending)] for path, ending in files.items()}
    often = Counter(stems.values())
    return [_item(command, path, out, options, path.name if often[stem] > 1 else stem) for path, stem in stems.items()]


def _spare_what_is_read(command: str, folder: Path, out: Path, options: Sequence[str]) -> None:
    """Raises `StudioError` where pictures would be written over those that are read, or over each other."""
    given = [(option, Path(value)) for option, value in _pairs(options) if value is not None]
    used = [("the folder that is read", folder), *(pair for pair in given if pair[0] in PARTNERS)]
    written = [] if command == "infer" else [("--out", out)]
    for option, place in (*written, *(pair for pair in given if pair[0] in WRITES)):
        for other, taken in used:
            if place.resolve() == taken.resolve():
                raise StudioError(
                    f"{option} is {place}, and so is {other}: pictures would be lost, so name another folder."
                )
        used.append((option, place))


def _ending(command: str, path: Path) -> str:
    """The longest ending of a file that the command reads; empty for others."""
    fitting = [ending for ending in READS[command] if path.name.lower().endswith(ending) and path.is_file()]
    return max(fitting, key=len, default="")


def _item(command: str, path: Path, out: Path, options: Sequence[str], name: str) -> BatchItem:
    words, read, pictures = [command, str(path)], [path], []
    meant = [command]  # the words without places
    for option, value in _pairs(options):
        words.append(option)
        meant.append(option)
        if value is None:
            continue
        if option in WRITES:
            value = str(Path(value).absolute() / f"{name}.png")
            pictures.append(value)
        elif option in PARTNERS or Path(value).is_file():
            read.append(_partner(Path(value), path))
            value = str(read[-1])
        else:
            meant.append(value)
        words.append(value)
    if command != "infer":
        pictures.append(str(out / f"{name}.png"))
        words += ["--out", pictures[-1]]
    digest = hashlib.sha256(json.dumps(meant).encode())
    for each in read:
        digest.update(each.read_bytes())
    return BatchItem(name, tuple(words), str(out / f"{name}.json"), digest.hexdigest()[:32], tuple(pictures))


def _pairs(options: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """(option, value) of the words of a command line; flags have no value."""
    rest = list(options)
    while rest:
        option, joined, value = rest.pop(0).partition("=")
        if joined:
            yield option, value
        elif rest and not rest[0].startswith("--"):
            yield option, rest.pop(0)
        else:
            yield option, None


def _partner(given: Path, path: Path) -> Path:
    """The file of that option for one item: the one given, or in a folder the one named like the item."""
    if not given.is_dir():
        if not given.is_file():
            raise StudioError(f"{given} is not there: expected a file, or a folder with a file for each item.")
        return given
    stem = path.name.removesuffix(".gz").rpartition(".")[0]
    found = sorted(each for each in given.iterdir() if each.is_file() and each.name.startswith(f"{stem}."))
    if not found:
        raise StudioError(f"{given} has no file for {path.name}: expected one named {stem}.*.")
    return min(found, key=lambda each: each.name.count("."))  # a.png before a.b.png


def shard_of(items: Sequence[BatchItem], shard: str) -> list[BatchItem]:
    """Every n-th item, beginning with the i-th: `2/8` is the second of eight. Raises `StudioError`."""
    first, slash, count = shard.partition("/")
    if not (slash and first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise StudioError(f"--shard is {shard!r}: expected I/N with I from 1 to N, such as 2/8.")
    return list(items[int(first) - 1 :: int(count)])


def run_pool(items: Iterable[BatchItem], work: Work, workers: int) -> Iterator[tuple[BatchItem, str]]:
    """Each item with what its work said, as they end. A process that dies takes nothing with it but its own item.

    Always in processes of their own, with one thread each: sums then do not depend on the number of workers. When one
    dies, whatever was under way is done again alone, so that only the item that kills its process fails.
    """
    waiting, suspects = list(items), []
    while waiting:
        for item, said in _until_broken(waiting, work, workers):
            if said is None:
                suspects.append(item)
            else:
                yield item, said
    for item in suspects:
        said = None
        for _ in range(TRIES):
            said = next(said for _, said in _until_broken([item], work, 1))
            if said is not None:
                break
        yield item, f"its process died {TRIES} times: there may be too little memory." if said is None else said


def _until_broken(waiting: list[BatchItem], work: Work, workers: int) -> Iterator[tuple[BatchItem, str | None]]:
    """Take items from the list until it is empty or a process dies; None for those under way then."""
    running: dict[Future[str], BatchItem] = {}
    broken = False
    with process_pool(workers) as pool:
        while running or (waiting and not broken):
            while waiting and not broken and len(running) < workers:
                item = waiting.pop(0)
                running[pool.submit(work, item)] = item
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                try:
                    yield item, future.result()
                except BrokenProcessPool:
                    broken = True
                    yield item, None


def run_dask(items: Sequence[BatchItem], work: Work, address: str) -> Iterator[tuple[BatchItem, str]]:
    """The same on the workers of a Dask cluster, which see the same folders. What a lost worker had goes to another."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise StudioError("--dask needs Dask: install mrfstudio[cluster].") from None
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as problem:
        raise StudioError(f"No Dask scheduler answers at {address} ({type(problem).__name__}).") from None
    with client:
        futures = {client.submit(work, item, key=f"{item.name}-{item.key}"): item for item in items}
        for future in as_completed(list(futures)):
            item = futures[future]
            if future.status == "finished":
                yield item, future.result()
            else:
                yield item, f"it failed on the cluster ({type(future.exception()).__name__})."
