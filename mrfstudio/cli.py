"""The command line. Thin: parses, calls, prints. torch and Qt are imported by the command that needs them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

from mrfstudio import __version__
from mrfstudio.engine.catalogue import Field, ParameterError, ending
from mrfstudio.engine.errors import StudioError

DONE, INTERNAL, REFUSED, INTERRUPTED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """Errors in one line, with status 2; no guessing from abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}. Try {self.prog} --help.", file=sys.stderr)
        raise SystemExit(REFUSED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of `mrfstudio`; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    if given and given[0] not in COMMANDS and not given[0].startswith("-"):
        options, unknown = _window_parser().parse_known_args(given)
    else:
        options, unknown = parser.parse_known_args(given)
    if unknown and not getattr(options, "open_options", False):
        parser.error(f"unrecognised arguments: {' '.join(unknown)}")
    options.unknown = unknown
    try:
        return int(options.run(options))
    except StudioError as error:
        print(f"mrfstudio: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("mrfstudio: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as in `mrfstudio infer … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except MemoryError:
        print("mrfstudio: not enough memory for this input: use a smaller one.", file=sys.stderr)
        return REFUSED


# infer ----------------------------------------------------------------------------------------------------------------


def _add_infer(commands: Any) -> None:
    parser = commands.add_parser(
        "infer",
        help="marginals of a .uai or .fg graph",
        description="Run one algorithm on a factor graph. Further options are the algorithm's own parameters; "
        "`mrfstudio infer --algorithms` lists them.",
    )
    parser.add_argument("graph", nargs="?", type=Path, metavar="FILE", help="a .uai or .fg file")
    parser.add_argument("--evidence", type=Path, metavar="FILE.evid", help="UAI evidence")
    parser.add_argument("--algorithm", metavar="NAME", help="bp, exact, mean-field, gibbs, …")
    parser.add_argument("--algorithms", action="store_true", help="list the algorithms with their parameters and stop")
    parser.add_argument("--iterations", metavar="N", help="stop after this many (default 1000)")
    parser.add_argument("--tolerance", metavar="T", help="converged below this change (default 1e-9; 1e-6 in 32 bits)")
    parser.add_argument("--pairwise", action="store_true", help="also the marginals of every factor of two variables")
    parser.add_argument("--seed", metavar="S", help="for algorithms that draw random numbers (default 0)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")
    parser.add_argument("--precision", type=int, choices=(32, 64), help="bits (default 64 on the CPU)")
    _add_json(parser)
    parser.set_defaults(run=_infer, open_options=True)


def _infer(options: argparse.Namespace) -> int:
    from mrfstudio.engine.registry import ALGORITHMS

    if options.algorithms:
        for cls in ALGORITHMS:
            print(f"{cls.name}: {cls.summary}")
            for field in cls.fields():
                print(f"    {field.option:<16} {field.help} {_default_in_words(field)}")
        return DONE
    if options.graph is None or options.algorithm is None:
        raise StudioError("infer needs a FILE.uai or FILE.fg and --algorithm NAME.")
    from mrfstudio.engine.infer import infer_file
    from mrfstudio.engine.inference.run import Limits

    algorithm = ALGORITHMS[options.algorithm]
    parameters = parse_options(options.unknown, algorithm.fields(), f"Algorithm {algorithm.name}")
    if options.seed is not None:
        seed = Field("seed", "integer", 0, "", low=0).check(options.seed)  # checked even where nothing is random
        if any(field.name == "seed" for field in algorithm.fields()):
            parameters["seed"] = seed
    limits = {n: v for n in ("iterations", "tolerance") if (v := getattr(options, n)) is not None}
    Limits(**limits)  # refuse a bad limit before the file is read
    with _progress(f"{algorithm.name} on {options.graph.name}") as tick:
        result = infer_file(
            options.graph,
            options.algorithm,
            evidence_path=options.evidence,
            parameters=parameters,
            limits=limits,
            pairwise=options.pairwise,
            device=options.device,
            precision=options.precision,
            on_step=lambda state: tick(f"iteration {state.iteration}, residual {float(state.residual):.2e}"),
        )
    if not print_json(options.json, result):
        _print_marginals(result)
    return DONE


def _print_marginals(result: dict[str, Any]) -> None:
    residual = "" if result["residual"] is None else f", residual {result['residual']:.2e}"
    print(f"{result['algorithm']}: {result['ending']} after {result['iterations']} iterations{residual}")
    if result["log_partition"] is not None:
        print(f"log Z = {result['log_partition']:.9g} ({result['log_partition_kind'].replace('_', ' ')})")
    shown = list(zip(result["variables"], result["marginals"], strict=True))
    for label, vector in shown[:20]:
        print(f"  {label:>6}  " + "  ".join("   –   " if p is None else f"{p:.5f}" for p in vector))
    if len(shown) > 20:
        print(f"  … {len(shown) - 20} more variables; --json FILE writes them all")
    if "assignment" in result:
        print(f"most probable states: {' '.join(map(str, result['assignment'][:40]))}{' …' if len(shown) > 40 else ''}")
        print(f"score {result['map_score']:.9g}" if result["map_score"] is not None else "score: impossible")


# bench ----------------------------------------------------------------------------------------------------------------


def _add_bench(commands: Any) -> None:
    parser = commands.add_parser("bench", help="measure, as ratios within one run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure (default: everything)")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    _add_json(parser)
    parser.set_defaults(run=_bench)


def _bench(options: argparse.Namespace) -> int:
    from mrfstudio import bench

    known = bench.names()
    if options.list:
        print("\n".join(known))
        return DONE
    for name in options.names:
        if name not in known:
            raise StudioError(f"There is no benchmark {name!r}{ending(name, known)} Known: {', '.join(known)}.")
    results = {}
    for name in options.names or known:
        print(f"measuring {name} …", file=sys.stderr)
        report = bench.run(name)
        results[name] = report
        if options.json != "-":
            print(bench.in_words(name, report))
    print_json(options.json, results)
    return DONE


# shared ---------------------------------------------------------------------------------------------------------------


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", metavar="OUT", help="write the result as JSON to a file, or to standard output with -")


def print_json(target: str | None, result: Any) -> bool:
    """Write `result` where --json asks; says whether standard output is taken by it."""
    if target is None:
        return False
    line = json.dumps(result, allow_nan=False)
    if target == "-":
        print(line)
        return True
    from mrfstudio.engine.files.atomic import atomic_path

    try:
        with atomic_path(Path(target)) as temporary:
            temporary.write_text(line + "\n", encoding="utf-8")
    except OSError as error:
        raise StudioError(f"{target} cannot be written: {error.strerror}.") from error
    return False


def parse_options(words: Sequence[str], fields: Sequence[Field], owner: str) -> dict[str, Any]:
    """`--damping 0.5` or `--damping=0.5` → checked parameter values, by the fields' declarations."""
    by_option = {field.option: field for field in fields}
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:
        option, _, joined = rest.pop(0).partition("=")
        field = by_option.get(option)
        if field is None:
            raise ParameterError(f"{owner} has no option {option}{ending(option, by_option)}")
        if field.kind == "flag" and not joined and (not rest or rest[0].startswith("--")):
            values[field.name] = True
            continue
        if not joined and not rest:
            raise ParameterError(f"{option} needs a value: {field.range_text}.")
        word = joined or rest.pop(0)
        if field.kind == "flag":
            if word not in ("true", "false"):
                raise ParameterError(f"{option} is {word!r}: expected true or false.")
            values[field.name] = word == "true"
        else:
            values[field.name] = field.check(word)
    return values


def _default_in_words(field: Field) -> str:
    unit = f" {field.unit}" if field.unit else ""
    return f"[{field.range_text}; default {field.default}{unit}]"


def _progress(title: str) -> AbstractContextManager[Callable[[str], None]]:
    """A line on standard error that follows the work, if a person is there to read it."""
    if not sys.stderr.isatty():
        return nullcontext(lambda text: None)
    from mrfstudio.terminal import status_line

    return status_line(title)


def _open_window(options: argparse.Namespace) -> int:
    from mrfstudio.demonstration import demonstrate

    return demonstrate(options.file)


def _window_parser() -> Parser:
    parser = Parser(prog="mrfstudio")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.set_defaults(run=_open_window)
    return parser


def _parser() -> Parser:
    parser = Parser(
        prog="mrfstudio",
        description="A laboratory for Markov random fields. Without a command: the window, on FILE if one is given.",
        usage="mrfstudio [FILE] | mrfstudio COMMAND …",
    )
    parser.add_argument("--version", action="version", version=f"mrfstudio {__version__}")
    parser.set_defaults(run=_open_window, file=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for add in COMMANDS.values():
        add(commands)
    return parser


COMMANDS: dict[str, Callable[[Any], None]] = {"infer": _add_infer, "bench": _add_bench}
