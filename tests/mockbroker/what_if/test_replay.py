"""A recording that is run again is what it was, and what it says of other settings comes true."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from mockbroker import MockBroker
from mockbroker.fetch.savings import HIGH_WATERMARK_BYTES
from mockbroker.what_if.broker import SLOTS
from mockbroker.what_if.leads import Leads, TakenOver
from mockbroker.what_if.recording import RecordedBatch
from mockbroker.what_if.replay import (
    AS_IT_WAS,
    BROKER,
    CONSUMER,
    RECORDED,
    WHAT_IF,
    batch_bytes,
    replay_figures,
)
from mockbroker.what_if.simulate import batch_of
from mockbroker.what_if.topology import Topology, listed_parts
from mockbroker_protocol.records.batch import iterate_batches, verify_crc
from tests.support.fetch_wire import WireCluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Row = dict[str, Any]

PARTITIONS = 6
SECONDS = 5.3
TOLD = ("polls", "request_bytes", "response_bytes", "records_bytes", "named", "told", "timeouts")
"""What a recording and a run have to have in common."""


def lines_in(folder: Path) -> list[Row]:
    return [
        json.loads(line)
        for path in sorted(folder.iterdir())
        for line in path.read_text("utf-8").splitlines()
    ]


def record(
    folder: Path,
    *,
    slots: int = 1000,
    tells: bool = True,
    max_bytes: int = 50 << 20,
    backlog: int = 0,
) -> list[Row]:
    """Three brokers, two consumers, and appends at random times; the lines of their journal."""
    started = MockBroker(
        brokers=3,
        topics={"orders": PARTITIONS},
        config={"default.replication.factor": "3", SLOTS: str(slots)},
        freeze_clock=True,
        journal=folder,
        journal_replay=True,
        journal_replication=True,
    )
    with ExitStack() as stack:
        broker = stack.enter_context(started)
        broker.cluster.tell_high_watermark(tells)
        for index in range(PARTITIONS * backlog):
            broker.topic("orders").put("v" * 500, partition=index % PARTITIONS)
            broker.clock.advance(1)
        placed = [("orders", at, broker.cluster.replicas("orders", at)) for at in range(PARTITIONS)]
        topology = Topology(
            replicas=placed, consumers=2, fetch_max_bytes=max_bytes, seconds=SECONDS
        )
        wire = stack.enter_context(closing(WireCluster(broker, topology)))
        dice = Random(7)
        nodes = {
            node: sum(map(len, it.topics.values())) for node, it in listed_parts(topology).items()
        }
        now_ms = broker.clock.now_ms
        while (now_ms := now_ms + dice.expovariate(3 / 1000)) < SECONDS * 1000:
            wire.advance_to(now_ms)
            node = dice.choice(sorted(nodes))
            wire.append(node, dice.randrange(nodes[node]), batch_of(300))
        wire.advance_to(SECONDS * 1000)
    return lines_in(folder)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Row]]:
    """`record`, once for each setting."""
    known: dict[str, list[Row]] = {}

    def lines(**settings: Any) -> list[Row]:
        name = repr(sorted(settings.items()))
        if name not in known:
            known[name] = record(tmp_path_factory.mktemp("journal"), **settings)
        return known[name]

    return lines


def figures(lines: list[Row], settings: Row, name: str) -> dict[tuple[int, str], Row]:
    """By broker and client."""
    rows: list[Row] = []
    for broker in (1, 2, 3):
        mine = [line for line in lines if line.get("broker") in {None, broker}]
        rows += replay_figures(broker, mine, settings)
    return {
        (row["broker"], row["client"]): row
        for row in rows
        if row["figures"] == name and row["kind"] != BROKER
    }


def told(rows: dict[tuple[int, str], Row]) -> dict[tuple[int, str], Row]:
    return {key: {name: row[name] for name in TOLD} for key, row in rows.items()}


SESSIONS_OFF = {"sessions": False}
CASES: dict[str, tuple[Row, Row, Row]] = {
    "slots for nobody": ({}, {"slots": 0}, SESSIONS_OFF),
    "slots for all": ({"slots": 0}, {}, {"slots": 1000}),
    "high watermarks at once": ({"tells": False}, {"tells": True}, {"kip_1166": True}),
    "high watermarks later": ({"tells": True}, {"tells": False}, {"kip_1166": False}),
    "small answers": ({"backlog": 9}, {"backlog": 9, "max_bytes": 2048}, {"max_bytes": 2048}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_it_says_of_other_settings_comes_true(
    case: str, recorded: Callable[..., list[Row]]
) -> None:
    was, then, settings = CASES[case]
    lines = recorded(**was)
    assert told(figures(lines, settings, AS_IT_WAS)) == told(figures(lines, {}, RECORDED))
    foretold = told(figures(lines, settings, WHAT_IF))
    real = told(figures(recorded(**then), {}, RECORDED))
    if case == "high watermarks later":  # the first fetch was sent before they were told not to
        for (_, client), row in real.items():
            if client.startswith("broker"):
                row["request_bytes"] -= PARTITIONS // 3 * HIGH_WATERMARK_BYTES
    assert foretold == real
    assert len(real) >= 10
    assert foretold != told(figures(lines, {}, RECORDED))


def test_what_no_journal_tells_is_there_once_it_was_run_again(
    recorded: Callable[..., list[Row]],
) -> None:
    lines = recorded()
    was = figures(lines, SESSIONS_OFF, AS_IT_WAS)
    then = figures(lines, SESSIONS_OFF, WHAT_IF)
    for key, row in was.items():
        assert 0 < row["looked_at"] < then[key]["looked_at"]
    delays = [row["records_delays"] for row in was.values() if row["kind"] == CONSUMER]
    assert sum(count for each in delays for count in each.values()) > 0


def test_sessions_and_their_ends_are_counted_of_the_broker(
    recorded: Callable[..., list[Row]],
) -> None:
    lines = [line for line in recorded() if line.get("broker") in {None, 1}]
    rows = replay_figures(1, lines, SESSIONS_OFF)
    events = {row["figures"]: row["session_events"] for row in rows if row["kind"] == BROKER}
    assert events[RECORDED] == events[AS_IT_WAS] == {"opened": 4}
    assert events[WHAT_IF].keys() == {"refused"}


def test_without_followers_in_the_journal_records_appear_when_they_did(
    recorded: Callable[..., list[Row]],
) -> None:
    lines = [line for line in recorded() if line.get("connection", 0) >= 0]
    assert told(figures(lines, SESSIONS_OFF, AS_IT_WAS)) == told(figures(lines, {}, RECORDED))
    assert all(client.startswith("consumer") for _, client in figures(lines, {}, WHAT_IF))


def test_a_broker_without_fetches_has_no_figures(recorded: Callable[..., list[Row]]) -> None:
    lines = [line for line in recorded() if line.get("api") != "Fetch"]
    assert replay_figures(1, lines, {}) == []


def test_a_batch_is_stored_with_zeros_for_its_records() -> None:
    data = batch_of(300)
    batch = RecordedBatch(0.0, 1, "t", 0, 0, len(data), data[:61])
    made = batch_bytes(batch)
    ((pos, header),) = iterate_batches(made)
    assert verify_crc(made, pos, header)
    ((_, was),) = iterate_batches(data)
    assert (header.size_in_bytes, header.last_offset) == (was.size_in_bytes, was.last_offset)
    assert not any(made[61:])
    whole = RecordedBatch(0.0, 1, "t", 0, 0, len(data), data)
    assert batch_bytes(whole) == data


def moved(folder: Path) -> list[Row]:
    """The lines of three brokers whose leader moved amid appends; each has led the partition."""
    with MockBroker(
        brokers=3,
        topics={"orders": 1},
        config={"default.replication.factor": "3"},
        freeze_clock=True,
        journal=folder,
        journal_replay=True,
        journal_replication=True,
    ) as broker:
        for node in broker.cluster.replicas("orders", 0):
            broker.cluster.move_leader("orders", 0, to=node)
            for at in range(5 * (node != 2)):  # one leads and is never written to
                broker.topic("orders").put(str(at) * 100, partition=0)
                broker.clock.advance(10)
            broker.clock.advance(700)
    return lines_in(folder)


def test_who_leads_later_has_what_it_had_copied_before(tmp_path: Path) -> None:
    lines = moved(tmp_path)
    was, again = (told(figures(lines, {}, name)) for name in (RECORDED, AS_IT_WAS))
    assert {broker for broker, _ in was} == {1, 2, 3}
    assert again == was


def test_nobody_asks_without_end_in_one_instant(tmp_path: Path) -> None:
    lines = moved(tmp_path)
    with patch.object(Leads, "taken_over", return_value=TakenOver(0, 0)):
        assert all(row["polls"] < 5_000 for row in figures(lines, {}, AS_IT_WAS).values())
