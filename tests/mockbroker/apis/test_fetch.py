"""What a fetch reads, within which limits, and what a partition answers."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker_protocol.messages.fetch import FetchResponsePartition, ReplicaState
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.fetch_world import World, ask, size_of, told

MB = 1 << 20


def filled() -> World:
    """p0 2×118, p1 1×1070, p2 empty, p3 3×118, p4 1×118 bytes."""
    world = World()
    world.create_topic("t0", 5)
    for index, sizes in enumerate(((50, 50), (1000,), (), (50, 50, 50), (50,))):
        world.append("t0", index, *sizes)
    return world


def sizes(world: World, *indexes: int, limit: int = MB, max_bytes: int = 2**31 - 1) -> list[int]:
    parts = [("t0", index, 0, limit) for index in indexes]
    return [size for *_, size in told(world.fetch_now(ask(*parts, max_bytes=max_bytes)))]


def only(
    world: World, offset: int, limit: int = MB, *, version: int = 12, **options: Any
) -> FetchResponsePartition:
    """The one partition of the answer to such a fetch of t0-0."""
    request = ask(("t0", 0, offset, limit), version=version, **options)
    response = world.fetch_now(request, version)
    (partition,) = response.responses[0].partitions
    return partition


# -- size limits (cases 77 to 91) ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_bytes", "expected"),
    [
        (0, [118, 0, 0, 0, 0]),
        (1, [118, 0, 0, 0, 0]),
        (117, [118, 0, 0, 0, 0]),
        (118, [118, 0, 0, 0, 0]),
        (119, [119, 0, 0, 0, 0]),
        (236, [236, 0, 0, 0, 0]),
        (1500, [236, 1070, 0, 194, 0]),
    ],
)
def test_the_answer_is_cut_at_the_byte_and_holds_one_batch_at_least(
    max_bytes: int, expected: list[int]
) -> None:
    assert sizes(filled(), 0, 1, 2, 3, 4, max_bytes=max_bytes) == expected


def test_an_empty_partition_passes_the_first_batch_on() -> None:
    assert sizes(filled(), 2, 1, 0, 3, max_bytes=300) == [0, 1070, 0, 0]


@pytest.mark.parametrize(
    ("limit", "order", "expected"),
    [
        (10, (0, 1, 2, 3, 4), [118, 0, 0, 0, 0]),
        (10, (1, 0, 3), [1070, 0, 0]),
        (150, (0, 1, 2, 3, 4), [150, 0, 0, 150, 118]),
        (0, (0, 3), [118, 0]),
    ],
)
def test_a_partition_gives_no_more_than_its_own_limit(
    limit: int, order: tuple[int, ...], expected: list[int]
) -> None:
    assert sizes(filled(), *order, limit=limit) == expected


def test_a_skipped_partition_leaves_the_rest_to_later_ones() -> None:
    assert sizes(filled(), 0, 1, 3, max_bytes=400) == [236, 0, 164]


def test_errors_do_not_use_up_the_first_batch() -> None:
    """Case 86."""
    world = filled()
    request = ask(("t0", 0, 2, 1), ("t0", 3, 0, 1), ("t0", 4, 0, 1))
    assert told(world.fetch_now(request)) == [("t0", 0, 0, 0), ("t0", 3, 0, 118), ("t0", 4, 0, 0)]
    request = ask(("t0", 0, 99, 1), ("t0", 3, 0, 1), ("t0", 4, 0, 1))
    assert told(world.fetch_now(request)) == [("t0", 0, 1, 0), ("t0", 3, 0, 118), ("t0", 4, 0, 0)]


def test_a_negative_limit_fails_where_there_is_data() -> None:
    """Case 87."""
    world = filled()
    assert only(world, 0, -1).error_code == -1
    assert only(world, 2, -1).error_code == 0
    assert only(world, 0, max_bytes=-1).error_code == -1
    assert only(world, 2, max_bytes=-1).error_code == 0


def test_a_batch_is_given_whole_for_an_offset_inside_it() -> None:
    """Case 88."""
    world = World()
    world.create_topic("t0")
    for _ in range(2):
        records = [Record(i, 1, None, b"v", []) for i in range(10)]
        world.append_batch("t0", 0, build_batch(records))
    first = size_of(only(world, 0, 10))
    assert size_of(only(world, 5)) == 2 * first
    assert size_of(only(world, 5, 10)) == first
    assert size_of(only(world, 15)) == first


def test_the_broker_limits_the_answer() -> None:
    """Case 89."""
    world = World({"fetch.max.bytes": "1024"})
    world.create_topic("t0")
    world.append("t0", 0, 1, 500, 1040, 500, 50)
    assert size_of(only(world, 0)) == 1024
    assert size_of(only(world, 2)) == 1110


def test_an_answer_does_not_span_segments() -> None:
    """Case 91."""
    world = World()
    world.create_topic("t0", configs={"segment.ms": "1000"})
    world.append("t0", 0, 50)
    world.advance(5_000)
    world.append("t0", 0, 50)
    assert size_of(only(world, 0)) == 118


def test_a_partition_named_twice_keeps_its_place_and_its_last_values() -> None:
    """Case 12."""
    world = filled()
    request = ask(("t0", 0, 0), ("t0", 4, 0), ("t0", 0, 1))
    assert told(world.fetch_now(request)) == [("t0", 0, 0, 118), ("t0", 4, 0, 118)]


# -- what a partition answers ----------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4, 19))
def test_data_and_emptiness_in_each_version(version: int) -> None:
    """Case 2."""
    world = World()
    world.create_topic("t0")
    world.create_topic("t1")
    world.append("t0", 0, 50, 50, 50)
    response = world.fetch_now(ask(("t0", 0, 0), ("t1", 0, 0), version=version), version)
    full, empty = (topic.partitions[0] for topic in response.responses)
    assert (full.high_watermark, full.last_stable_offset, size_of(full)) == (3, 3, 354)
    assert (empty.high_watermark, size_of(empty)) == (0, 0)
    assert full.aborted_transactions is None
    assert empty.aborted_transactions is None
    assert (full.error_code, empty.error_code, full.preferred_read_replica) == (0, 0, -1)


def test_offsets_outside_the_log_answer_1_and_tell_nothing_else() -> None:
    """Case 122."""
    world = filled()
    world.partition("t0").delete_records_before(1)
    for offset, error in ((1, 0), (2, 0), (0, 1), (-1, 1), (3, 1)):
        data = only(world, offset)
        assert data.error_code == error
        if error:
            assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (
                -1, -1, -1,
            )  # fmt: skip
            assert data.aborted_transactions is None


def test_what_the_metadata_do_not_know_is_refused_last() -> None:
    """Cases 65 and 135."""
    world = filled()
    request = ask(("t9", 0, 0), ("t0", 0, 0), ("t0", 99, 0), ("t0", -1, 0), ("", 0, 0))
    response = world.fetch_now(request)
    answers = [
        (topic.topic, data.partition_index, data.error_code)
        for topic in response.responses
        for data in topic.partitions
    ]
    assert answers == [
        ("t0", 0, 0), ("t9", 0, 3), ("t0", 99, 3), ("t0", -1, 3), ("", 0, 3),
    ]  # fmt: skip
    assert response.responses[1].partitions[0].aborted_transactions == []
    response = world.fetch_now(ask(("t9", 0, 0), ("t0", 99, 0), version=13), 13)
    assert [p.error_code for t in response.responses for p in t.partitions] == [100, 3]


@pytest.mark.parametrize(("epoch", "error"), [(-1, 0), (-5, 0), (4, 0), (3, 74), (5, 75)])
def test_the_readers_leader_epoch_must_be_ours(epoch: int, error: int) -> None:
    """Case 123."""
    world = filled()
    world.change_leader("t0", 0, 1, 4)
    assert only(world, 0, current_leader_epoch=epoch).error_code == error


def test_leaders_are_named_from_version_16_on_and_endpoints_to_consumers() -> None:
    """Cases 124 and 125."""
    world = filled()
    world.change_leader("t0", 0, 2, 4, (2,))
    for version in (15, 16, 18):
        response = world.fetch_now(
            ask(("t0", 0, 0), version=version, wait=500, min_bytes=1), version
        )
        (data,) = response.responses[0].partitions
        assert data.error_code == 6
        if version == 15:
            assert data.current_leader is None
            assert response.node_endpoints == []
        else:
            assert data.current_leader is not None
            assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 4)
            assert [(n.node_id, n.host, n.port) for n in response.node_endpoints] == [
                (2, "h", 9002)
            ]
    request = ask(("t0", 0, 0), version=18)
    request.replica_state = ReplicaState(7, -1)
    response = world.fetch_now(request, 18)
    assert response.responses[0].partitions[0].current_leader is not None
    assert response.node_endpoints == []


def test_a_leader_that_is_unknown_has_no_endpoint() -> None:
    world = filled()
    world.change_leader("t0", 0, -1, 4, (1,))
    response = world.fetch_now(ask(("t0", 0, 0), current_leader_epoch=3, version=18), 18)
    (data,) = response.responses[0].partitions
    assert data.error_code == 74
    assert data.current_leader is not None
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (-1, 4)
    assert response.node_endpoints == []


def test_a_follower_serves_consumers_from_version_11_on() -> None:
    """Case 126."""
    world = filled()
    world.change_leader("t0", 0, 2, 1, (1, 2))
    assert only(world, 0, version=10).error_code == 6
    assert size_of(only(world, 0, version=11)) == 236


@pytest.mark.parametrize(
    ("last_fetched_epoch", "offset", "error", "diverging"),
    [
        (-1, 3, 0, None),
        (5, 3, 0, None),
        (0, 2, 0, None),
        (0, 3, 0, (0, 2)),
        (9, 3, 1, None),
        (3, 3, 0, (0, 2)),
        (0, 9, 0, (0, 2)),
        (5, 9, 0, (5, 3)),
        (-1, 9, 1, None),
    ],
)
def test_a_reader_whose_log_diverges_is_told_where(
    last_fetched_epoch: int, offset: int, error: int, diverging: tuple[int, int] | None
) -> None:
    """Cases 127 to 131: epoch 0 ends at 2, epoch 5 at 3."""
    world = World()
    world.create_topic("t0")
    world.append("t0", 0, 50, 50)
    world.change_leader("t0", 0, 1, 5)
    world.append("t0", 0, 50)
    data = only(world, offset, last_fetched_epoch=last_fetched_epoch)
    assert data.error_code == error
    end = data.diverging_epoch
    assert (None if end is None else (end.epoch, end.end_offset)) == diverging


def test_a_replica_id_decides_how_far_one_reads() -> None:
    """Case 137, and 144: who is not a replica reads nothing, nor does the leader from itself."""
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    world.append("t0", 0, 50)
    assert size_of(only(world, 0, replica_id=-2)) == 0
    assert size_of(only(world, 0, replica_id=-3)) == 118
    assert size_of(only(world, 0, replica_id=2)) == 118
    for stranger in (7, 1):
        assert only(world, 0, replica_id=stranger).error_code == 6
        assert only(world, 0, replica_id=stranger, current_leader_epoch=0).error_code == 75


def test_an_unknown_isolation_level_fails_the_whole_request() -> None:
    """Cases 14 and 15."""
    world = filled()
    response = world.fetch_now(ask(("t0", 0, 0), isolation=7, session=(9, -1)))
    assert (response.error_code, response.session_id, told(response)) == (-1, 9, [("t0", 0, -1, 0)])
    response = world.fetch_now(ask(("t0", 0, 0), isolation=7, version=13), 13)
    assert (response.error_code, response.responses) == (-1, [])
    response = world.fetch_now(ask(("t9", 0, 0), isolation=7))
    assert response.error_code == 0
    assert response.responses[0].partitions[0].error_code == 3


# -- transactions --------------------------------------------------------------------------------


def transactional(world: World) -> None:
    """0 plain, 1 transactional and open (producer 7), 2 plain."""
    world.create_topic("t0")
    world.append("t0", 0, 50)
    records = [Record(0, 1, None, b"v" * 50, [])]
    world.append_batch(
        "t0", 0, build_batch(records, producer_id=7, producer_epoch=0, transactional=True)
    )
    world.append("t0", 0, 50)


def test_read_committed_ends_at_the_first_open_transaction() -> None:
    """Cases 109 and 110."""
    world = World()
    transactional(world)
    data = only(world, 0)
    assert (size_of(data), data.last_stable_offset, data.aborted_transactions) == (354, 1, None)
    data = only(world, 0, isolation=1)
    assert (size_of(data), data.high_watermark, data.last_stable_offset) == (118, 3, 1)
    assert data.aborted_transactions == []


def test_the_end_of_a_transaction_releases_who_waits_at_its_begin() -> None:
    """Cases 111, 114 and 115."""
    world = World()
    transactional(world)
    parked = world.send(ask(("t0", 0, 1), isolation=1, wait=500, min_bytes=1))
    assert not parked.answered
    world.partition("t0").append_end_of_transaction(7, 0, 0, commit=False)
    assert not parked.answered
    world.replicas.drain()
    (data,) = parked.answer().responses[0].partitions
    assert (size_of(data), data.high_watermark, data.last_stable_offset) == (314, 4, 4)
    assert data.aborted_transactions is not None
    assert [(a.producer_id, a.first_offset) for a in data.aborted_transactions] == [(7, 1)]
    assert only(world, 4, isolation=1).aborted_transactions == []


def test_the_aborted_list_is_null_where_the_first_batch_does_not_fit() -> None:
    """Case 118."""
    world = filled()
    request = ask(("t0", 4, 0), ("t0", 1, 0), isolation=1, max_bytes=200)
    skipped = world.fetch_now(request).responses[0].partitions[1]
    assert (size_of(skipped), skipped.aborted_transactions) == (0, None)
    request = ask(("t0", 4, 0), ("t0", 1, 0), isolation=1, max_bytes=118)
    skipped = world.fetch_now(request).responses[0].partitions[1]
    assert (size_of(skipped), skipped.aborted_transactions) == (0, [])


# -- version 3 -----------------------------------------------------------------------------------


def test_version_3_gets_messages_of_magic_1_from_its_offset_on() -> None:
    """Case 16."""
    world = World()
    world.create_topic("t0")
    records = [Record(i, 5, None, b"v" * 30, []) for i in range(2)]
    data = build_batch(records)
    world.append_batch("t0", 0, data)
    answer = only(world, 1, version=3)
    assert isinstance(answer.records, bytes)
    assert len(answer.records) == len(data)
    assert answer.records[16] == 1
    assert int.from_bytes(answer.records[:8], "big") == 1


def test_version_3_is_refused_what_only_zstd_could_say() -> None:
    """Case 19: by the topic's config, and by the batch."""
    world = World()
    world.create_topic("t0", configs={"compression.type": "zstd"})
    world.create_topic("t1")
    records = [Record(0, 5, None, b"v" * 30, [])]
    world.append_batch("t1", 0, build_batch(records, compression=4))
    request = ask(("t0", 0, 0), ("t1", 0, 0), version=3)
    assert told(world.fetch_now(request, 3)) == [("t0", 0, 76, 0), ("t1", 0, 76, 0)]
    assert told(world.fetch_now(ask(("t1", 0, 0), version=4), 4))[0][2] == 0
