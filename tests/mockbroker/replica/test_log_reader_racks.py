"""KIP-392 on three brokers in three racks: who reads where, and how far."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from tests.support.cluster_core import ClusterCore

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RACKS = {1: "a", 2: "b", 3: "c"}


@pytest.fixture
def core() -> ClusterCore:
    core = ClusterCore(
        topics={"t": 1}, racks=list(RACKS.values()), config={"replica.selector.class": SELECTOR}
    )
    producer = core.client(node=core.state("t").leader)
    producer.produce("t", b"a", b"b")
    assert producer.produced().error_code == 0
    return core


def fetch(
    core: ClusterCore, node: int, offset: int, rack: str = "", *, version: int = 12, epoch: int = -1
) -> FetchResponsePartition:
    partition = FetchRequestPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=epoch
    )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchRequestTopic(topic="t", partitions=[partition])],
        rack_id=rack,
    )
    answer = core.client(node=node).call(request, version, FetchResponse)
    return answer.responses[0].partitions[0]


def leader_and_follower(core: ClusterCore) -> tuple[int, int]:
    leader = core.state("t").leader
    return leader, next(node for node in core.state("t").isr if node != leader)


def test_a_consumer_is_sent_to_the_replica_in_its_rack(core: ClusterCore) -> None:
    leader, follower = leader_and_follower(core)
    told = fetch(core, leader, 0, RACKS[follower])
    assert (told.error_code, told.preferred_read_replica) == (0, follower)
    assert told.high_watermark == 2
    assert not told.records
    served = fetch(core, follower, 0, RACKS[follower])
    assert (served.error_code, served.preferred_read_replica) == (0, -1)
    assert served.records


@pytest.mark.parametrize(("rack", "version"), [("", 12), ("elsewhere", 12), (None, 12), (None, 10)])
def test_who_is_served_by_the_leader(core: ClusterCore, rack: str | None, version: int) -> None:
    leader, _ = leader_and_follower(core)
    told = fetch(core, leader, 0, RACKS[leader] if rack is None else rack, version=version)
    assert told.preferred_read_replica == -1
    assert told.records


def test_a_follower_that_lags_or_is_out_of_sync_is_nobodys_choice(core: ClusterCore) -> None:
    leader, follower = leader_and_follower(core)
    core.controls.hold_follower("t", 0, follower)
    producer = core.client(node=leader)
    producer.produce("t", b"c", acks=1)
    assert fetch(core, leader, 0, RACKS[follower]).preferred_read_replica == follower
    assert fetch(core, leader, 3, RACKS[follower]).preferred_read_replica == -1
    core.controls.shrink_isr("t", 0, follower)
    core.deliver()
    assert fetch(core, leader, 0, RACKS[follower]).preferred_read_replica == -1


def test_without_a_selector_nobody_is_sent_away() -> None:
    core = ClusterCore(topics={"t": 1}, racks=list(RACKS.values()))
    leader, follower = leader_and_follower(core)
    assert fetch(core, leader, 0, RACKS[follower]).preferred_read_replica == -1


def test_a_follower_serves_up_to_its_own_high_watermark(core: ClusterCore) -> None:
    leader, follower = leader_and_follower(core)
    core.controls.tell_high_watermark(False)
    core.advance(1000)
    core.client(node=leader).produce("t", b"c")
    assert core.partition(follower, "t").high_watermark == 2
    answer = fetch(core, follower, 2)
    assert (answer.error_code, answer.high_watermark) == (0, 2)
    assert not answer.records
    assert fetch(core, follower, 4).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_old_consumers_and_wrong_epochs_are_refused_by_a_follower(core: ClusterCore) -> None:
    _, follower = leader_and_follower(core)
    assert fetch(core, follower, 0, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetch(core, follower, 0, epoch=9).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    core.controls.move_leader("t", 0, follower)
    core.deliver()
    assert fetch(core, follower, 0, epoch=0).error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_what_consumers_are_given_counts_where_they_were_served(core: ClusterCore) -> None:
    leader, follower = leader_and_follower(core)
    hosted = [core.partition(node, "t") for node in (leader, follower)]
    assert [one.high_watermark for one in hosted] == [2, 2]
    assert [one.messages_out for one in hosted] == [0, 0]
    fetch(core, leader, 0, RACKS[follower])
    fetch(core, follower, 0, RACKS[follower])
    fetch(core, leader, 1)
    assert [one.messages_out for one in hosted] == [1, 2]
    size = hosted[0].open_log().size_bytes
    assert [one.bytes_out for one in hosted] == [size, size]
