"""Who may commit in a transaction: the table of `offsets`, and a moved shard."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.log_port import InternalLog
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.support.core import Core
from tests.support.groups import Answer, Groups, subscription
from tests.support.transactions import GROUP, Transactional, committed_offset


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 2})


@pytest.fixture
def producer(core: Core) -> Transactional:
    producer = Transactional.begin(core)
    producer.find("g", GROUP)
    return producer


def join(core: Core, *, sync: bool) -> tuple[str, int]:
    """A member of "g", at once the leader: (id, generation)."""
    client = core.client()
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", subscription("t"))],
    )
    request.member_id = client.call(request, 5, JoinGroupResponse).member_id
    client.send(request, 5)
    core.advance(0)
    joined = client.receive(JoinGroupResponse)
    if sync:
        asked = SyncGroupRequest("g", joined.generation_id, joined.member_id)
        assert client.call(asked, 3, SyncGroupResponse).error_code == 0
    return joined.member_id, joined.generation_id


def test_without_a_group_only_nobody_may_commit(producer: Transactional) -> None:
    assert producer.commit_offset("g", "t", 0, 5, generation=3, member_id="m") == 22
    assert producer.commit_offset("g", "t", 0, 5) == 0


@pytest.mark.parametrize("sync", [False, True])
def test_members_of_this_generation_and_old_clients_may_commit(
    core: Core, producer: Transactional, sync: bool
) -> None:
    member_id, generation = join(core, sync=sync)
    commit = producer.commit_offset
    assert commit("g", "t", 0, 5, generation=generation, member_id=member_id) == 0
    assert commit("g", "t", 0, 5) == 0
    assert commit("g", "t", 0, 5, generation=generation + 1, member_id=member_id) == 22
    assert commit("g", "t", 0, 5, generation=generation, member_id="stranger") == 25


def test_a_plain_commit_that_comes_later_stays(core: Core, producer: Transactional) -> None:
    other = Transactional.begin(core, "other")
    assert producer.commit_offset("g", "t", 0, 5) == 0
    assert other.commit_offset("g", "t", 0, 9) == 0
    other.finish(commit=True)
    assert committed_offset(core, "g", "t", stable=False) == (0, 9)
    assert committed_offset(core, "g", "t") == (88, -1)
    producer.finish(commit=True)
    assert committed_offset(core, "g", "t") == (0, 9)


@pytest.mark.parametrize("commit", [None, False, True])
def test_a_shard_that_moved_knows_what_is_pending(
    core: Core, producer: Transactional, commit: bool | None
) -> None:
    assert producer.commit_offset("g", "t", 0, 5) == 0
    if commit is not None:
        producer.finish(commit=commit)
    before = committed_offset(core, "g", "t")
    service = core.broker.services.groups.service
    log = InternalLog("__consumer_offsets", core.broker.services.replicas, core.cluster.clock)
    index = service.runtime.partition_for("g")
    service.runtime.unload(index)
    service.runtime.load(index, log.read(index))
    assert committed_offset(core, "g", "t") == before
    if commit is None:
        producer.finish(commit=True)
        assert committed_offset(core, "g", "t") == (0, 5)


def test_a_shard_that_is_elsewhere_takes_no_marker(core: Core, producer: Transactional) -> None:
    assert producer.commit_offset("g", "t", 0, 5) == 0
    service = core.broker.services.groups.service
    service.runtime.unload(service.runtime.partition_for("g"))
    producer.finish(commit=True)
    assert producer.state == "PrepareCommit"
    log = InternalLog("__consumer_offsets", core.broker.services.replicas, core.cluster.clock)
    service.runtime.load(
        service.runtime.partition_for("g"), log.read(service.runtime.partition_for("g"))
    )
    core.advance(100)
    assert producer.state == "CompleteCommit"
    assert committed_offset(core, "g", "t") == (0, 5)


def test_an_error_stands_at_each_partition() -> None:
    groups = Groups()
    groups.service.runtime.unload(groups.service.runtime.partition_for("g"))
    partitions = [TxnOffsetCommitRequestPartition(index, 5) for index in (0, 1)]
    topics = [TxnOffsetCommitRequestTopic("t", bytes(16), partitions)]
    answer: Answer[TxnOffsetCommitResponse] = Answer()
    groups.service.offsets.commit_transactional(
        TxnOffsetCommitRequest("tx", "g", topics=topics), answer
    )
    assert [one.error_code for one in answer.value.topics[0].partitions] == [16, 16]
