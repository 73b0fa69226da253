"""`mrfstudio infer`: marginals of a graph."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfstudio.cli.shared import (
    DONE,
    add_json,
    default_in_words,
    is_link,
    options_in_words,
    parse_options,
    print_json,
    progress,
)
from mrfstudio.engine.protocol.catalogue import Field, ParameterError
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.memory import EVERYTHING, keep_freed_memory

if TYPE_CHECKING:
    from mrfstudio.engine.tasks.quick import Quick


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "infer",
        help="marginals of a graph",
        description="Run one algorithm on a factor graph: a file, or a generated one in words, such as ring:5 or "
        "grid:4x6 --coupling 0.7. Further options are the graph's and the algorithm's own parameters; "
        "`mrfstudio infer --algorithm NAME --help` lists them, `--algorithms` those of all.",
    )
    parser.more_help = _own_options
    parser.add_argument(
        "graph",
        nargs="?",
        type=Path,
        metavar="GRAPH",
        help="a .uai, .fg, .bif, .xmlbif or .xdsl file, or ring:5, grid:4x6, tree:31, …, or a link (mrfs:…)",
    )
    parser.add_argument("--evidence", type=Path, metavar="FILE.evid", help="UAI evidence, in either of its forms")
    parser.add_argument("--observe", default="", metavar="V=S,…", help="evidence in words, such as 3=1,Rain=yes@0.5")
    parser.add_argument("--algorithm", metavar="NAME", help="auto picks one; or bp, exact, join-graph, gibbs, …")
    parser.add_argument("--algorithms", action="store_true", help="list the algorithms with their parameters and stop")
    parser.add_argument(
        "--edge-alphas", type=Path, metavar="FILE", help="alpha-bp: one α for each factor of two variables, in order"
    )
    parser.add_argument(
        "--priors", type=Path, metavar="FILE", help="a further factor on each variable: a probability for each state"
    )
    parser.add_argument("--iterations", metavar="N", help="stop after this many (default 1000)")
    parser.add_argument("--tolerance", metavar="T", help="converged below this change (default 1e-9; 1e-6 in 32 bits)")
    parser.add_argument("--pairwise", action="store_true", help="also the marginals of every factor of two variables")
    parser.add_argument("--seed", metavar="S", help="for algorithms that draw random numbers (default 0)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")
    parser.add_argument("--precision", type=int, choices=(32, 64), help="bits (default 64 on the CPU)")
    add_json(parser)
    parser.set_defaults(run=run, open_options=True)


def _own_options(options: argparse.Namespace) -> str:
    """The parameters of the algorithm that is named beside --help."""
    if options.algorithm is None:
        return ""
    from mrfstudio.engine.registry import ALGORITHMS

    cls = ALGORITHMS[options.algorithm]
    return options_in_words(f"{cls.name} ({cls.summary.rstrip('.')})", cls.fields())


def run(options: argparse.Namespace) -> int:
    began = {clock: clock() for clock in (time.monotonic, time.process_time)}
    keep_freed_memory(EVERYTHING, EVERYTHING)
    tried = _quickly(options)
    if tried is not None and tried.result is not None:
        if not print_json(options.json, tried.result):
            _print_marginals(tried.result)
        return DONE
    from mrfstudio.engine.registry import ALGORITHMS

    if options.algorithms:
        for cls in ALGORITHMS:
            print(f"{cls.name}: {cls.summary}")
            for field in cls.fields():
                print(f"    {field.option:<16} {field.help} {default_in_words(field)}")
        return DONE
    if options.graph is None or options.algorithm is None:
        raise StudioError("infer needs a graph (FILE.uai, FILE.fg or words such as ring:5) and --algorithm NAME.")
    from mrfstudio.engine.graphs.words import is_words
    from mrfstudio.engine.inference.join.budget import clock_of
    from mrfstudio.engine.inference.run import Limits
    from mrfstudio.engine.tasks.infer import in_link, infer_file
    from mrfstudio.engine.tasks.quick import Quick

    algorithm = ALGORITHMS[options.algorithm]
    words, graph, name = options.unknown, options.graph, options.graph.name
    if is_link(str(graph)):
        graph, name = in_link(str(graph)), "the graph of a link"
    elif not graph.exists() and is_words(str(graph)):
        words, graph = _graph_in_words(str(graph), words, algorithm.fields())
    parameters = _parameters(options, words, algorithm.name, algorithm.fields())
    limits = {n: v for n in ("iterations", "tolerance") if (v := getattr(options, n)) is not None}
    Limits(**limits)  # refuse a bad limit before the file is read
    clock = clock_of(parameters)
    tried = replace(tried or Quick(), spent=clock() - began[clock])  # importing torch is a part of the time
    with progress(f"{algorithm.name} on {name}") as tick:
        result = infer_file(
            graph,
            options.algorithm,
            observed=options.observe,
            evidence_path=options.evidence,
            edge_alphas_path=options.edge_alphas,
            priors_path=options.priors,
            parameters=parameters,
            limits=limits,
            pairwise=options.pairwise,
            device=options.device,
            precision=options.precision,
            on_step=lambda state: tick(f"iteration {state.iteration}, residual {float(state.residual):.2e}"),
            tried=tried,
        )
    if not print_json(options.json, result):
        _print_marginals(result)
    return DONE


def _quickly(options: argparse.Namespace) -> Quick | None:
    """What `auto` says of a small graph, before torch is imported; None where more than that is asked for."""
    asked = (options.edge_alphas, options.priors, options.iterations, options.tolerance)
    usual = options.device in ("auto", "cpu") and options.precision != 32
    if options.algorithm != "auto" or options.algorithms or options.graph is None or options.pairwise:
        return None
    if any(asked) or not usual:
        return None
    from mrfstudio.engine.graphs.words import is_words
    from mrfstudio.engine.inference.join.budget import Budget
    from mrfstudio.engine.tasks.quick import quickly

    words, graph = options.unknown, options.graph
    if not graph.exists() and is_words(str(graph)):
        words, graph = _graph_in_words(str(graph), words, Budget.fields())
    elif not graph.exists() and not graph.suffix:
        return None
    given = _parameters(options, words, "auto", Budget.fields())
    return quickly(graph, options.evidence, given, options.observe)


def _parameters(
    options: argparse.Namespace, words: Sequence[str], name: str, fields: Sequence[Field]
) -> dict[str, Any]:
    """The algorithm's own options and the seed, checked."""
    parameters = parse_options(words, fields, f"Algorithm {name}")
    if options.seed is not None:
        seed = Field("seed", "integer", 0, "", low=0).check(options.seed)  # checked even where nothing is random
        if any(field.name == "seed" for field in fields):
            parameters["seed"] = seed
    return parameters


def _graph_in_words(word: str, words: Sequence[str], algorithm: Sequence[Field]) -> tuple[list[str], Any]:
    """The words that are left for the algorithm, and the graph that the others say."""
    from mrfstudio.engine.graphs.words import option_fields, sketch_of

    known = option_fields(word, taken(algorithm))
    rest, values, queue = [], {}, list(words)
    while queue:
        option, _, joined = queue.pop(0).partition("=")
        if option not in known:
            rest.append(option if not joined else f"{option}={joined}")
            continue
        if not joined and not queue:
            raise ParameterError(f"{option} needs a value: {known[option].range_text}.")
        values[known[option].name] = known[option].check(joined or queue.pop(0))
    return rest, sketch_of(word, values)


def taken(algorithm: Sequence[Field]) -> set[str]:
    """Names of options that the command and its algorithm have already."""
    return {"seed", "device", "precision", "iterations", "tolerance", *(field.name for field in algorithm)}


def _print_marginals(result: dict[str, Any]) -> None:
    residual = "" if result["residual"] is None else f", residual {result['residual']:.2e}"
    count = result["iterations"]
    print(f"{result['algorithm']}: {result['ending']} after {count} iteration{'s' * (count != 1)}{residual}")
    if result.get("picked"):
        error = result["estimated_error"]
        doubt = "" if error is None else f"; estimated error {error:.2g}" if error else ", so the answer is exact"
        print(f"picked {result['picked']}{doubt}")
    for notice in result["notices"]:
        print(f"note: {notice}")
    if result["log_partition"] is not None:
        print(f"log Z = {result['log_partition']:.9g} ({result['log_partition_kind'].replace('_', ' ')})")
    if "diagnostics" in result:
        _print_diagnostics(result["diagnostics"])
    elif "no_diagnostics" in result:
        print(f"no statement on convergence: {result['no_diagnostics']}")
    names = result.get("names")
    labels = result["variables"] if names is None else [each["name"] for each in names]
    shown = list(zip(labels, result["marginals"], strict=True))
    for number, (label, vector) in enumerate(shown[:20]):
        told = ["–" if p is None else f"{p:.5f}" for p in vector]
        if names is not None:
            told = [f"{state} {p}" for state, p in zip(names[number]["states"], told, strict=True)]
        print(f"  {label:>6}  " + "  ".join(f"{each:>7}" for each in told))
    if len(shown) > 20:
        print(f"  … {len(shown) - 20} more variables; --json FILE writes them all")
    if result.get("assignment") is not None:
        print(f"most probable states: {' '.join(map(str, result['assignment'][:40]))}{' …' if len(shown) > 40 else ''}")
        print(f"score {result['map_score']:.9g}" if result["map_score"] is not None else "score: impossible")


def _print_diagnostics(found: dict[str, Any]) -> None:
    # The first two come out of a search that closes in from both sides: what is shown is its upper end.
    numbers = [
        ("σ_max ≤", "sigma_max"),
        ("spectral radius ≤", "spectral_radius"),
        ("‖M‖₁ =", "norm_1"),
        ("‖M‖∞ =", "norm_inf"),
    ]
    verdict = "guaranteed" if found["guaranteed"] else "not guaranteed"
    shown = ", ".join(f"{name} {found[key]:.5g}" for name, key in numbers)
    print(f"convergence {verdict}: {shown} (bounds within {found['tolerance']:.0e})")
    if found["alpha_interval"] is not None:
        low, high = found["alpha_interval"]
        print(f"α-BP is guaranteed to converge for α from {low:.3g} to {high:.3g}")
