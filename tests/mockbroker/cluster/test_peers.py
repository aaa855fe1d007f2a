"""Several brokers on virtual time: what is written to one is on all, whoever dies."""

from __future__ import annotations

import gc

import pytest

from mockbroker.metadata.store import RESOURCE_TOPIC
from mockbroker.metadata.topic_requests import ConfigAlteration
from mockbroker.node.broker import Broker
from mockbroker.state.writing import NewRecord, put
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from mockbroker_protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataResponse,
)
from tests.support.cluster_core import ClusterCore, NodeClient
from tests.support.requests import fetch


@pytest.fixture
def core() -> ClusterCore:
    return ClusterCore(topics={"t": 1})


def high_watermarks(core: ClusterCore) -> list[int]:
    return [core.partition(node, "t").high_watermark for node in core.log_ends("t")]


def test_a_write_with_all_acks_is_on_every_replica_when_it_is_answered(core: ClusterCore) -> None:
    producer = core.client(node=core.state("t").leader)
    producer.produce("t", b"a", b"b")
    assert producer.produced().error_code == 0
    assert core.log_ends("t") == {1: 2, 2: 2, 3: 2}
    assert high_watermarks(core) == [2, 2, 2]


def test_followers_by_version_17_learn_the_high_watermark_with_the_next_data(
    core: ClusterCore,
) -> None:
    core.controls.tell_high_watermark(False)
    core.advance(1000)
    leader = core.state("t").leader
    producer = core.client(node=leader)
    producer.produce("t", b"a")
    assert producer.produced().error_code == 0
    followers = [core.partition(n, "t").high_watermark for n in (1, 2, 3) if n != leader]
    assert followers == [0, 0]
    core.advance(1000)
    assert high_watermarks(core) == [1, 1, 1]


@pytest.mark.parametrize("waited_ms", [0, 1, 250, 499])
@pytest.mark.parametrize("tells", [False, True])
def test_an_idle_follower_knows_at_once_by_version_18_and_else_when_its_wait_is_over(
    core: ClusterCore, tells: bool, waited_ms: int
) -> None:
    core.controls.tell_high_watermark(tells)
    core.advance(1000)
    core.controls.hold_high_watermark("t", 0)
    leader = core.state("t").leader
    core.client(node=leader).produce("t", b"a")
    followers = [core.partition(node, "t") for node in (1, 2, 3) if node != leader]
    assert [each.log and each.log.log_end_offset for each in followers] == [1, 1]
    core.advance(waited_ms)
    core.controls.release_high_watermark("t", 0)
    core.deliver()
    assert core.partition(leader, "t").high_watermark == 1
    assert [each.high_watermark for each in followers] == ([1, 1] if tells else [0, 0])
    core.advance(499 - waited_ms)
    assert [each.high_watermark for each in followers] == ([1, 1] if tells else [0, 0])
    core.advance(1)
    assert [each.high_watermark for each in followers] == [1, 1]


def test_version_18_costs_not_one_fetch_more_while_nothing_changes() -> None:
    counts = []
    for tells in (False, True):
        core = ClusterCore(topics={"t": 2})
        core.controls.tell_high_watermark(tells)
        core.client(node=core.state("t").leader).produce("t", b"a")
        core.advance(1000)
        before = fetches_served(core)
        core.advance(6_000)
        counts.append(fetches_served(core) - before)
    assert counts[0] == counts[1] > 0


def fetches_served(core: ClusterCore) -> int:
    apis = (broker.registry.get(ApiKey.FETCH) for broker in core.cluster.brokers)
    return sum(api.requests for api in apis if api is not None)


def test_every_broker_tells_the_same_cluster(core: ClusterCore) -> None:
    answers = []
    for node in (1, 2, 3):
        client = core.client(node=node)
        metadata = client.call(MetadataRequest(topics=None), 12, MetadataResponse)
        cluster = client.call(DescribeClusterRequest(), 1, DescribeClusterResponse)
        assert [each.broker_id for each in cluster.brokers] == [1, 2, 3]
        (partition,) = metadata.topics[0].partitions
        answers.append((metadata.cluster_id, partition.leader_id, partition.isr_nodes))
    assert len({str(answer) for answer in answers}) == 1


def test_a_killed_leader_is_replaced_and_loses_nothing_that_was_acknowledged(
    core: ClusterCore,
) -> None:
    old = core.state("t").leader
    producer = core.client(node=old)
    producer.produce("t", b"a")
    assert producer.produced().error_code == 0
    core.controls.kill(old)
    core.deliver()
    assert producer.closed
    state = core.state("t")
    assert state.leader not in (old, -1)
    assert (old in state.isr, state.leader_epoch) == (False, 1)
    producer = core.client(node=state.leader)
    producer.produce("t", b"b")
    assert producer.produced().error_code == 0
    core.controls.revive(old)
    core.advance(3000)
    assert sorted(core.state("t").isr) == [1, 2, 3]
    assert [core.values(node, "t") for node in (1, 2, 3)] == [[b"a", b"b"]] * 3


def test_what_a_dead_leader_had_alone_is_cut_off_when_it_returns(core: ClusterCore) -> None:
    """KIP-595: the new leader says where the logs part."""
    old = core.state("t").leader
    others = [node for node in (1, 2, 3) if node != old]
    producer = core.client(node=old)
    producer.produce("t", b"a")
    for node in others:
        core.controls.cut_link(old, node)
    producer.produce("t", b"lost", acks=1)
    assert core.values(old, "t") == [b"a", b"lost"]
    core.controls.kill(old)
    core.deliver()
    for node in others:
        core.controls.restore_link(old, node)
    producer = core.client(node=core.state("t").leader)
    producer.produce("t", b"b")
    assert producer.produced().error_code == 0
    core.controls.revive(old)
    core.advance(3000)
    assert [core.values(node, "t") for node in (1, 2, 3)] == [[b"a", b"b"]] * 3


def test_without_fencing_a_dead_broker_is_found_out_by_its_session(core: ClusterCore) -> None:
    old = core.state("t").leader
    core.controls.kill(old, fence=False)
    core.advance(6000)
    assert core.state("t").leader == old
    core.advance(4000)
    assert core.state("t").leader != old


def test_a_leader_that_is_cut_off_believes_that_it_leads_until_it_hears(core: ClusterCore) -> None:
    old = core.state("t").leader
    core.controls.isolate(old)
    core.advance(10_000)
    new = core.state("t").leader
    assert new != old
    assert core.partition(old, "t").is_leader
    stale = core.client(node=old)
    stale.produce("t", b"stale", timeout_ms=500)
    core.advance(600)
    assert stale.produced().error_code == ErrorCode.REQUEST_TIMED_OUT
    fresh = core.client(node=new)
    fresh.produce("t", b"fresh")
    assert fresh.produced().error_code == 0
    core.controls.reconnect(old)
    core.advance(3000)
    assert not core.partition(old, "t").is_leader
    assert [core.values(node, "t") for node in (1, 2, 3)] == [[b"fresh"]] * 3
    assert sorted(core.state("t").isr) == [1, 2, 3]


def test_who_looks_into_a_leaders_log_is_not_shown_that_of_one_before(core: ClusterCore) -> None:
    before = core.state("t").leader
    after = before % 3 + 1
    core.controls.hold_link(-1, before)
    core.controls.move_leader("t", 0, after)
    core.advance(10)
    assert all(core.partition(node, "t").is_leader for node in (before, after))
    for node in (1, 2, 3):
        broker = core.cluster.broker(node)
        assert broker is not None
        assert broker.services.leader_log("t", 0) is core.partition(after, "t").log
        assert broker.services.leader_log("t", 9) is None
    (third,) = {1, 2, 3} - {before, after}
    core.controls.hold_link(third, after)
    broker = core.cluster.broker(third)
    assert broker is not None
    assert broker.services.leader_log("t", 0) is None


def test_each_broker_finds_a_group_at_its_coordinator(core: ClusterCore) -> None:
    coordinator = core.controls.coordinator("g")
    core.advance(10)
    home = core.cluster.broker(coordinator)
    assert home is not None
    for node in (1, 2, 3):
        broker = core.cluster.broker(node)
        assert broker is not None
        assert broker.services.coordinator_of("g") is home.services
    (other, *_) = {1, 2, 3} - {coordinator}
    core.controls.hold_link(coordinator, other)
    broker = core.cluster.broker(other)
    assert broker is not None
    assert broker.services.coordinator_of("g") is None


def test_a_partition_without_anyone_in_sync_has_no_leader(core: ClusterCore) -> None:
    for node in (1, 2, 3):
        core.controls.kill(node)
        core.deliver()
    assert (core.state("t").leader, core.state("t").isr) == (-1, [])


def test_clients_are_told_of_a_partition_without_leader() -> None:
    core = ClusterCore(topics={"t": 3}, config={"default.replication.factor": "1"})
    (index,) = [at for at in range(3) if core.state("t", at).leader == 2]
    core.controls.kill(2)
    core.deliver()
    metadata = core.client(node=1).call(MetadataRequest(topics=None), 8, MetadataResponse)
    answer = metadata.topics[0].partitions[index]
    assert (answer.error_code, answer.leader_id, answer.offline_replicas) == (5, -1, [2])
    assert [each.node_id for each in metadata.brokers] == [1, 3]
    core.controls.revive(2)
    core.deliver()
    assert core.state("t", index).leader == 2


def test_one_seed_gives_one_history() -> None:
    def run(seed: int) -> list[object]:
        core = ClusterCore(topics={"t": 4}, seed=seed)
        leader = core.state("t").leader
        core.client(node=leader).produce("t", b"a")
        core.controls.kill(leader)
        core.advance(10_000)
        return [
            core.cluster.metadata.cluster_id,
            [
                (s.leader, s.replicas, s.isr, s.leader_epoch)
                for s in (core.state("t", index) for index in range(4))
            ],
            core.cluster.next_deadline(),
        ]

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_preferred_leaders_return_in_time() -> None:
    often = {"leader.imbalance.check.interval.seconds": "20"}
    core = ClusterCore(topics={"t": 1}, config=often)
    preferred = core.state("t").replicas[0]
    core.controls.kill(preferred)
    core.controls.revive(preferred)
    core.advance(10_000)
    assert core.state("t").leader != preferred
    core.advance(10_000)
    assert core.state("t").leader == preferred


def test_a_slow_link_slows_replication_and_no_more(core: ClusterCore) -> None:
    leader = core.state("t").leader
    (slow, _) = [node for node in (1, 2, 3) if node != leader]
    core.advance(1000)
    core.controls.slow_link(leader, slow, 200.0)
    producer = core.client(node=leader)
    producer.produce("t", b"a")
    assert not producer.answered
    core.advance(199)
    assert not producer.answered
    core.advance(2)
    assert producer.produced().error_code == 0


def test_a_lower_minimum_in_sync_ends_who_is_eligible() -> None:
    core = ClusterCore(topics={"t": 1}, config={"min.insync.replicas": "2"})
    leader, *followers = core.state("t").replicas
    for node in followers:
        core.controls.kill(node)
    core.deliver()
    assert (core.state("t").isr, len(core.state("t").elr)) == ([leader], 1)
    change = ConfigAlteration(RESOURCE_TOPIC, "t", [("min.insync.replicas", 0, "1")])
    core.cluster.controller.alter_configs([change])
    core.deliver()
    assert core.state("t").elr == []
    producer = core.client(node=leader)
    producer.produce("t", b"a")
    assert producer.produced().error_code == 0


class Coordinated:
    """A group's coordinator, and two members that asked another broker each where it is."""

    def __init__(self, core: ClusterCore) -> None:
        self.core = core
        self.node = self.ask(1)
        self.others = [node for node in (1, 2, 3) if node != self.node]
        core.advance(1000)

    def ask(self, node: int) -> int:
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        answer = self.core.client(node=node).call(request, 4, FindCoordinatorResponse)
        assert [each.error_code for each in answer.coordinators] == [0]
        return answer.coordinators[0].node_id

    def join(self) -> NodeClient:
        client = self.core.client(node=self.node)
        request = JoinGroupRequest(
            "g", 10_000, 10_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")]
        )
        named = client.call(request, 5, JoinGroupResponse)
        assert named.error_code == ErrorCode.MEMBER_ID_REQUIRED
        request.member_id = named.member_id
        client.send(request, 5)
        return client


def test_members_that_asked_any_broker_for_the_coordinator_begin_together(
    core: ClusterCore,
) -> None:
    group = Coordinated(core)
    for node in group.others:
        assert group.ask(node) == group.node
    first = group.join()
    assert not first.answered
    second = group.join()
    generations = [each.receive(JoinGroupResponse).generation_id for each in (first, second)]
    assert generations == [1, 1]


def test_a_coordinator_does_not_wait_for_members_that_a_cut_link_kept_from_it() -> None:
    core = ClusterCore(config={"offsets.topic.replication.factor": "1"})
    group = Coordinated(core)
    for node in group.others:
        core.controls.cut_link(node, group.node)
        group.ask(node)
    assert group.join().receive(JoinGroupResponse).generation_id == 1


def brokers_in_memory(core: ClusterCore) -> int:
    gc.collect()
    journal = core.cluster.journal
    return sum(type(one) is Broker and one.journal is journal for one in gc.get_objects())


def test_nothing_keeps_a_broker_that_was_killed(core: ClusterCore) -> None:
    """The journal has its requests, scopes its logs, and the cluster the clients of its peers."""
    for node in (1, 2, 3):
        client = core.client(node=node)
        client.call(MetadataRequest(topics=None), 12, MetadataResponse)
        client.send(fetch("t", max_wait_ms=60_000), 12)
    core.act(lambda: put(core.cluster, "t", [NewRecord(b"x")]))
    for node in (1, 2, 3):
        core.act(lambda node=node: core.controls.kill(node))  # type: ignore[misc]
        core.act(lambda node=node: core.controls.revive(node))  # type: ignore[misc]
        core.advance(10_000)
    core.events.clear()
    requests = core.cluster.journal.requests()
    assert {request.broker_id for request in requests} == {1, 2, 3}
    assert brokers_in_memory(core) == 3


def test_a_follower_begins_with_the_whole_batch_in_whose_middle_the_log_begins(
    core: ClusterCore,
) -> None:
    leader, *followers = core.state("t").replicas
    for node in followers:
        core.controls.hold_follower("t", 0, node)
        core.controls.shrink_isr("t", 0, node)
    core.act(lambda: put(core.cluster, "t", [NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"c")]))
    core.act(lambda: core.partition(leader, "t").delete_records_before(1))
    for node in followers:
        core.controls.release_follower("t", 0, node)
    core.advance(3_000)
    assert sorted(core.state("t").isr) == [1, 2, 3]
    for node in (1, 2, 3):
        log = core.partition(node, "t").log
        assert log is not None
        assert (log.log_start_offset, log.log_end_offset) == (1, 3)
        assert [header.base_offset for header, _ in log.iterate_batches(0)] == [0]
