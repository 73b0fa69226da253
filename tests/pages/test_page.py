"""Runs as web pages: what a person reads in a browser is what the session computed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.cli import main
from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.protocol.commands import SetParameter, Step
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.tasks.page import run_of, write_page
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from mrfstudio.pages.page import LARGEST, described, page_of, thinner
from mrfstudio.pages.run import PageLane, PageRun
from tests.pages.chromium import Chromium, found


def a_session(iterations: int, side: int = 10) -> Session:
    graph = ising_grid(side, side, coupling=0.7, field=0.3, seed=1)
    session = Session(GraphWorkspace({"grid": graph}, (side, side)), "grid", "bp", {"damping": 0.3}, playing=False)
    session.apply(Step(iterations))
    while session.point.iteration < iterations:
        session.advance(1.0)
    return session


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    session = a_session(12, 4)
    session.apply(SetParameter(0, "damping", 0.6))
    session.apply(Step(3))
    while session.point.iteration < 15:
        session.advance(1.0)
    return save_session(session, tmp_path_factory.mktemp("pages") / "run.mrfs")


def test_every_iteration_is_that_of_the_session(saved: Path) -> None:
    session = load_session(saved)
    run = run_of(session)
    assert run.iterations == tuple(range(16))
    lane = session.point.lanes[0]
    pair = session.workspace.edge_messages(lane.model, lane.state, 5)
    assert pair is not None
    messages = run.lanes[0].messages
    assert messages is not None
    np.testing.assert_array_equal(messages[-1, 5, 0], pair[0])
    residuals = [each.residual for each in session.measurements.by_lane[0].scalars]
    np.testing.assert_array_equal(run.lanes[0].curves["residual"][1:], residuals)
    assert np.isnan(run.lanes[0].curves["residual"][0])
    np.testing.assert_allclose(run.lanes[0].beliefs.sum(2), 1, atol=1e-6)


def test_a_page_stands_alone_and_is_small(tmp_path: Path) -> None:
    """200 iterations of a 10×10 grid with messages."""
    path = save_session(a_session(200), tmp_path / "long.mrfs")
    size = write_page(path, tmp_path / "long.html", ("# A lesson", "Look at <this>."))
    page = (tmp_path / "long.html").read_text(encoding="utf-8")
    assert size == len(page.encode()) <= LARGEST
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.S).group(1))  # type: ignore[union-attr]
    assert len(data["iterations"]) == 201
    assert data["lanes"][0]["messages"]["shape"] == [201, 180, 2, 2]
    assert "Look at &lt;this&gt;." in page
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page)


def test_what_is_too_large_loses_iterations_but_never_the_last() -> None:
    beliefs = np.random.default_rng(0).integers(0, 256, (40, 30, 30, 3)).astype(np.uint8)
    lane = PageLane("A", beliefs, None, {"residual": np.arange(40.0)})
    run = PageRun("noise", tuple(range(40)), (lane,), labels=("a", "b", "c"))
    small = thinner(run)
    assert small.iterations == (*range(0, 40, 2), 39)
    np.testing.assert_array_equal(small.lanes[0].beliefs[-1], beliefs[39])
    page = page_of(run, 90_000)
    assert len(page.encode()) <= 90_000
    assert "not every iteration" in page
    assert json.dumps(described(small))


def test_replay_writes_the_page_with_the_words_of_a_lesson(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.html"
    assert main(["replay", str(saved), "--page", str(out), "--lesson", "messages-on-a-ring", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["page_bytes"] == out.stat().st_size
    assert "<p>" in out.read_text(encoding="utf-8")
    assert main(["replay", str(saved), "--page", str(out), "--lesson", "no-such-lesson"]) == 2


@pytest.mark.skipif(found() is None, reason="there is no Chromium here")
def test_a_browser_shows_the_numbers_of_the_session(saved: Path, tmp_path: Path) -> None:
    """Move the slider, point at a node and at an edge, and read what is written there."""
    write_page(saved, tmp_path / "run.html", ("Some words.",))
    run = run_of(load_session(saved))
    with Chromium(tmp_path / "profile") as browser:
        browser.open(tmp_path / "run.html")
        assert browser.value("document.getElementById('slider').max") == "15"
        browser.value("document.getElementById('slider').focus()")
        for _ in range(8):
            browser.press("ArrowLeft", 37)
        assert browser.value("document.getElementById('iteration').textContent") == "iteration 7 of 15"
        browser.point(*browser.value("mrfstudio.place(5)"))
        read = browser.value("[...document.querySelectorAll('.bar[data-kind=belief]')].map(b => +b.dataset.value)")
        np.testing.assert_allclose(read, run.lanes[0].beliefs[7, 5], rtol=1e-6)
        browser.point(*browser.value("mrfstudio.middle(3)"))
        assert run.lanes[0].messages is not None
        for side in (0, 1):
            select = f"[...document.querySelectorAll('.bar[data-kind=message-{side}]')].map(b => +b.dataset.value)"
            np.testing.assert_allclose(browser.value(select), run.lanes[0].messages[7, 3, side], rtol=1e-6)
        shown = browser.value("document.querySelector('[data-curve=residual]').textContent")
        assert float(shown) == pytest.approx(run.lanes[0].curves["residual"][7], rel=1e-6)
        (tmp_path / "page.png").write_bytes(browser.picture())
        assert (tmp_path / "page.png").stat().st_size > 10_000
