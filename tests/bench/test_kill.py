"""A few kills: nothing that was acknowledged is lost."""

from mrfstudio.bench import kill


def test_what_a_killed_child_said_it_did_is_there() -> None:
    report = kill.run(kills=4)
    rows = {row.what: row.value for row in report.rows}
    assert rows["kills"] == 4
    assert rows["acts lost, or files half written"] == 0
