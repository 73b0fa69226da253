"""Getting data: what can be generated is generated; what must be downloaded comes from an address that the user gives.

No host is written here. `MRFSTUDIO_DATA_URL` names a folder, on the web or on a disk, that holds the files of the
table; each is checked against its SHA-256 before it is used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mrfstudio.engine.data.dataset import DataError, Progress
from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.places import cache_folder

ADDRESS = "MRFSTUDIO_DATA_URL"
FOLDER = "MRFSTUDIO_DATA_DIR"


@dataclass(frozen=True)
class Download:
    """One file that can be fetched."""

    file: str
    sha256: str
    dataset: str
    """The data set that reads it."""


DOWNLOADS: dict[str, Download] = {
    "mnist": Download("mnist.npz", "06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64", "mnist"),
    "border-mnist": Download(
        "border_ownership.npz", "56f3d476b8e949eb6cc9a599b607dc9260931a52e4cebb41abd5b1183bd80388", "border"
    ),
    "silhouettes": Download(
        "caltech101_silhouettes.npz", "68ecabb75edbf0114cd49806e8f0edc08abe83b4fcee09701f9a5c8e3f13db69", "silhouettes"
    ),
    "frey": Download("freyfaces.npz", "b31ddb973f41a99244168000379cc79c3f1e4402c3604814fe3699002931659b", "frey"),
    "binary-adult": Download(
        "binary_adult.npz", "2e195d9507aecd3e888891d741e7e3c00e8fa66147f961417f26d837a3006817", "binary"
    ),
    "binary-connect4": Download(
        "binary_connect4.npz", "e4c5647c88fc48df118808d58f1a0f1e01a46f69e7823ff90a87d2592574ca16", "binary"
    ),
    "binary-digits": Download(
        "binary_digits.npz", "71643c96a1fd5dfabcaec9fec45dfe93f456716e0ccb1b97c29ad04b36e3d89f", "binary"
    ),
    "binary-dna": Download(
        "binary_dna.npz", "89bc50fadfa1b9e1411e181e551591fd7e97b041f2061bb03f8a10b7834100f3", "binary"
    ),
    "binary-mushrooms": Download(
        "binary_mushrooms.npz", "f99ab91a07c02ba27beeca427aaa04cfda9b5984d7d5c9bf82426ec2293656b4", "binary"
    ),
    "binary-nips": Download(
        "binary_nips.npz", "b09f28cc86e08ef3b331249588b4949cfe87e6df4916adbfd57c52fe5848fe27", "binary"
    ),
    "binary-ocr-letters": Download(
        "binary_ocr_letters.npz", "456288ab04e3c599a4568eb33b00ceaae895431a26246ba1500589050f5d7d53", "binary"
    ),
    "binary-web": Download(
        "binary_web_w8a.npz", "bc4ae4abc7d4d1f4a27c13666e898a590a43c70a81d5f136415d67ef10dfbf31", "binary"
    ),
    "ising-grid5": Download(
        "ising_grid5_std0.1.npz", "1c553253b655230b8cdbf371f2b7e72f37164ee39cd8a804eed1ecdac3b3a3bc", "ising"
    ),
    "ising-grid10": Download(
        "ising_grid10_std0.1.npz", "3eafd2b814312a73c32efaf4913982a9414690f59c5ceb05e0e47d3b3f53ae6a", "ising"
    ),
}


def data_folder() -> Path:
    """Where fetched files are kept: the user's cache folder, or what `MRFSTUDIO_DATA_DIR` says."""
    given = os.environ.get(FOLDER)
    if given:
        return Path(given).expanduser()
    return cache_folder() / "data"


def fetched(name: str) -> Path | None:
    """The fetched file of this name, if it is there."""
    download = DOWNLOADS.get(name)
    path = data_folder() / download.file if download else None
    return path if path is not None and path.is_file() else None


def download(name: str, target: Path | None = None, progress: Progress | None = None) -> Path:
    """Copy or download the file called `name` to `target` and check it; a good file already there is kept."""
    wanted = DOWNLOADS[name]
    own = target is None
    target = target or data_folder() / wanted.file
    if target.is_file() and _sha256(target) == wanted.sha256:
        return target
    address = os.environ.get(ADDRESS, "").strip()
    if not address:
        raise DataError(
            f"{name!r} has to be downloaded and this program knows no address for it: set {ADDRESS} to a folder or web"
            f" address that holds {wanted.file}, or use the generated data sets."
        )
    if own:
        target.parent.mkdir(parents=True, exist_ok=True)
    local = Path(address.removeprefix("file://")).expanduser()
    if "://" not in address or address.startswith("file://"):
        _copy(local / wanted.file, target, wanted)
    else:
        _retrieve(f"{address.rstrip('/')}/{wanted.file}", target, wanted, progress)
    return target


def _copy(source: Path, target: Path, wanted: Download) -> None:
    if not source.is_file():
        raise DataError(f"{source} does not exist: expected {ADDRESS} to name a folder that holds {wanted.file}.")
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
        found = _sha256(temporary)
        if found != wanted.sha256:
            raise DataError(
                f"{source} has SHA-256 {found[:12]}…: expected {wanted.sha256[:12]}…, so it is another file."
            )


def _retrieve(address: str, target: Path, wanted: Download, progress: Progress | None) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")  # standard output belongs to the command's result
    bar = _Bar(progress) if progress else False
    try:
        downloader = pooch.HTTPDownloader(progressbar=bar, timeout=30)
        pooch.retrieve(
            address, known_hash=f"sha256:{wanted.sha256}", fname=target.name, path=target.parent, downloader=downloader
        )
    except ValueError:
        raise DataError(f"{address} is another file: expected SHA-256 {wanted.sha256[:12]}….") from None
    except (requests.exceptions.RequestException, OSError) as problem:
        raise DataError(f"{address} cannot be downloaded ({type(problem).__name__}): check {ADDRESS}.") from None


class _Bar:
    """The few methods of a tqdm bar that pooch calls, as a progress callback."""

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self.progress, self.total, self.done = progress, 0, 0

    def update(self, amount: int) -> None:
        self.done += amount
        self.progress(self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
