"""What a produce answers, in Kafka's order of checks."""

from __future__ import annotations

import pytest

from mockbroker.apis.context import CLOSE, NO_RESPONSE, PARKED
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.legacy import build_message_set
from mockbroker_protocol.records.record_codec import Record
from tests.support.fetch_world import ZERO, World, batch, topic_id

NOW = 1_700_000_000_000
Bytes = bytes | None


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t0", 2)
    return world


def request(
    *records: Bytes,
    name: str = "t0",
    identity: bytes = ZERO,
    acks: int = 1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Records for partition 0, 1 …"""
    partitions = [ProduceRequestPartition(i, data) for i, data in enumerate(records)]
    topic = ProduceRequestTopic(name, identity, partitions)
    return ProduceRequest(transactional_id, acks, 1_000, [topic])


def answers(
    world: World, asked: ProduceRequest, version: int = 9, client_id: str = "test"
) -> list[ProduceResponsePartition]:
    response = world.produce(asked, version, client_id).response
    assert isinstance(response, ProduceResponse)
    return response.responses[0].partition_responses


def codes(world: World, asked: ProduceRequest, version: int = 9) -> list[int]:
    return [answer.error_code for answer in answers(world, asked, version)]


def transactional() -> bytes:
    records = [Record(0, NOW, None, b"v", [])]
    return build_batch(
        records, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )


def test_an_append_answers_where_it_went(world: World) -> None:
    first, second = answers(world, request(batch(5, 3, NOW), batch(5, 1, NOW)))
    assert (first.index, first.error_code, first.base_offset) == (0, 0, 0)
    assert (second.index, second.error_code, second.base_offset) == (1, 0, 0)
    (again,) = answers(world, request(batch(5, 1, NOW)))
    assert (again.base_offset, again.log_append_time_ms, again.log_start_offset) == (3, -1, 0)
    log = world.partition("t0").log
    assert log is not None
    assert (log.high_watermark, log.log_end_offset) == (4, 4)


def test_log_append_time_is_told(world: World) -> None:
    world.create_topic("t1", configs={"message.timestamp.type": "LogAppendTime"})
    (answer,) = answers(world, request(batch(5, 1, 1), name="t1"))
    assert answer.log_append_time_ms == NOW


def test_topics_are_found_by_name_and_from_version_13_on_by_id(world: World) -> None:
    data = batch(5, 1, NOW)
    assert codes(world, request(data, name="t9")) == [3]
    assert codes(world, request(data, data, data)) == [0, 0, 3]
    by_id = request(data, data, data, name="", identity=topic_id("t0"))
    assert codes(world, by_id, 13) == [0, 0, 3]
    assert codes(world, request(data, name="", identity=topic_id("t9")), 13) == [100]


@pytest.mark.parametrize(
    ("records", "version", "error"),
    [
        (None, 9, 87),
        (b"", 9, 87),
        (b"garbage", 9, 87),
        (batch(5, 1, NOW)[:-1], 9, 87),
        (batch(5, 1, NOW) * 2, 9, 87),
        (batch(5, 1, NOW) + b"tail", 9, 0),
        (batch(5, 1, NOW) + batch(5, 1, NOW)[:60], 9, 0),
        (batch(5, 1, NOW) + b"\0" * 12, 9, 2),
        (batch(5, 1, NOW)[:16] + b"\3" + batch(5, 1, NOW)[17:], 9, 2),
        (build_message_set([Record(0, NOW, None, b"v", [])], 1), 9, 87),
        (build_batch([Record(0, NOW, None, b"v", [])], compression=4), 6, 76),
        (build_batch([Record(0, NOW, None, b"v", [])], compression=4), 7, 0),
    ],
)
def test_the_shape_of_the_batch_is_checked_first(
    world: World, records: Bytes, version: int, error: int
) -> None:
    (answer,) = answers(world, request(records), version)
    assert answer.error_code == error
    assert (answer.base_offset == -1) == (error != 0)
    assert answer.log_start_offset == (-1 if error else 0)


def test_bytes_that_begin_no_batch_fail_the_request(world: World) -> None:
    """Kafka looks for transactional batches first, and stumbles; what is behind one it leaves."""
    magic_3 = batch(5, 1, NOW)[:16] + b"\3" + batch(5, 1, NOW)[17:]
    found = answers(world, request(batch(5, 1, NOW), magic_3))
    assert [answer.error_code for answer in found] == [2, 2]
    assert all("magic 3" in (answer.error_message or "") for answer in found)
    assert codes(world, request(transactional(), magic_3)) == [53, 53]
    log = world.partition("t0").log
    assert log is None or log.log_end_offset == 0


def test_unknown_acks_are_refused_after_topic_and_shape(world: World) -> None:
    asked = request(batch(5, 1, NOW), b"", batch(5, 1, NOW), acks=2)
    assert codes(world, asked) == [21, 87, 3]
    log = world.partition("t0").log
    assert log is None or log.log_end_offset == 0


def test_internal_topics_take_records_from_the_admin_client_only(world: World) -> None:
    world.create_topic("__consumer_offsets")
    asked = request(batch(5, 1, NOW), name="__consumer_offsets")
    assert [a.error_code for a in answers(world, asked)] == [17]
    assert [a.error_code for a in answers(world, asked, client_id="__admin_client")] == [0]


def test_errors_of_single_records_name_them(world: World) -> None:
    world.create_topic("t1", configs={"cleanup.policy": "compact"})
    records = [Record(0, NOW, b"k", b"v", []), Record(1, NOW, None, b"v", [])]
    (answer,) = answers(world, request(build_batch(records), name="t1"))
    assert answer.error_code == 87
    assert [error.batch_index for error in answer.record_errors] == [1]
    assert answer.error_message


def test_without_an_answer_an_error_closes_the_connection(world: World) -> None:
    good, bad = request(batch(5, 1, NOW), acks=0), request(b"", acks=0)
    assert world.produce(good, 9).response is NO_RESPONSE
    assert world.produce(bad, 9).response is CLOSE
    log = world.partition("t0").log
    assert log is not None
    assert log.log_end_offset == 1


def test_a_transactional_batch_without_an_id_fails_the_request(world: World) -> None:
    asked = request(transactional(), batch(5, 1, NOW))
    assert codes(world, asked) == [53, 53]
    log = world.partition("t0", 1).log
    assert log is None or log.log_end_offset == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets_of_old_clients_become_one_batch(world: World, magic: int) -> None:
    records = [Record(i, NOW, b"k", b"v", []) for i in range(3)]
    (answer,) = answers(world, request(build_message_set(records, magic)), 2)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    log = world.partition("t0").log
    assert log is not None
    assert log.log_end_offset == 3
    (answer,) = answers(world, request(b""), 2)
    assert answer.error_code == 87
    broken = bytearray(build_message_set(records, magic))
    broken[-1] ^= 1
    (answer,) = answers(world, request(bytes(broken)), 2)
    assert answer.error_code == 2


def test_a_leader_elsewhere_is_named_from_version_10_on(world: World) -> None:
    world.change_leader("t0", 0, 2, 4, (2,))
    for version in (9, 10):
        response = world.produce(request(batch(5, 1, NOW)), version).response
        assert isinstance(response, ProduceResponse)
        (answer,) = response.responses[0].partition_responses
        assert answer.error_code == 6
        if version < 10:
            assert answer.current_leader is None
            assert response.node_endpoints == []
        else:
            assert answer.current_leader is not None
            assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 4)
            assert [(n.node_id, n.port) for n in response.node_endpoints] == [(2, 9002)]


def test_all_acks_wait_for_the_in_sync_replicas() -> None:
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    pending = world.produce(request(batch(5, 1, NOW), acks=-1), 9)
    assert pending.sentinel is PARKED
    world.change_leader("t0", 0, 1, 0, (1, 2), isr=(1,))
    response = pending.response
    assert isinstance(response, ProduceResponse)
    (answer,) = response.responses[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (0, 0)


def test_all_acks_time_out_though_the_records_stay() -> None:
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    pending = world.produce(request(batch(5, 1, NOW), acks=-1), 9)
    world.advance(1_000)
    assert isinstance(pending.response, ProduceResponse)
    (answer,) = pending.response.responses[0].partition_responses
    assert answer.error_code == 7
    log = world.partition("t0").log
    assert log is not None
    assert (log.log_end_offset, log.high_watermark) == (1, 0)


def test_all_acks_are_refused_below_min_insync_replicas() -> None:
    world = World()
    world.create_topic("t0", replicas=(1, 2), isr=(1,), configs={"min.insync.replicas": "2"})
    assert codes(world, request(batch(5, 1, NOW), acks=-1)) == [19]
    assert codes(world, request(batch(5, 1, NOW), acks=1)) == [0]
    log = world.partition("t0").log
    assert log is not None
    assert (log.log_end_offset, log.high_watermark) == (1, 0)


def test_a_client_that_has_gone_leaves_nothing_behind() -> None:
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    pending = world.produce(request(batch(5, 1, NOW), acks=-1), 9)
    pending.disconnect()
    purgatory = world.replicas.produce_purgatory
    assert (purgatory.num_delayed_operations, purgatory.watched_keys) == (0, 0)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_batch_from_an_old_producer_is_stored_as_it_is(world: World, version: int) -> None:
    """As Apache Kafka 3.9.2 did, the last that had these versions."""
    [answer] = answers(world, request(batch(3)), version)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    [answer] = answers(world, request(build_message_set([Record(0, NOW, None, b"v", [])], 1)), 2)
    assert (answer.error_code, answer.base_offset) == (0, 1)
    assert codes(world, request(b""), version) == [87]
