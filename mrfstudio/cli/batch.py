"""`mrfstudio batch`: one command on every file of a folder."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfstudio.cli.shared import DONE, REFUSED, add_json, print_json, progress
from mrfstudio.engine.protocol.errors import StudioError

if TYPE_CHECKING:
    from mrfstudio.engine.tasks.batch import BatchItem

COMMANDS = ("segment", "inpaint", "infer")


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "batch",
        help="one command on every file of a folder",
        description="Run segment, inpaint or infer on every file of FOLDER. Further options are the command's own; "
        "--scribbles, --mask and --evidence also take a folder with a file of the same name for each item; --cutout "
        "takes a folder to write into. Answers go to --out as NAME.json, and NAME.png for pictures. Started again, it "
        "goes on with what is missing.",
    )
    parser.add_argument("command", choices=COMMANDS, help="what to run")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the files to work on")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the answers go")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes (default: one for each core)")
    parser.add_argument("--shard", metavar="I/N", help="only every N-th item from the I-th on, for job arrays")
    parser.add_argument("--dask", metavar="ADDRESS", help="compute on a Dask cluster, such as tcp://host:8786")
    add_json(parser)
    parser.set_defaults(run=run, open_options=True)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.runtime.workers import processes
    from mrfstudio.engine.tasks.batch import batch_items, run_dask, run_pool, shard_of

    if options.workers < 0:
        raise StudioError(f"--workers is {options.workers}: expected a whole number from 1, or 0 for one a core.")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudioError(f"{options.out} cannot be made ({error.strerror}): choose another place.") from None
    items = batch_items(options.command, options.folder.absolute(), options.out.absolute(), options.unknown)
    if options.shard:
        items = shard_of(items, options.shard)
    missing = [item for item in items if not item.done]
    failed: dict[str, str] = {}
    with progress(f"{options.command} on {options.folder}") as tick:
        done = len(items) - len(missing)
        workers = processes(options.workers, max(len(missing), 1), 1)
        ended = run_dask(missing, work, options.dask) if options.dask else run_pool(missing, work, workers)
        for item, problem in ended:
            done += 1
            tick(f"{done} of {len(items)}")
            if problem:
                failed[item.name] = problem
    result = {
        "command": options.command,
        "folder": str(options.folder),
        "out": str(options.out),
        "items": len(items),
        "computed": len(missing) - len(failed),
        "done_before": len(items) - len(missing),
        "failed": failed,
    }
    if not print_json(options.json, result):
        before = f", {result['done_before']} were done before" if result["done_before"] else ""
        print(f"{result['computed']} of {len(items)} computed{before}: {options.out}")
        for name, problem in failed.items():
            print(f"{name}: {problem}")
    return REFUSED if failed else DONE


def work(item: BatchItem) -> str:
    """Compute one item as the command itself would, on one thread. Returns why it could not, or an empty string."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    from mrfstudio.cli import main
    from mrfstudio.engine.files.atomic import write_text

    torch.set_num_threads(1)
    target = Path(item.answer)
    for picture in item.pictures:
        Path(picture).parent.mkdir(parents=True, exist_ok=True)
    answer = target.with_name(f".{item.name}.{os.getpid()}.part")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                status = main([*item.words, "--json", str(answer)])
            except SystemExit as stopped:  # an option that the command does not have
                status = int(stopped.code or 0)
        if status != DONE:
            lines = said.getvalue().strip().splitlines()
            return (lines[-1] if lines else f"exit status {status}").removeprefix("mrfstudio: ")
        found = json.loads(answer.read_text(encoding="utf-8"))
        found.pop("seconds", None)  # the same answer gives the same file
        write_text(target, json.dumps({"key": item.key, **found}, allow_nan=False) + "\n")
    finally:
        answer.unlink(missing_ok=True)
    return ""
