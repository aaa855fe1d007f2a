"""The page says what was changed, by how much, and what is missing."""

from __future__ import annotations

import pytest

from mockbroker.pipeline.what_if.replay_job import tables_of
from tests.mockbroker.pipeline.what_if.test_replay_job import ROWS

pytest.importorskip("plotly")

from mockbroker.pipeline.what_if.replay_page import facts_of, sections_of
from mockbroker.what_if.replay import FOLLOWER


def test_facts_are_words() -> None:
    settings = {"slots": 1000, "sessions": True, "kip_1166": False}
    told = facts_of(["a.jsonl", "b.jsonl"], settings, tables_of(ROWS))
    assert told[0] == "Journals: a.jsonl and 1 more; 150 fetches of 1 brokers"
    assert told[1] == "What if: session slots: 1,000, fetch sessions: on, KIP-1166: off"
    assert "by 0.67 %" in told[2]
    assert len(told) == 3


def test_without_followers_kip_1166_is_said_to_change_nothing() -> None:
    rows = [row for row in ROWS if row["kind"] != FOLLOWER]
    told = facts_of(["a.jsonl"], {"kip_1166": False}, tables_of(rows))
    assert "--journal-replication records them" in told[-1]


def test_each_part_has_what_it_promises() -> None:
    sections = {section.title: section for section in sections_of(tables_of(ROWS))}
    assert len(sections["What it costs"].plots) == 4
    (clients,) = sections["By client"].tables.values()
    assert {row["client"] for row in clients} == {"app", "broker-2-fetcher-0"}
    (trust,) = sections["How far to trust it"].tables.values()
    assert (trust[0]["polls_recorded"], trust[0]["polls_again"]) == (150, 151)
    bars = sections["What it costs"].plots[0].data
    assert [bar.name for bar in bars] == ["recorded", "as it was", "what if"]
