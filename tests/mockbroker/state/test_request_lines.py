"""Requests as lines: offsets and counts are told, what idles is folded, time is the test's."""

from __future__ import annotations

import pytest

from mockbroker.faults import Fault
from mockbroker.journal import ClockChanged
from mockbroker.state.request_lines import error_names, summary, tail
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.requests import fetch, produce


@pytest.fixture
def core() -> Core:
    return Core(topics={"orders": 2})


def put(core: Core, times: int = 1) -> None:
    client = core.client("writer")
    for _ in range(times):
        client.call(produce("orders", index=1), 9, ProduceResponse)


def read(core: Core, offset: int) -> None:
    request = fetch("orders", offset, max_wait_ms=0)
    request.topics[0].partitions[0].partition = 1
    core.client("reader").call(request, 11, FetchResponse)


def lines(core: Core, count: int = 20) -> list[str]:
    return tail(core.cluster.journal, 0, count)


def test_records_are_told_with_their_offsets(core: Core) -> None:
    put(core, 2)
    read(core, 1)
    assert [line.partition(" ms ")[2] for line in lines(core)] == [
        "writer#1 Produce v9 [orders-1 1 record(s) at 0] ok",
        "writer#1 Produce v9 [orders-1 1 record(s) at 1] ok",
        "reader#2 Fetch v11 [orders-1 1 record(s) from 1] ok",
    ]


def test_committed_offsets_are_told(core: Core) -> None:
    parts = [OffsetCommitRequestPartition(at, 7 + at) for at in range(6)]
    topics = [OffsetCommitRequestTopic("orders", partitions=parts)]
    request = OffsetCommitRequest("billing", -1, "", topics=topics)
    core.client("app").call(request, 7, OffsetCommitResponse)
    assert (
        lines(core)[-1]
        .partition("v7 ")[2]
        .startswith(
            "[billing, orders-0 offset 7, orders-1 offset 8, orders-2 offset 9, orders-3 offset 10,"
            " 2 more] "
        )
    )


def test_what_names_a_topic_without_offsets_tells_its_name(core: Core) -> None:
    core.client("app").call(MetadataRequest(topics=None), 12, MetadataResponse)
    core.client("app").call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    metadata, beat = lines(core)
    assert metadata.endswith("app#1 Metadata v12 ok")
    assert beat.endswith("app#2 Heartbeat v4 [g] UNKNOWN_MEMBER_ID")


def test_what_idles_is_folded(core: Core) -> None:
    read(core, 0)
    put(core)
    for _ in range(3):
        read(core, 1)
    core.client("other").call(fetch("orders", max_wait_ms=0), 11, FetchResponse)
    found = lines(core)
    assert found[0] == "   … 1 fetches without records (reader)"
    assert "writer" in found[1]
    assert found[2:] == ["   … 4 fetches without records (other, reader)"]
    assert lines(core, 1) == found[2:]
    assert lines(core, 2) == found[1:]
    core.cluster.faults.add(Fault(api="Fetch", observe=True, id="eye"))
    read(core, 1)
    assert lines(core)[-1].endswith("Fetch v11 [orders] ok fault=eye")


def test_what_followers_fetch_is_folded(core: Core) -> None:
    put(core)
    read(core, 0)
    for served in core.cluster.journal.requests():
        served.connection_id = -1
    assert lines(core)[-1] == "   … 1 fetches of followers (followers)"


def test_times_are_those_of_the_test_without_what_was_passed_over(core: Core) -> None:
    journal = core.cluster.journal
    journal.began_ms = 500.0
    journal.record(ClockChanged("advance", 400.0, 1.0, False, 400.0))
    journal.record(ClockChanged("advance", 10_000.0, 1.0, False, 11_000.0))
    journal.record(ClockChanged("jump", 9_000.0, 1.0, False, 11_000.0))
    times = [journal.since_began_ms(at) for at in (600, 1_000, 5_000, 11_000, 11_030)]
    assert times == [100, 500, 500, 500, 530]
    put(core)
    (served,) = journal.requests()
    assert summary(served, journal).startswith(f"{served.completed_ms - 500:.0f} ms ")


def test_errors_have_kafkas_names() -> None:
    assert error_names([25, 9999]) == "UNKNOWN_MEMBER_ID, 9999"
    assert error_names([]) == "none"
