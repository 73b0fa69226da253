"""The command-line contract: clean JSON, exit statuses, one sentence for what a person can mend."""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.cli import _parser, main
from tests.cli.helpers import answer, refusal

CHAIN = """MARKOV
3
2 2 3
2
2 0 1
2 1 2

4
 1.0 2.0 3.0 4.0

6
 1 2 3 4 5 6
"""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.uai"
    path.write_text(CHAIN)
    return path


def truth(evidence: dict[int, int] | None = None) -> tuple[float, list[np.ndarray], np.ndarray]:
    joint = np.array([[1.0, 2], [3, 4]])[:, :, None] * np.array([[1.0, 2, 3], [4, 5, 6]])[None]
    for variable, state in (evidence or {}).items():
        joint = np.where(np.indices(joint.shape)[variable] == state, joint, 0)
    z = joint.sum()
    return float(np.log(z)), [joint.sum((1, 2)) / z, joint.sum((0, 2)) / z, joint.sum((0, 1)) / z], joint / z


@pytest.mark.parametrize("algorithm", ["bp", "exact"])
def test_infer_prints_exact_marginals_of_a_chain(
    chain: Path, capsys: pytest.CaptureFixture[str], algorithm: str
) -> None:
    result = answer(capsys, "infer", chain, "--algorithm", algorithm, "--pairwise", "--json", "-")
    log_z, marginals, joint = truth()
    assert result["algorithm"] == algorithm
    assert result["converged"] is True
    assert result["log_partition"] == pytest.approx(log_z, abs=1e-9)
    assert result["log_partition_kind"] == ("exact" if algorithm == "exact" else "estimate")
    for got, expected in zip(result["marginals"], marginals, strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-9)
    pairs = {tuple(pair["variables"]): np.array(pair["table"]) for pair in result["pairwise_marginals"]}
    np.testing.assert_allclose(pairs[0, 1], joint.sum(2), atol=1e-9)
    np.testing.assert_allclose(pairs[1, 2], joint.sum(0), atol=1e-9)
    assert result["seconds"] > 0


def test_infer_takes_evidence(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence = tmp_path / "chain.evid"
    evidence.write_text("1 2 1\n")
    result = answer(capsys, "infer", chain, "--evidence", evidence, "--algorithm", "exact", "--json", "-")
    log_z, marginals, _ = truth({2: 1})
    assert result["log_partition"] == pytest.approx(log_z)
    np.testing.assert_allclose(result["marginals"][2], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(result["marginals"][0], marginals[0], atol=1e-9)


def test_temperature_zero_prints_the_most_probable_states(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "infer", chain, "--algorithm", "bp", "--temperature", "0", "--json", "-")
    assert result["assignment"] == [1, 1, 2]
    assert result["map_score"] == pytest.approx(np.log(24.0))
    assert result["log_partition"] is None
    assert result["log_partition_kind"] is None


def test_tied_states_are_decoded_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring = tmp_path / "unlike.uai"
    tables = "\n".join("4\n 1 9 9 1" for _ in range(5))
    scopes = "\n".join(f"2 {i} {i + 1}" for i in range(5))
    ring.write_text(f"MARKOV\n6\n{'2 ' * 6}\n5\n{scopes}\n{tables}\n")
    result = answer(capsys, "infer", ring, "--algorithm", "bp", "--temperature", "0", "--json", "-")
    assert result["map_score"] == pytest.approx(5 * np.log(9.0))


def test_numbers_that_are_not_finite_are_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "zero.uai"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n 0 0 0 1\n")
    result = answer(
        capsys, "infer", path, "--algorithm", "gibbs", "--burn-in", "500", "--iterations", "3", "--json", "-"
    )
    assert result["residual"] is None
    assert result["log_partition"] is None


def test_json_to_a_file_leaves_the_summary_for_people(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    assert main(["infer", str(chain), "--algorithm", "mean-field", "--json", str(out)]) == 0
    assert json.loads(out.read_text())["log_partition_kind"] == "lower_bound"
    assert "mean-field: converged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--algorithm", "bpp"], "did you mean 'bp'"),
        (["--algorithm", "bp", "--dampning", "0.5"], "did you mean '--damping'"),
        (["--algorithm", "bp", "--damping", "1"], "damping is 1"),
        (["--algorithm", "bp", "--damping", "much"], "expected a number"),
        (["--algorithm", "bp", "--damping"], "needs a value"),
        (["--algorithm", "bp", "--temperature", "nan"], "temperature is nan"),
        (["--algorithm", "bp", "--iterations", "0"], "iterations is 0"),
        (["--algorithm", "bp", "--tolerance", "-1"], "tolerance is -1"),
        (["--algorithm", "bp", "--seed", "-1"], "seed is -1"),
        (["--algorithm", "bp", "--device", "abacus"], "no device 'abacus'"),
        (["--algorithm", "bp", "--precision", "16"], "invalid choice"),
        (["--algorithm", "bp", "--evidence", "nowhere.evid"], "nowhere.evid"),
        ([], "--algorithm NAME"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(
    chain: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    assert expected in refusal(capsys, "infer", chain, *words, "--json", "-")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ""),
        (CHAIN[:-8].encode(), ""),
        (CHAIN.replace("3.0", "nan").encode(), "nan"),
        (CHAIN.replace("3.0", "-3.0").encode(), "-3.0"),
        (CHAIN.replace("MARKOV\n3", "MARKOV\n3000000000000").encode(), ""),
        (CHAIN.replace("MARKOV", "MARKOW").encode(), "MARKOV"),
    ],
)
def test_bad_files_are_refused_in_one_sentence_that_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, expected: str
) -> None:
    path = tmp_path / "bad.uai"
    path.write_bytes(content)
    message = refusal(capsys, "infer", path, "--algorithm", "bp", "--json", "-")
    assert "bad.uai" in message
    assert expected in message


def test_a_missing_file_and_an_unknown_ending_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere.uai" in refusal(capsys, "infer", tmp_path / "nowhere.uai", "--algorithm", "bp")
    other = tmp_path / "graph.txt"
    other.write_text(CHAIN)
    assert "uai" in refusal(capsys, "infer", other, "--algorithm", "bp")


def test_contradictory_evidence_is_refused_with_the_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, evidence = tmp_path / "equal.uai", tmp_path / "equal.evid"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n 1 0 0 1\n")
    evidence.write_text("2 0 0 1 1\n")
    for algorithm in ("bp", "exact"):
        message = refusal(capsys, "infer", path, "--evidence", evidence, "--algorithm", algorithm)
        assert "contradicts" in message
        assert "node" in message


def test_unknown_benchmark_names_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'ising-grid'" in refusal(capsys, "bench", "ising-gird")


def test_every_algorithm_is_listed_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", "--algorithms"]) == 0
    text = capsys.readouterr().out
    for word in ("bp:", "exact:", "mean-field:", "gibbs:", "--damping", "--chains"):
        assert word in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "infer --algorithm bp --help",
            ["--damping", "a number in [0, 1)", "--schedule", "one of parallel, sequential"],
        ),
        ("infer -h --algorithm gibbs", ["--chains", "a whole number in [2, 65536]; default 64"]),
        ("train rbm --help", ["options of the model rbm", "--hidden", "options of the learner query", "--epochs"]),
        ("train ising --learner likelihood --help", ["options of the learner likelihood", "--tolerance"]),
    ],
)
def test_help_beside_a_name_lists_its_options_with_their_ranges(
    words: str, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert not ended.value.code
    text = capsys.readouterr().out
    assert "usage:" in text
    for word in expected:
        assert word in text


def test_help_beside_an_unknown_name_guesses_it(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("infer --algorithm gibs --help", "train rbmm --help"):
        with pytest.raises(SystemExit) as ended:
            main(words.split())
        assert ended.value.code == 2
        assert "did you mean" in capsys.readouterr().err


def test_help_and_version_do_not_load_torch_or_qt() -> None:
    code = (
        "import sys\n"
        "from mrfstudio.cli import _parser, main\n"
        "commands = 'infer segment inpaint train evaluate replay data bench tour'.split()\n"
        "for words in ('--help', '--version', 'data make --help', *(f'{each} --help' for each in commands)):\n"
        "    try:\n        main(words.split())\n    except SystemExit as end:\n        assert not end.code\n"
        "print('LOADED', [m for m in ('torch', 'PySide6', 'scipy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("LOADED []\n"), done.stderr


def test_standard_output_holds_one_json_object_and_nothing_else(chain: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "mrfstudio",
        "infer",
        str(chain),
        "--algorithm",
        "gibbs",
        "--seed",
        "3",
        "--json",
        "-",
    ]
    done = subprocess.run([*words, "--iterations", "120"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert len(done.stdout.strip().splitlines()) == 1
    assert json.loads(done.stdout)["parameters"]["seed"] == 3


def test_a_mistyped_command_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["segmnt", "picture.png"])
    assert ended.value.code == 2
    assert "did you mean segment?" in capsys.readouterr().err


def test_a_tour_without_a_place_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["tour", "--out", str(tmp_path / "file" / "tour")]) == 2
    assert "choose another folder" in capsys.readouterr().err


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


def test_every_command_is_named_as_one_types_it_and_explains_every_word_it_takes() -> None:
    for parser in parsers(_parser()):
        assert re.fullmatch("mrfstudio( [a-z]+)*", parser.prog)
        for action in parser._actions:
            described = action.help or isinstance(action, argparse._SubParsersAction)
            assert described, f"{parser.prog}: {action.metavar or action.dest}"


def test_a_guess_ends_with_its_question_mark(capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "segmnt", "x.png").endswith("did you mean segment? Try mrfstudio --help.\n")
