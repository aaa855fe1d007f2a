"""Who reads and who waits, read off the core."""

from __future__ import annotations

from mockbroker.state.fetching import savings, session_partitions, sessions, waits
from mockbroker_protocol.messages.fetch import FetchResponse
from tests.support.core import Core
from tests.support.requests import fetch, produce
from tests.support.transactions import Transactional


def session_of(core: Core) -> int:
    request = fetch("orders", 0, max_wait_ms=0)
    request.session_epoch = 0
    answer = core.client("reader").call(request, 11, FetchResponse)
    return int(answer.session_id)


def test_a_session_is_told_with_its_partitions() -> None:
    core = Core(topics={"orders": 1})
    session_id = session_of(core)
    (session,) = sessions(core.cluster)
    assert (session.session_id, session.epoch, session.partitions) == (session_id, 1, 1)
    assert not session.privileged
    found = session_partitions(core.cluster, session.broker, session_id)
    assert found is not None
    (one,) = found
    assert (one.topic, one.partition, one.fetch_offset) == ("orders", 0, 0)
    assert one.high_watermark_known is None
    assert session_partitions(core.cluster, session.broker, session_id + 1) is None
    assert savings(core.cluster)[0].sessions == 1


def test_nobody_waits_in_an_idle_broker() -> None:
    core = Core(topics={"orders": 1})
    session_of(core)
    assert waits(core.cluster) == []


def test_a_produce_that_waits_is_told_with_when_its_time_is_over() -> None:
    core = Core(topics={"orders": 1})
    core.act(lambda: core.cluster.controls.hold_high_watermark("orders", 0))
    core.client("writer").send(produce("orders", acks=-1), 9)
    (wait,) = waits(core.cluster)
    assert (wait.until_ms, wait.api) == (wait.since_ms + 1_000, "Produce")


def test_no_field_tells_until_when_a_produce_waits_that_is_verified_before() -> None:
    core = Core(topics={"orders": 1})
    producer = Transactional.begin(core)
    core.act(lambda: core.cluster.controls.hold_high_watermark("orders", 0))
    request = producer.produce_request("orders", 0, producer.batch("a", 0))
    core.client("writer").send(request, 12)
    (wait,) = waits(core.cluster)
    assert (wait.until_ms, wait.api) == (None, "Produce")
    assert "coordinator" in wait.wakes
