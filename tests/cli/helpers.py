"""What a command answers, and what it refuses in one sentence."""

import json

import pytest

from mrfstudio.cli import main


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert main([str(w) for w in words]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run, expect status 2, nothing on standard output, and one sentence on standard error."""
    try:
        status = main([str(w) for w in words])
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.rstrip().endswith((".", "?"))
    return captured.err
