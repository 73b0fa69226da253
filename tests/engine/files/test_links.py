"""State in a link: small, the same where it is opened, and refused clearly when damaged."""

from __future__ import annotations

import base64
import json
import lzma
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.files.links import FILTERS, LONGEST, SCHEME, LinkError, link_of, opened, session_file_of
from mrfstudio.engine.files.sessions.session_file import load_session
from mrfstudio.engine.protocol.commands import ClearLayer, Paint, SetEvidence, SetParameter, SetStrength, Step
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.studio import Studio


def session_of(workspace: str) -> Session:
    studio = Studio()
    studio.service(workspace).begin()
    return studio.session(workspace)


def run(session: Session, iterations: int) -> None:
    session.apply(Step(iterations))
    goal = session.point.iteration + iterations
    while session.point.iteration < goal:
        session.advance(1.0)


@pytest.fixture(scope="module")
def graph() -> Session:
    session = session_of("graph")
    session.apply(SetStrength("coupling", 1.25))
    session.apply(SetEvidence((3, 7), 1))
    run(session, 4)
    session.apply(SetParameter(0, "damping", 0.3))
    run(session, 3)
    return session


def test_a_generated_graph_is_a_short_link_and_the_same_state(graph: Session) -> None:
    link = link_of(graph)
    assert link.startswith("mrfs:")
    assert len(link) <= LONGEST
    there = opened(link, load_session)
    run(there, graph.point.iteration - there.point.iteration)
    assert there.document.graph is not None
    assert there.document.graph.strengths.coupling == 1.25
    assert there.point.iteration == graph.point.iteration == 7
    one, other = (session.point.lanes[0].state for session in (graph, there))
    np.testing.assert_array_equal(one.messages.numpy(), other.messages.numpy())


def test_a_small_drawing_is_a_short_link() -> None:
    session = session_of("segment")
    session.apply(ClearLayer("observed"))
    corners = [(5.5, 5.5), (24.5, 5.5), (24.5, 20.5), (5.5, 20.5), (5.5, 5.5)]
    session.apply(Paint("observed", 0, tuple(corners), 0.5))
    link = link_of(session)
    assert len(link) <= LONGEST
    there = opened(link, load_session)
    np.testing.assert_array_equal(there.document.layers["observed"], session.document.layers["observed"])


def test_line_breaks_of_a_mail_do_no_harm(graph: Session, tmp_path: Path) -> None:
    link = link_of(graph)
    broken = "\r\n ".join(link[start : start + 72] for start in range(0, len(link), 72))
    assert session_file_of(broken, tmp_path).exists()


def test_damaged_links_are_refused_in_one_sentence(graph: Session, tmp_path: Path) -> None:
    link = link_of(graph)
    draw = random.Random(0)
    for _ in range(40):
        at = draw.randrange(6, len(link))
        damaged = link[:at] + draw.choice("AZaz09-_") + link[at + 1 :]
        if damaged != link:
            with pytest.raises(LinkError, match="damaged"):
                session_file_of(damaged, tmp_path)
    for text, words in ((link[:-20], "damaged"), ("mrfs:", "version"), ("mrfs:9AAAA", "version"), ("hello", "begins")):
        with pytest.raises(LinkError, match=words):
            session_file_of(text, tmp_path)


@pytest.mark.parametrize("parameters", [{"dorows": 4}, {"rows": -3}, {"rows": "four"}, {"couplings": "none"}])
def test_a_link_to_a_graph_that_nobody_draws_is_refused_as_a_link(
    graph: Session, tmp_path: Path, parameters: dict[str, Any]
) -> None:
    content = base64.urlsafe_b64decode(link_of(graph).removeprefix(f"{SCHEME}1") + "==")
    value = json.loads(lzma.decompress(content[4:], lzma.FORMAT_RAW, filters=FILTERS))
    value["session"]["origin"]["graph"]["parameters"] = parameters
    packed = lzma.compress(json.dumps(value).encode(), lzma.FORMAT_RAW, filters=FILTERS)
    body = base64.urlsafe_b64encode(zlib.crc32(packed).to_bytes(4, "big") + packed).decode()
    with pytest.raises(LinkError, match="This link is damaged: "):
        session_file_of(f"{SCHEME}1{body}", tmp_path)


def test_what_is_too_large_says_so() -> None:
    session = session_of("segment")
    draw = random.Random(0)
    for _ in range(60):
        points = tuple((draw.random() * 30, draw.random() * 30) for _ in range(20))
        session.apply(Paint("observed", 0, points, 0.5))
    with pytest.raises(LinkError, match="save it as a session"):
        link_of(session)
