"""Consumer groups of KIP-848: heartbeats good and bad, rebalances, mixed groups, offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatTopicPartitions,
)
from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from mockbroker_protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from mockbroker_protocol.plan import encode
from tests.differential.group_steps import LOADING
from tests.differential.steps import ask
from tests.differential.txn_requests import (
    Producer,
    add_offsets,
    commit_offset,
    end,
    init,
    is_given,
    learn_producer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker_protocol.messages.transactions import TxnOffsetCommitRequest
    from tests.differential.steps import Known, Step

TOPIC, OTHER = "consumed", "consumed-too"
GROUPS = (
    "kip848", "shared", "fixed", "matched", "mixing", "simple-first", "changing", "transacting",
)  # fmt: skip


def beat(
    group: str,
    member: str,
    epoch: int,
    *,
    topics: list[str] | None = None,
    regex: str | None = None,
    owned: dict[str, list[int]] | None = None,
    joins: bool | None = None,
    **fields: Any,
) -> Callable[[Known], ConsumerGroupHeartbeatRequest]:
    """A heartbeat; with epoch 0 a join to TOPIC unless told otherwise."""
    joining = epoch == 0 if joins is None else joins

    def build(known: Known) -> ConsumerGroupHeartbeatRequest:
        names, held = topics, owned
        if joining:
            held = {} if held is None else held
            names = [TOPIC] if names is None and regex is None else names
        partitions = None
        if held is not None:
            partitions = [
                HeartbeatTopicPartitions(known[f"id of {name}"], indexes)
                for name, indexes in held.items()
            ]
        values: dict[str, Any] = {"rebalance_timeout_ms": 60_000 if joining else -1, **fields}
        return ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            subscribed_topic_names=names,
            subscribed_topic_regex=regex,
            topic_partitions=partitions,
            **values,
        )

    return build


def describe(*groups: str) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(list(groups), True)


def _learn_topic(name: str) -> Callable[[Known, Any], None]:
    def learn(known: Known, answer: Any) -> None:
        known[f"id of {name}"] = answer.topics[0].topic_id

    return learn


def setup_steps() -> list[Step]:
    steps = ask(
        "CreateTopics that are consumed",
        7,
        CreateTopicsRequest([CreatableTopic(TOPIC, 4, 1), CreatableTopic(OTHER, 2, 1)]),
    )
    for name in (TOPIC, OTHER):
        steps += ask(
            f"Metadata of {name}",
            12,
            MetadataRequest([MetadataRequestTopic(name=name)], False),
            learn=_learn_topic(name),
            until=lambda answer: answer.topics[0].error_code == 0,
        )
    for group in GROUPS:
        steps += ask(
            f"FindCoordinator of {group}",
            4,
            FindCoordinatorRequest("", 0, [group]),
            until=lambda answer: answer.coordinators[0].error_code == 0,
        )
    return [
        *steps,
        *ask(
            "DescribeGroups once they are all led",
            5,
            DescribeGroupsRequest([*GROUPS, "nobody's"], False),
            until=lambda answer: all(one.error_code not in LOADING for one in answer.groups),
        ),
        *probe_steps(),
    ]


def probe_steps() -> list[Step]:
    """Wait until Kafka's group coordinator knows the topics.

    It hears of a new metadata image by an event of its own, later than the broker that answers
    Metadata: a join that came before would be given nothing, and the group an epoch more.
    """
    topics = [TOPIC, OTHER]

    def is_given_both(answer: Any) -> bool:
        return bool(answer.assignment) and len(answer.assignment.topic_partitions) == len(topics)

    return [
        *ask("a probe joins", 1, beat("probing", "probe", 0, topics=topics),
             until=is_given_both, compared=False),
        *ask("the probe leaves", 1, beat("probing", "probe", -1)),
        *ask("DeleteGroups of the probe", 2, DeleteGroupsRequest(["probing"])),
    ]  # fmt: skip


def bad_steps() -> list[Step]:
    bad = {
        "no group": beat("", "m", 0),
        "no member": beat("kip848", " ", 3),
        "no member leaving": beat("kip848", "", -1),
        "an empty instance": beat("kip848", "m", 0, instance_id=""),
        "an empty rack": beat("kip848", "m", 0, rack_id=""),
        "no time-out": beat("kip848", "m", 0, rebalance_timeout_ms=-1),
        "partitions of its own": beat("kip848", "m", 0, owned={TOPIC: [0]}),
        "no word of its partitions": beat(
            "kip848", "m", 0, joins=False, topics=[TOPIC], rebalance_timeout_ms=5
        ),
        "no subscription": beat("kip848", "m", 0, joins=False, owned={}, rebalance_timeout_ms=5),
        "a static leave without instance": beat("kip848", "m", -2),
        "a strange epoch": beat("kip848", "m", -3),
        "a strange assignor": beat("kip848", "m", 0, server_assignor="sticky"),
        "an epoch of no group": beat("kip848", "m", 3),
        "a leave of no group": beat("kip848", "m", -1),
        "a static leave of no group": beat("kip848", "m", -2, instance_id="i"),
        "a negative time-out": beat("kip848", "m", 5, rebalance_timeout_ms=-7),
    }
    steps = []
    for what, request in bad.items():
        steps += ask(f"ConsumerGroupHeartbeat with {what}", (0, 1), request)
    steps += ask("ConsumerGroupDescribe of none", (0, 1), describe("kip848", "", "nobody's"))
    for regex in BAD_REGEXES:
        request = beat("matched", "m", 0, regex=regex)
        steps += ask(f"ConsumerGroupHeartbeat with regex {regex}", 1, request)
    return steps


def life_steps() -> list[Step]:
    """Two members that come, share, and go."""
    both = [TOPIC, OTHER]
    full: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "topics": [TOPIC]}
    return [
        *ask("m1 joins", 1, beat("shared", "m1", 0)),
        *ask("m1 stays", (0, 1), beat("shared", "m1", 2)),
        *ask("m1 says all", 1, beat("shared", "m1", 2, owned={TOPIC: [0, 1, 2, 3]}, **full)),
        *ask("m1 says that it has one", 1, beat("shared", "m1", 2, owned={TOPIC: [0]})),
        *ask("m1 joins again", 1, beat("shared", "m1", 0)),
        *ask("m1 is ahead", (0, 1), beat("shared", "m1", 3)),
        *ask("m1 is behind", (0, 1), beat("shared", "m1", 1)),
        *ask("ConsumerGroupDescribe of m1", (0, 1), describe("shared")),
        *ask("a stranger stays", (0, 1), beat("shared", "x", 2)),
        *ask("a stranger leaves", (0, 1), beat("shared", "x", -1)),
        *ask("an unknown instance stays", 1, beat("shared", "m1", 2, instance_id="i")),
        *ask("an unknown instance leaves", 1, beat("shared", "m1", -2, instance_id="i")),
        *ask("m2 joins", 1, beat("shared", "m2", 0)),
        *ask("ConsumerGroupDescribe while m1 has all", 1, describe("shared")),
        *ask("m1 is told", 1, beat("shared", "m1", 2)),
        *ask("ConsumerGroupDescribe while m1 revokes", 1, describe("shared")),
        *ask("m2 waits", 1, beat("shared", "m2", 3, owned={})),
        *ask("m1 still has all", 1, beat("shared", "m1", 2, owned={TOPIC: [0, 1, 2, 3]})),
        *ask("m1 has revoked", 1, beat("shared", "m1", 2, owned={TOPIC: [0, 1]})),
        *ask("m1 repeats its last epoch", 1, beat("shared", "m1", 2, owned={TOPIC: [0, 1]})),
        *ask("m1 repeats it with more", 1, beat("shared", "m1", 2, owned={TOPIC: [0, 2]})),
        *ask("m1 repeats it with nothing", 1, beat("shared", "m1", 2)),
        *ask("m2 gets its share", 1, beat("shared", "m2", 3, owned={})),
        *ask("ConsumerGroupDescribe of both", (0, 1), describe("shared")),
        *ask("m2 reads both", 1, beat("shared", "m2", 3, topics=both, owned={TOPIC: [2, 3]})),
        *ask("m2 goes on", 1, beat("shared", "m2", 4, owned={TOPIC: [2, 3]})),
        *ask("m1 goes on", 1, beat("shared", "m1", 3, owned={TOPIC: [0, 1]})),
        *ask("ConsumerGroupDescribe of a mix of topics", 1, describe("shared")),
        *ask("m1 asks for ranges", 1, beat("shared", "m1", 4, server_assignor="range")),
        *ask("ConsumerGroupDescribe of the assignor", 1, describe("shared")),
        *ask("m3 reads nothing", 1, beat("shared", "m3", 0, topics=[])),
        *ask("m3 leaves", 1, beat("shared", "m3", -1)),
        *ask("DescribeGroups of it", (4, 5, 6), DescribeGroupsRequest(["shared"], False)),
        *ask("DeleteGroups of it", (1, 2), DeleteGroupsRequest(["shared", "nobody's"])),
        *ask("ListGroups of consumers", 5, ListGroupsRequest([], ["consumer"])),
        *ask("ListGroups of consumers that reconcile", 5, ListGroupsRequest(
            ["reconciling"], ["Consumer"])),
        *ask("m1 leaves", (1,), beat("shared", "m1", -1)),
        *ask("m1 leaves twice", (0, 1), beat("shared", "m1", -1)),
        *ask("m2 leaves", 1, beat("shared", "m2", -1)),
        *ask("ConsumerGroupDescribe of the empty group", (0, 1), describe("shared")),
        *ask("DeleteGroups of the empty group", 2, DeleteGroupsRequest(["shared"])),
        *ask("ConsumerGroupDescribe of the deleted group", 1, describe("shared")),
    ]  # fmt: skip


def static_steps() -> list[Step]:
    static: dict[str, Any] = {"instance_id": "i"}
    return [
        *ask("a static member joins", 1, beat("fixed", "s1", 0, **static)),
        *ask("another takes its instance", (0, 1), beat("fixed", "s2", 0, **static)),
        *ask("it leaves for a while", 1, beat("fixed", "s1", -2, **static)),
        *ask("ConsumerGroupDescribe while it is away", 1, describe("fixed")),
        *ask("a second one comes", 1, beat("fixed", "d", 0)),
        *ask("the other takes it", 1, beat("fixed", "s2", 0, **static)),
        *ask("the first is fenced", (0, 1), beat("fixed", "s1", 2, **static)),
        *ask("the first cannot leave", (0, 1), beat("fixed", "s1", -1, **static)),
        *ask("nor for a while", 1, beat("fixed", "s1", -2, **static)),
        *ask("ConsumerGroupDescribe of the other", 1, describe("fixed")),
        *ask("the other leaves", 1, beat("fixed", "s2", -1, **static)),
        *ask("the second leaves", 1, beat("fixed", "d", -1)),
        *ask("ConsumerGroupDescribe of nobody", 1, describe("fixed")),
    ]


# One for each of RE2J's complaints.
BAD_REGEXES = (
    "[", "(", ")", "(a))", "*", "a|+", "a**", "(?=x)", "(?<=x)", "(?i-)", "(?P<n>a)(?P<n>b)", "\\",
    "x{2,1}", "a{1001}", r"\1", r"\y", r"\C", r"\Z", r"\x{110000}", r"[\b]", "[b-a]", "[[:no:]]",
    r"\p{Klingon}",
)  # fmt: skip


def regex_steps() -> list[Step]:
    def is_resolved(answer: Any) -> bool:
        return bool(answer.groups[0].group_epoch >= 2)

    return [
        *ask("a member with a regex", 1, beat("matched", "r1", 0, regex="consumed.*")),
        *ask("ConsumerGroupDescribe once it is resolved", 1, describe("matched"),
             until=is_resolved),
        *ask("it gets its topics", 1, beat("matched", "r1", 1, owned={})),
        *ask("another with the same", 1, beat("matched", "r2", 0, regex="consumed.*")),
        *ask("it takes names too", 1, beat("matched", "r2", 3, topics=[TOPIC])),
        # Who has which of two topics now follows from their ids, which are drawn at random.
        *ask("it drops the regex", 1, beat("matched", "r2", 4, regex="", owned={})),
        *ask("a bad one in its place", 1, beat("matched", "r1", 2, regex="[")),
        *ask("r2 leaves", 1, beat("matched", "r2", -1)),
        *ask("r1 leaves", 1, beat("matched", "r1", -1)),
    ]  # fmt: skip


MIXED_BYTES = b"\0\1" + b"".join(encode(ConsumerProtocolSubscription(topics=[TOPIC]), 1))


def learn_mixed(known: Known, answer: Any) -> None:
    known["mixed member"] = answer.member_id
    if answer.generation_id >= 0:
        known["mixed generation"] = answer.generation_id


def join(**fields: Any) -> Callable[[Known], JoinGroupRequest]:
    def build(known: Known) -> JoinGroupRequest:
        member = known["mixed member"] if fields.get("known") else fields.get("member", "")
        return JoinGroupRequest(
            "mixing",
            60_000,
            60_000,
            member,
            fields.get("instance"),
            fields.get("kind", "consumer"),
            [JoinGroupRequestProtocol(fields.get("protocol", "range"), MIXED_BYTES)],
            None,
        )

    return build


def sync(**fields: Any) -> Callable[[Known], SyncGroupRequest]:
    return lambda known: SyncGroupRequest(
        "mixing",
        fields.get("generation", known["mixed generation"]),
        fields.get("member", known["mixed member"]),
        None,
        fields.get("kind", "consumer"),
        fields.get("protocol", "range"),
        [],
    )


def heartbeat(known: Known) -> HeartbeatRequest:
    return HeartbeatRequest("mixing", known["mixed generation"], known["mixed member"], None)


def stale(known: Known) -> HeartbeatRequest:
    return HeartbeatRequest("mixing", 99, known["mixed member"], None)


def leave(known: Known) -> LeaveGroupRequest:
    identities = [MemberIdentity(one, None, None) for one in (known["mixed member"], "nobody")]
    return LeaveGroupRequest("mixing", "", identities)


def mixed_steps() -> list[Step]:
    return [
        *ask("n1 joins", 1, beat("mixing", "n1", 0)),
        *ask("JoinGroup of a strange kind", (3, 9), join(kind="connect")),
        *ask("JoinGroup of an unknown static member", 9, join(member="x", instance="i")),
        *ask("JoinGroup into it", 9, join(), learn=learn_mixed),
        *ask("JoinGroup with its id", 9, join(known=True), learn=learn_mixed),
        *ask("JoinGroup with no common protocol", 9, join(protocol="other")),
        *ask("SyncGroup in it", 5, sync()),
        *ask("SyncGroup of another generation", 5, sync(generation=99)),
        *ask("SyncGroup of another kind", 5, sync(kind="connect")),
        *ask("SyncGroup of another protocol", 5, sync(protocol="other")),
        *ask("SyncGroup of the new member", 5, sync(member="n1")),
        *ask("Heartbeat while n1 has all", 4, heartbeat),
        *ask("Heartbeat of another generation", 4, stale),
        *ask("n1 is told", 1, beat("mixing", "n1", 2)),
        *ask("n1 has revoked", 1, beat("mixing", "n1", 2, owned={TOPIC: [0, 1]})),
        *ask("Heartbeat once it is free", 4, heartbeat),
        *ask("JoinGroup for it", 9, join(known=True), learn=learn_mixed),
        *ask("SyncGroup for it", 5, sync()),
        *ask("Heartbeat when it has it", 4, heartbeat),
        *ask("ConsumerGroupDescribe of the mix", (0, 1), describe("mixing")),
        *ask("DescribeGroups of the mix", (5, 6), DescribeGroupsRequest(["mixing"], False)),
        *ask("n1 leaves the classic one", 1, beat("mixing", "n1", -1)),
        *ask("ConsumerGroupDescribe of the downgraded group", 1, describe("mixing")),
        *ask("Heartbeat after the downgrade", 4, heartbeat),
        *ask("LeaveGroup after the downgrade", 5, leave),
        *ask("n1 comes back to the empty group", 1, beat("mixing", "n1", 0)),
        *ask("n1 leaves it empty", 1, beat("mixing", "n1", -1)),
        *ask("JoinGroup into the empty one", 9, join(), learn=learn_mixed),
    ]


def commit(
    group: str, member: str, epoch: int, *, partition: int = 0, by_id: bool = False
) -> Callable[[Known], OffsetCommitRequest]:
    def build(known: Known) -> OffsetCommitRequest:
        topic = OffsetCommitRequestTopic(
            "" if by_id else TOPIC,
            known[f"id of {TOPIC}"] if by_id else bytes(16),
            [OffsetCommitRequestPartition(partition, 7, -1, "")],
        )
        return OffsetCommitRequest(group, epoch, member, None, -1, [topic])

    return build


def fetch(member: str | None, epoch: int) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(TOPIC, bytes(16), [0, 1])]
    group = OffsetFetchRequestGroup("changing", member, epoch, topics)
    return OffsetFetchRequest(groups=[group], require_stable=False)


def offsets_steps() -> list[Step]:
    delete = OffsetDeleteRequest(
        "changing",
        [
            OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(0)])
            for name in (TOPIC, OTHER)
        ],
    )
    return [
        *ask("OffsetCommit that makes a simple group", 9, commit("simple-first", "", -1)),
        *ask("a member joins the simple group", 1, beat("simple-first", "m", 0)),
        *ask("ListGroups of both kinds", 5, ListGroupsRequest([], [])),
        *ask("it leaves the simple group", 1, beat("simple-first", "m", -1)),
        *ask("o1 joins", 1, beat("changing", "o1", 0)),
        *ask("OffsetCommit of o1", (9,), commit("changing", "o1", 2)),
        *ask("OffsetCommit of o1 by id", 10, commit("changing", "o1", 2, by_id=True)),
        *ask("OffsetCommit of o1 in old versions", (5, 8), commit("changing", "o1", 2)),
        *ask("OffsetCommit of o1 ahead", 9, commit("changing", "o1", 3)),
        *ask("OffsetCommit of o1 behind", 9, commit("changing", "o1", 1)),
        *ask("OffsetCommit of o1 of no epoch", 9, commit("changing", "o1", -1)),
        *ask("OffsetCommit of nobody", (5, 9), commit("changing", "", -1)),
        *ask("OffsetCommit of a stranger", (5, 9), commit("changing", "x", 2)),
        *ask("o1 reads the other too", 1, beat("changing", "o1", 2, topics=[TOPIC, OTHER])),
        *ask("OffsetCommit of its last epoch", 9, commit("changing", "o1", 2)),
        *ask("OffsetFetch of o1", 9, fetch("o1", 3)),
        *ask("OffsetFetch of o1 behind", 9, fetch("o1", 2)),
        *ask("OffsetFetch of o1 ahead", 9, fetch("o1", 9)),
        *ask("OffsetFetch of a stranger", 9, fetch("x", 3)),
        *ask("OffsetFetch of nobody", 9, fetch(None, -1)),
        *ask("OffsetDelete while o1 reads", 0, delete),
        *ask("o1 leaves", 1, beat("changing", "o1", -1)),
        *ask("OffsetCommit to the empty group", 9, commit("changing", "", -1)),
        *ask("OffsetDelete of the empty group", 0, delete),
        *ask("DeleteGroups at the end", 2, DeleteGroupsRequest(["changing", "simple-first"])),
    ]


def transaction_steps() -> list[Step]:
    """TxnOffsetCommit of members, strangers and nobody; from v3 a member is named."""
    group, txn = "transacting", "consumer-txn"
    me = Producer(0, txn=txn, learned=txn)

    def commit_as(member: str, epoch: int) -> Callable[[Known], TxnOffsetCommitRequest]:
        request: Callable[[Known], TxnOffsetCommitRequest]
        request = commit_offset(me, 7, group=group, topic=TOPIC, generation=epoch, member=member)
        return request

    ways = {
        "nobody": ("", -1), "a stranger": ("x", 3), "a stranger of no epoch": ("x", -1),
        "nobody at an epoch": ("", 3), "t1": ("t1", 3), "t1 behind": ("t1", 2),
        "t1 long behind": ("t1", 1), "t1 ahead": ("t1", 4), "t1 of no epoch": ("t1", -1),
    }  # fmt: skip
    commits = [
        step
        for what, (member, epoch) in ways.items()
        for step in ask(f"TxnOffsetCommit of {what}", (3, 5, 6), commit_as(member, epoch))
    ]
    return [
        *ask("InitProducerId of a consumer's producer", 5, init(txn=txn),
             learn=learn_producer(txn), until=is_given),
        *ask("AddOffsetsToTxn of a consumer group", 4, add_offsets(me, group)),
        *ask("TxnOffsetCommit of a member of no group", (3, 5), commit_as("t1", 3)),
        *ask("t1 joins", 1, beat(group, "t1", 0)),
        *ask("t1 reads two", 1, beat(group, "t1", 2, topics=[TOPIC, OTHER])),
        *commits,
        *ask("t1 leaves", 1, beat(group, "t1", -1)),
        *ask("TxnOffsetCommit of t1 that left", (3, 5), commit_as("t1", 3)),
        *ask("TxnOffsetCommit of t1 that left, of no epoch", (3, 5), commit_as("t1", -1)),
        *ask("EndTxn of a consumer's producer", 4, end(me, commit=True)),
        *ask("OffsetFetch of what a consumer's producer committed", 9,
             OffsetFetchRequest(groups=[OffsetFetchRequestGroup(
                 group, None, -1, [OffsetFetchRequestTopics(TOPIC, bytes(16), [0])])],
                 require_stable=True),
             until=lambda answer: answer.groups[0].topics[0].partitions[0].error_code == 0),
        *ask("DeleteGroups of the consumer's", 2, DeleteGroupsRequest([group])),
    ]  # fmt: skip


def consumer_group_steps() -> list[Step]:
    return [
        *setup_steps(),
        *bad_steps(),
        *life_steps(),
        *static_steps(),
        *regex_steps(),
        *mixed_steps(),
        *offsets_steps(),
        *transaction_steps(),
    ]
