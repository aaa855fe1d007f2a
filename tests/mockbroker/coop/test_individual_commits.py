"""The topic of individual commits: how it is made, replayed and compacted, and who coordinates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from mockbroker.coop.extension import extension_of
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from mockbroker.state.groups import commit_offsets, delete_group
from mockbroker.state.reloading import reload_coordinators
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import DeleteGroupsRequest, DeleteGroupsResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core
from tests.support.range_group import (
    COMMIT_VERSION,
    ON,
    Committed,
    Ops,
    RangeGroup,
    fill,
    told,
)

if TYPE_CHECKING:
    from mockbroker.coop.individual_commits import IndividualCommits

OK = ErrorCode.NONE
CLUSTER = {
    **ON,
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "log.retention.ms": "-1",
    "replica.fetch.wait.max.ms": "2000",
}


def alone(core: Core | None = None, config: dict[str, str] | None = None) -> RangeGroup:
    made = RangeGroup((core or Core(topics={"t": 1}, config={**ON, **(config or {})})).client())
    fill(made.client, 100)
    return made


def commits_of(group: RangeGroup) -> IndividualCommits:
    return extension_of(group.client.core.broker.services).commits


def reload(core: Core) -> None:
    """As a coordinator that takes over."""
    for topic in (GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC):
        core.act(partial(reload_coordinators, core.cluster, topic, [0]))


def test_without_the_extension_its_topic_is_like_any_other() -> None:
    for config, internal in (({}, False), (ON, True)):
        core = Core(topics={INDIVIDUAL_COMMITS_TOPIC: 1}, config=config)
        (told_of,) = core.client().call(MetadataRequest(None), 12, MetadataResponse).topics
        assert (told_of.name, told_of.is_internal) == (INDIVIDUAL_COMMITS_TOPIC, internal)


def test_the_topic_is_made_as_that_of_groups_is() -> None:
    """LG-01."""
    config = {**ON, "offsets.topic.num.partitions": "50"}
    core = Core(topics={"t": 1}, config=config)
    group = alone(core)
    assert INDIVIDUAL_COMMITS_TOPIC not in core.cluster.metadata.topics
    group.commit((45, 50), initial=43)
    made = core.cluster.metadata.topics[INDIVIDUAL_COMMITS_TOPIC]
    assert (len(made.partitions), made.internal) == (50, True)
    assert made.configs["cleanup.policy"] == "compact"
    assert made.configs["segment.bytes"] == "10485760"
    commits = commits_of(group)
    assert [shard.partition_index for shard in commits.runtime.shards()] == [3]


def test_a_topic_with_other_partitions_is_of_no_use() -> None:
    """LG-07."""
    core = Core(topics={"t": 1, INDIVIDUAL_COMMITS_TOPIC: 10}, config=ON)
    assert alone(core).commit((4, 5))[:2] == (ErrorCode.INVALID_REQUEST, 88)


def test_the_log_tells_where_a_group_stands() -> None:
    group = alone()
    group.commit((45, 47), (50, 50), initial=43)
    group.commit((48, 49))
    group.commit((60, 61))
    reload(group.client.core)
    assert group.fetch() == (43, [(45, 50), (60, 61)], [], OK)
    group.commit((43, 44))
    reload(group.client.core)
    assert group.fetch() == (51, [(60, 61)], [], OK)


def test_without_the_topic_what_is_stable_is_left() -> None:
    """LG-06."""
    group = alone()
    group.commit((45, 50), initial=43)
    request = DeleteTopicsRequest(topic_names=[INDIVIDUAL_COMMITS_TOPIC], timeout_ms=1000)
    group.client.call(request, 5, DeleteTopicsResponse)
    assert group.fetch() == (43, [], [], OK)
    assert group.commit((45, 46)) == Committed(OK, None, 43, 1)


def test_the_topic_is_compacted_to_what_counts() -> None:
    """LG-08."""
    from mockbroker.log.cleaner import clean

    group = alone()
    group.commit((45, 47), (50, 50), initial=43)
    group.commit((48, 49))
    core = group.client.core
    partition = core.broker.services.replicas.partition(INDIVIDUAL_COMMITS_TOPIC, 0)
    assert partition is not None
    log = partition.log_to_write()
    log.config = log.config.replace(delete_retention_ms=0)
    for _ in range(2):  # tombstones go in the second round
        clean(log, 0, log.log_end_offset, 0)
    assert Ops(core.broker).take()[-1:] == ["+(45-50)"]
    reload(core)
    assert group.fetch() == (43, [(45, 50)], [], OK)


def test_what_takes_offsets_away_takes_ranges_too() -> None:
    group = alone(config={"log.retention.ms": "-1"})
    core = group.client.core
    ops = Ops(core.broker)

    def set_up() -> None:
        group.plain(43)
        group.commit((45, 47))
        ops.take()

    set_up()
    part = OffsetDeleteRequestPartition(0)
    delete = OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("t", [part])])
    assert group.client.call(delete, 0, OffsetDeleteResponse).error_code == OK
    assert ops.take() == ["P()", "T(45-47)"]
    set_up()
    group.client.call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
    assert ops.take() == ["P()", "T(45-47)"]
    set_up()
    core.act(lambda: delete_group(core.cluster, "g"))
    assert ops.take() == ["P()", "T(45-47)"]
    set_up()
    core.act(lambda: commit_offsets(core.cluster, "g", {("t", 0): 46}))
    assert ops.take() == ["P(46)", "T(45-47)"]
    assert group.fetch() == (46, [], [], OK)
    set_up()
    core.advance(8 * 24 * 3600 * 1000)
    assert ops.take() == ["P()", "T(45-47)"]
    set_up()
    group.client.call(
        DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5, DeleteTopicsResponse
    )
    assert ops.take() == ["P()", "T(45-47)"]
    assert commits_of(group).metrics()["ranges"] == 0


def test_ranges_of_a_group_that_is_gone_do_not_come_back() -> None:
    group = alone()
    group.commit((45, 47), initial=43)
    group.client.call(
        DeleteTopicsRequest(topic_names=[GROUP_METADATA_TOPIC], timeout_ms=1000),
        5,
        DeleteTopicsResponse,
    )
    assert group.commit((60, 60), initial=43) == Committed(OK, None, 43, 1)
    assert group.fetch() == (43, [(60, 60)], [], OK)


def test_what_happens_is_counted() -> None:
    group = alone(config={"individual.commit.max.ranges.per.group": "2"})
    group.commit((45, 47), (50, 50), initial=43)
    group.commit((60, 60))
    group.commit((48, 49))
    group.commit((43, 44))
    group.commit((43, 44))
    counted = group.client.core.broker.metrics()
    name = "mockbroker:type=CooperativeMetrics,name=ic."
    assert {key.removeprefix(name): counted[key] for key in counted if key.startswith(name)} == {
        "commits": 3,
        "ranges": 0,
        "groups": 0,
        "too_old": 1,
        "cap_hits": 1,
        "rebalances_called": 0,
        "tombstones": 3,
        "primary_pushes": 2,
    }


# -- several brokers -------------------------------------------------------------------------------


class Replicated:
    """Three brokers, of which the first leads t-0 and a group moves."""

    def __init__(self) -> None:
        self.core = ClusterCore(topics={"t": 1}, config=CLUSTER)
        fill(self.core.client(node=self.core.state("t").leader), 100)
        self.core.controls.coordinator("g")
        self.core.advance(10)
        self.group = RangeGroup(self.core.client(node=self.coordinator))

    @property
    def coordinator(self) -> int:
        return self.core.controls.coordinator("g")

    def commit(self, *ranges: tuple[int, int], initial: int | None = None) -> Committed | None:
        """The answer, if there is one by now."""
        from mockbroker.coop.commit_tags import commit_fields

        group = self.group
        group.client.send(group.asking(-1, commit_fields(ranges, initial)), COMMIT_VERSION)
        self.core.advance(1000)
        if not group.client.answered:
            return None
        answer = group.client.receive(OffsetCommitResponse)
        return told(answer.topics[0].partitions[0])

    def go_on_at(self, node: int) -> None:
        self.core.advance(1000)
        self.group = RangeGroup(self.core.client(node=node))

    def leaders(self) -> list[int]:
        """Who leads both logs."""
        return [
            self.core.state(name).leader
            for name in (GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC)
        ]

    def hold(self, topic: str) -> None:
        """The followers of the coordinator's partition fetch no more."""
        for node in (1, 2, 3):
            if node != self.coordinator:
                self.core.controls.hold_follower(topic, 0, node)

    def release(self, topic: str) -> None:
        for node in (1, 2, 3):
            if node != self.coordinator:
                self.core.controls.release_follower(topic, 0, node)
        self.core.advance(1000)


@pytest.fixture
def replicated() -> Replicated:
    return Replicated()


def test_ranges_outlive_their_coordinator(replicated: Replicated) -> None:
    assert replicated.commit((45, 47), (50, 50), initial=43) == Committed(OK, None, 43, 2)
    for _ in range(2):
        before = replicated.coordinator
        replicated.core.cluster.controls.kill(before)
        replicated.core.advance(20_000)
        after = replicated.coordinator
        assert after != before
        assert replicated.core.state(INDIVIDUAL_COMMITS_TOPIC).leader == after
        replicated.go_on_at(after)
        assert replicated.group.fetch() == (43, [(45, 47), (50, 50)], [], OK)
        replicated.core.cluster.controls.revive(before)
        replicated.core.advance(20_000)
    assert replicated.commit((43, 44), (48, 49)) == Committed(OK, None, 51, 0)


def test_ranges_move_with_their_coordinator(replicated: Replicated) -> None:
    replicated.commit((45, 47), initial=43)
    replicated.core.controls.move_coordinator("g", replicated.coordinator % 3 + 1)
    replicated.core.advance(1000)
    replicated.go_on_at(replicated.coordinator)
    assert replicated.group.fetch() == (43, [(45, 47)], [], OK)


@pytest.mark.parametrize("held", [GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC])
def test_a_commit_is_answered_when_both_logs_have_it(replicated: Replicated, held: str) -> None:
    replicated.commit((45, 47), initial=43)
    before = replicated.group.fetch()
    replicated.hold(held)
    assert replicated.commit((43, 43), (50, 50)) is None
    other = RangeGroup(replicated.core.client(node=replicated.coordinator))
    seen = other.fetch()
    stable, ranges = (
        (43, [(45, 47), (50, 50)]) if held == GROUP_METADATA_TOPIC else (44, [(45, 47)])
    )
    assert seen == (stable, ranges, [], OK)
    assert before == (43, [(45, 47)], [], OK)
    replicated.release(held)
    answer = replicated.group.client.receive(OffsetCommitResponse)
    assert told(answer.topics[0].partitions[0]) == Committed(OK, None, 44, 2)
    assert other.fetch() == (44, [(45, 47), (50, 50)], [], OK)


def test_what_is_committed_again_is_answered_when_it_is_replicated(replicated: Replicated) -> None:
    """What a commit that was given up has written is no more safe for being asked for again."""
    replicated.commit((45, 47), initial=43)
    replicated.hold(INDIVIDUAL_COMMITS_TOPIC)
    assert replicated.commit((50, 52)) is None
    replicated.core.advance(5_000)
    answer = replicated.group.client.receive(OffsetCommitResponse)
    assert told(answer.topics[0].partitions[0]).error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert replicated.commit((50, 51)) is None
    replicated.release(INDIVIDUAL_COMMITS_TOPIC)
    answer = replicated.group.client.receive(OffsetCommitResponse)
    assert told(answer.topics[0].partitions[0]) == Committed(OK, None, 43, 2)


def test_a_reset_again_is_answered_when_no_range_is_left_anywhere(replicated: Replicated) -> None:
    replicated.commit((45, 47), initial=43)
    replicated.hold(INDIVIDUAL_COMMITS_TOPIC)
    client = replicated.group.client
    for _ in range(2):
        client.send(replicated.group.asking(40, None), COMMIT_VERSION)
        replicated.core.advance(6_000)
        answer = client.receive(OffsetCommitResponse)
        assert told(answer.topics[0].partitions[0]).error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert commits_of_leader(replicated).metrics()["ranges"] == 0
    replicated.release(INDIVIDUAL_COMMITS_TOPIC)
    assert replicated.group.plain(40).error == OK


def commits_of_leader(replicated: Replicated) -> IndividualCommits:
    broker = replicated.core.cluster.broker(replicated.coordinator)
    assert broker is not None
    return extension_of(broker.services).commits


def test_a_range_stays_until_what_is_stable_is_replicated(replicated: Replicated) -> None:
    replicated.commit((45, 47), initial=43)
    broker = replicated.core.cluster.broker(replicated.coordinator)
    assert broker is not None
    ops = Ops(broker)
    ops.take()
    replicated.hold(GROUP_METADATA_TOPIC)
    assert replicated.commit((43, 44)) is None
    assert ops.take() == ["P(48)"]
    replicated.release(GROUP_METADATA_TOPIC)
    assert ops.take() == ["T(45-47)"]


def test_both_logs_are_led_by_one_broker(replicated: Replicated) -> None:
    """However one of them comes to another leader, and from the first commit on."""
    controls = replicated.core.controls
    first, then = replicated.coordinator, replicated.coordinator % 3 + 1
    controls.move_leader(GROUP_METADATA_TOPIC, 0, then)
    replicated.go_on_at(then)
    # The topic is made, and the broker hears that it is to lead it: the client comes again.
    loading = Committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None, -1, 0)
    assert replicated.commit((45, 47), initial=43) == loading
    assert replicated.commit((45, 47), initial=43) == Committed(OK, None, 43, 1)
    assert replicated.leaders() == [then, then]
    controls.move_leader(INDIVIDUAL_COMMITS_TOPIC, 0, first)
    assert replicated.leaders() == [then, then]
    controls.elect_preferred(GROUP_METADATA_TOPIC, 0)
    assert replicated.leaders() == [first, first]
    replicated.go_on_at(first)
    assert replicated.commit((50, 50)) == Committed(OK, None, 43, 2)


def test_where_the_logs_are_led_apart_commits_wait(replicated: Replicated) -> None:
    """A broker that lacks ranges does not lead them, until it has them."""
    replicated.commit((45, 47), initial=43)
    there, then = replicated.coordinator, replicated.coordinator % 3 + 1
    controls = replicated.core.controls
    controls.hold_follower(INDIVIDUAL_COMMITS_TOPIC, 0, then)
    controls.shrink_isr(INDIVIDUAL_COMMITS_TOPIC, 0, then)
    controls.move_coordinator("g", then)
    replicated.go_on_at(then)
    assert replicated.leaders() == [then, there]
    refused = replicated.commit((50, 50))
    assert refused == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None, -1, 0)
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert replicated.group.fetch() == (-1, [], [], loading)
    assert replicated.group.fetch(0) == (43, [], [], OK)
    controls.release_follower(INDIVIDUAL_COMMITS_TOPIC, 0, then)
    replicated.core.advance(2_000)
    assert replicated.leaders() == [then, then]
    assert replicated.commit((50, 50)) == Committed(OK, None, 43, 2)
