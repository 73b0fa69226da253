"""A batch: what belongs to it, what is done, and that a lost process costs nothing but time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mrfstudio.engine.files.graphs.graph import FORMATS, NETWORKS
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks import batch
from mrfstudio.engine.tasks.batch import GRAPHS, BatchItem, batch_items, run_dask, run_pool, shard_of
from tests.engine.helpers.batch_work import write_name

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def folder_with(path: Path, *names: str) -> Path:
    path.mkdir()
    for name in names:
        (path / name).write_text(name, encoding="utf-8")
    return path


def test_items_are_the_files_that_a_command_reads_in_order(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "in", "b.png", "a.JPG", "notes.txt", "c.png", "c.tif", "graph.uai")
    items = batch_items("segment", folder, tmp_path / "out", ["--thin", "--ink", "dark"])
    assert [item.name for item in items] == ["a", "b", "c.png", "c.tif"]
    assert items[1].words == (
        *("segment", str(folder / "b.png"), "--thin", "--ink", "dark", "--out", str(tmp_path / "out" / "b.png")),
    )
    graphs = batch_items("infer", folder, tmp_path / "out", ["--algorithm=bp"])
    assert graphs[0].words == ("infer", str(folder / "graph.uai"), "--algorithm", "bp")


def test_an_option_that_is_a_folder_has_a_file_for_each_item(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "in", "a.png", "b.png")
    masks = folder_with(tmp_path / "masks", "a.mask.png", "b.png")
    items = batch_items("inpaint", folder, tmp_path, ["--mask", str(masks)])
    assert [item.words[3] for item in items] == [str(masks / "a.mask.png"), str(masks / "b.png")]
    (masks / "b.png").unlink()
    with pytest.raises(StudioError, match=r"no file for b\.png"):
        batch_items("inpaint", folder, tmp_path, ["--mask", str(masks)])


def test_an_item_is_done_while_options_and_files_are_the_same(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "in", "a.png")

    def item(*options: str) -> BatchItem:
        return batch_items("segment", folder, tmp_path, options)[0]

    assert not item().done
    (tmp_path / "a.png").write_text("labels", encoding="utf-8")
    Path(item().answer).write_text(json.dumps({"key": item().key}), encoding="utf-8")
    assert item().done
    assert not item("--thin").done
    (folder / "a.png").write_text("other", encoding="utf-8")
    assert not item().done
    Path(item().answer).write_text("{", encoding="utf-8")
    assert not item().done


def test_a_moved_folder_is_done_and_a_lost_picture_or_another_model_is_not(tmp_path: Path) -> None:
    folder, model = folder_with(tmp_path / "in", "a.png"), tmp_path / "mine.safetensors"
    model.write_text("weights", encoding="utf-8")

    def item(out: str) -> BatchItem:
        return batch_items("segment", folder, tmp_path / out, ["--model", str(model)])[0]

    answers = folder_with(tmp_path / "one", "a.png")
    Path(item("one").answer).write_text(json.dumps({"key": item("one").key}), encoding="utf-8")
    assert item("one").done
    answers.rename(tmp_path / "two")
    assert item("two").done
    model.write_text("trained longer", encoding="utf-8")
    assert not item("two").done
    model.write_text("weights", encoding="utf-8")
    (tmp_path / "two" / "a.png").unlink()
    assert not item("two").done


def test_names_with_dots_find_their_files_and_each_cut_out_is_a_file_of_its_own(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "in", "my.photo.png", "my.png")
    strokes = folder_with(tmp_path / "strokes", "my.photo.png", "my.svg")
    items = batch_items("segment", folder, tmp_path, ["--scribbles", str(strokes), "--cutout", str(tmp_path / "cut")])
    assert [item.name for item in items] == ["my.photo", "my"]
    assert [Path(item.words[3]).name for item in items] == ["my.photo.png", "my.svg"]
    assert [item.pictures[0] for item in items] == [str(tmp_path / "cut" / f"{item.name}.png") for item in items]


def test_every_format_of_graphs_is_taken(tmp_path: Path) -> None:
    assert set(GRAPHS) == {*FORMATS, *NETWORKS}
    folder = folder_with(tmp_path / "in", "a.bif", "b.uai.gz", "c.fg", "notes.gz", "d.evid")
    assert [item.name for item in batch_items("infer", folder, tmp_path, [])] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("out", "options"),
    [
        ("drawings", []),
        ("drawings/../drawings", []),
        ("masks", ["--mask", "masks"]),
        ("labels", ["--cutout", "drawings"]),
        ("labels", ["--cutout=labels"]),
    ],
)
def test_no_picture_is_written_over_one_that_is_read(
    out: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("drawings", "masks", "labels"):
        Path(folder).mkdir()
        Path(folder, "a.png").write_bytes(b"mine")
    with pytest.raises(StudioError, match="pictures would be lost"):
        batch_items("segment", tmp_path / "drawings", tmp_path / out, options)
    Path("drawings", "a.uai").write_text("MARKOV", encoding="utf-8")
    assert batch_items("infer", tmp_path / "drawings", tmp_path / "drawings", [])  # its answers are JSON


def test_shards_together_are_the_batch(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "in", *(f"{i}.png" for i in range(7)))
    items = batch_items("segment", folder, tmp_path, [])
    parts = [shard_of(items, f"{i}/3") for i in (1, 2, 3)]
    assert [len(part) for part in parts] == [3, 2, 2]
    assert sorted(item.name for part in parts for item in part) == [item.name for item in items]
    for wrong in ("0/3", "4/3", "2", "a/b", "1/"):
        with pytest.raises(StudioError, match="--shard"):
            shard_of(items, wrong)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="is no folder"):
        batch_items("infer", tmp_path / "none", tmp_path, [])
    with pytest.raises(StudioError, match="has no"):
        batch_items("infer", tmp_path, tmp_path, [])


def named(folder: Path, *names: str) -> list[BatchItem]:
    return [BatchItem(name, (), str(folder / f"{name}.txt"), "") for name in names]


@POSIX
def test_a_process_that_dies_costs_one_item_at_the_most(tmp_path: Path) -> None:
    items = named(tmp_path, "a", "dies", "b", "refused", "hopeless", "c")
    said = {item.name: problem for item, problem in run_pool(items, write_name, 2)}
    assert {name for name, problem in said.items() if not problem} == {"a", "dies", "b", "c"}
    assert said["refused"] == "no."
    assert "died 2 times" in said["hopeless"]
    assert {path.stem for path in tmp_path.glob("*.txt")} == {"a", "dies", "b", "c"}


@POSIX
def test_a_cluster_computes_the_same_though_a_worker_is_killed(tmp_path: Path) -> None:
    from distributed import LocalCluster

    items = named(tmp_path, "a", "dies", "b", "refused", "c", "d")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        said = {item.name: problem for item, problem in run_dask(items, write_name, cluster.scheduler_address)}
    assert {name for name, problem in said.items() if not problem} == {"a", "dies", "b", "c", "d"}
    assert said["refused"] == "no."
    assert {path.stem for path in tmp_path.glob("*.txt")} == {"a", "dies", "b", "c", "d"}


def test_a_cluster_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "CONNECT_SECONDS", 0.3)
    with pytest.raises(StudioError, match="No Dask scheduler answers"):
        list(run_dask([], write_name, "tcp://127.0.0.1:1"))
