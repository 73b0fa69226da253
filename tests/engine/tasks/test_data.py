"""What `mrfstudio data` does."""

from __future__ import annotations

import hashlib
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.data import fetch
from mrfstudio.engine.data.dataset import DataError, dataset_class, parse_data
from mrfstudio.engine.data.pictures.border_ownership import BorderData
from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.registry import DATASETS
from mrfstudio.engine.tasks.data import fetch_data, list_data, make_border_file


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MRFSTUDIO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("MRFSTUDIO_DATA_URL", raising=False)
    return tmp_path / "data"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small file that stands for the Frey faces, and its checksum in the table."""
    folder = tmp_path / "store"
    folder.mkdir()
    np.savez(folder / "freyfaces.npz", x=np.zeros((10, 28, 20), np.uint8))
    digest = hashlib.sha256((folder / "freyfaces.npz").read_bytes()).hexdigest()
    monkeypatch.setitem(fetch.DOWNLOADS, "frey", fetch.Download("freyfaces.npz", digest, "frey"))
    return folder


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def web(store: Path) -> Iterator[str]:
    """The address of a server of that folder, on this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=store)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_all_data_sets_are_listed_and_what_was_fetched_is_shown(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {line.name: line for line in list_data()}
    assert list(lines) == DATASETS.names()
    assert lines["frey"].files == {"frey": None}
    assert lines["glyphs"].generated
    assert not lines["mnist"].generated
    monkeypatch.setenv("MRFSTUDIO_DATA_URL", str(store))
    path = fetch_data("frey")
    assert {line.name: line for line in list_data()}["frey"].files == {"frey": str(path)}


@pytest.mark.parametrize("source", ["glyphs", "shapes"])
def test_border_is_made_without_download_and_the_same_each_time(tmp_path: Path, source: str) -> None:
    results = [make_border_file(tmp_path / f"{i}.npz", source, count=30, seed=3) for i in range(2)]
    assert json.dumps(results[0])
    assert results[0]["images"] == {"train": 30, "val": 3, "test": 3}
    one, two = (BorderData.load(tmp_path / f"{i}.npz") for i in range(2))
    assert one.images("train").shape == (30, 30, 30)
    assert np.array_equal(one.noisy_images("train"), two.noisy_images("train"))
    make_border_file(tmp_path / "2.npz", source, count=12, seed=3)
    assert np.array_equal(BorderData.load(tmp_path / "2.npz").noisy_images("train"), one.noisy_images("train")[:12])


def test_glyphs_are_the_default_source(tmp_path: Path) -> None:
    assert make_border_file(tmp_path / "b.npz", count=5, validation=0, test=0)["source"] == "glyphs"


def test_border_from_a_file_takes_as_much_as_is_asked(tmp_path: Path) -> None:
    levels = np.random.default_rng(0).integers(0, 256, (30, 28, 28), dtype=np.uint8)
    classes = np.zeros(30, np.uint8)
    np.savez(tmp_path / "m.npz", x_train=levels, y_train=classes, x_test=levels[:5], y_test=classes[:5])
    source = f"mnist:{tmp_path / 'm.npz'}"
    result = make_border_file(tmp_path / "b.npz", source, count=10, validation=4, test=2)
    assert result["images"] == {"train": 10, "val": 4, "test": 2}
    data = BorderData.load(tmp_path / "b.npz")
    assert np.array_equal(data.images("train")[:, 1:-1, 1:-1] == 2, levels[:10] > 127)
    assert np.array_equal(data.images("val")[:, 1:-1, 1:-1] == 2, levels[26:] > 127)
    assert make_border_file(tmp_path / "b.npz", source, validation=0)["images"] == {"train": 30, "test": 5}
    with pytest.raises(DataError, match="has 26 images in its train split, but 30 were asked for"):
        make_border_file(tmp_path / "b.npz", source, count=30, validation=4)


def test_border_refuses_what_it_cannot_do(tmp_path: Path, store: Path) -> None:
    out = tmp_path / "b.npz"
    for arguments, sentence in (
        ({"count": 0}, "expected at least 1"),
        ({"test": -1}, "expected at least 0"),
        ({"source": f"frey:{store / 'freyfaces.npz'}"}, "holds no silhouettes"),
        ({"source": "nothing"}, "no data set 'nothing'"),
    ):
        with pytest.raises(DataError, match=sentence):
            make_border_file(out, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"deletion is 1\.5"):
        make_border_file(out, deletion=1.5)
    with pytest.raises(ParameterError, match="seed is -1"):
        make_border_file(out, seed=-1)
    with pytest.raises(DataError, match="folder that does not exist"):
        make_border_file(tmp_path / "no" / "b.npz")
    with pytest.raises(DataError, match="is a folder"):
        make_border_file(tmp_path)
    assert not out.exists()


GENERATED = [name for name in DATASETS.names() if dataset_class(name).path != "required"]


@pytest.mark.parametrize("name", GENERATED)
def test_whatever_is_generated_can_be_written_to_a_file(own_data_folder: Path, name: str) -> None:
    small = {"count": 12, "validation": 2, "test": 2, "size": 16}
    known = {field.name for field in dataset_class(name).fields()}
    path = fetch_data(name, **{key: value for key, value in small.items() if key in known})
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    assert any(len(array) > 1 for array in arrays.values() if array.ndim)
    if "x" in arrays and arrays["x"].ndim == 3:
        assert arrays["x"].dtype == np.uint8
        assert arrays["x"].max() > 0


def test_generated_data_can_be_fetched_and_read_back(own_data_folder: Path) -> None:
    path = fetch_data("shapes", count=42, validation=0, test=0)
    assert path == own_data_folder / "shapes.npz"
    splits = parse_data(f"silhouettes:{path}").open()
    assert sum(splits.sizes.values()) == 42
    assert "heart" in splits.constants["classnames"]
    border = fetch_data("border", own_data_folder / "mine.npz", count=10, validation=0, test=0)
    assert BorderData.load(border).sizes == {"train": 10}


def test_without_an_address_the_sentence_says_what_to_set() -> None:
    with pytest.raises(DataError, match="set MRFSTUDIO_DATA_URL"):
        fetch_data("mnist")
    with pytest.raises(DataError, match="nothing called 'mnits' to fetch; did you mean 'mnist'"):
        fetch_data("mnits")


def test_a_file_comes_from_the_web_once_and_is_then_found_by_name(
    web: str, store: Path, own_data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRFSTUDIO_DATA_URL", web)
    heard: list[tuple[int, int]] = []
    path = fetch_data("frey", progress=lambda done, total: heard.append((done, total)))
    assert path.read_bytes() == (store / "freyfaces.npz").read_bytes()
    assert heard[-1][0] == heard[-1][1] == path.stat().st_size
    elsewhere = fetch_data("frey", store.parent / "mine.npz")
    assert elsewhere.read_bytes() == path.read_bytes()
    monkeypatch.delenv("MRFSTUDIO_DATA_URL")
    assert fetch_data("frey") == path  # already there: no address needed
    assert parse_data("frey").open().sizes == {"train": 8, "test": 2}


@pytest.mark.parametrize("scheme", ["web", "folder"])
def test_a_file_with_another_checksum_is_refused_and_not_kept(
    web: str, store: Path, own_data_folder: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("MRFSTUDIO_DATA_URL", web if scheme == "web" else store.as_uri())
    (store / "freyfaces.npz").write_bytes(b"something else")
    with pytest.raises(DataError, match="SHA-256"):
        fetch_data("frey")
    (store / "freyfaces.npz").unlink()
    with pytest.raises(DataError, match=r"freyfaces\.npz"):
        fetch_data("frey")
    assert list(own_data_folder.iterdir()) == []


def test_data_sets_load_without_torch_and_qt() -> None:
    code = (
        "import sys; from mrfstudio.engine.tasks.data import list_data; list_data();"
        "sys.exit(bool({'torch', 'PySide6', 'requests', 'pooch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
