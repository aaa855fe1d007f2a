"""What guards take out of requests and hide in answers, while the rest is answered."""

from __future__ import annotations

import pytest

from mockbroker.metadata.acls import CLUSTER_NAME
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import StandardAuthorizer
from mockbroker_protocol.messages import (
    acls,
    configs,
    fetch,
    find_coordinator,
    group_admin,
    group_membership,
    group_offsets,
    list_offsets,
    metadata,
    produce,
    topics,
    transaction_admin,
    transactions,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.mockbroker.apis.test_produce import request as produce_request
from tests.support.acls import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, deny, guarded_core
from tests.support.core import Core
from tests.support.fetch_world import batch
from tests.support.group_calls import consumer_heartbeat, stable_group
from tests.support.transactions import Transactional

NOW = 1_700_000_000_000
OP = AclOperation


def deny_cluster(core: Core, *operations: AclOperation) -> None:
    deny(core, CLUSTER, CLUSTER_NAME, *operations)


def topic_id(core: Core, name: str) -> bytes:
    return core.broker.services.metadata.topics[name].id


def bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


# -- topics ----------------------------------------------------------------------------------


def test_refused_topics_are_told_beside_the_others_or_alone() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.DESCRIBE)
    for names, expected in ((("open", "shut"), {"open": 0, "shut": 29}), (("shut",), {"shut": 29})):
        asked = list_offsets.ListOffsetsRequest(
            -1,
            0,
            [
                list_offsets.ListOffsetsTopic(name, [list_offsets.ListOffsetsPartition(0, -1, -1)])
                for name in names
            ],
            1000,
        )
        answer = core.client().call(asked, 5, list_offsets.ListOffsetsResponse)
        assert {one.name: one.partitions[0].error_code for one in answer.topics} == expected


def test_without_an_answer_the_connection_closes() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.WRITE)
    for names, kept in ((["shut"], 0), (["open", "shut"], 1)):
        asked = produce.ProduceRequest(None, 0, 1000, [])
        for name in names:
            asked.topic_data += produce_request(batch(5, 1, NOW), name=name).topic_data
        client = core.client()
        client.send(asked, 9)
        assert client.closed
        partition = core.broker.services.replicas.partition("open", 0)
        assert partition is not None
        assert (0 if partition.log is None else partition.log.log_end_offset) == kept


def fetch_of(core: Core, *names: str, version: int, replica: int = -1) -> dict[str, int]:
    wanted = [
        fetch.FetchRequestTopic(
            name, topic_id(core, name), [fetch.FetchRequestPartition(0, -1, 0, -1, -1, 1000)]
        )
        for name in names
    ]
    asked = fetch.FetchRequest(-1, 0, 0, 1000, topics=wanted)
    if version < 15:
        asked.replica_id = replica
    else:
        asked.replica_state = fetch.ReplicaState(replica)
    answer = core.client().call(asked, version, fetch.FetchResponse)
    return {
        one.topic or names[0]: data.error_code
        for one in answer.responses
        for data in one.partitions
    }


def test_a_fetch_reads_what_it_may() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.READ)
    assert fetch_of(core, "open", "shut", version=12) == {"open": 0, "shut": 29}
    deny_cluster(core, OP.CLUSTER_ACTION)
    assert fetch_of(core, "open", version=12) == {"open": 0}


def test_an_idle_poll_asks_of_a_session_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    core = guarded_core()
    asked: list[str] = []
    allows = StandardAuthorizer.allows

    def counted(
        self: StandardAuthorizer, principal: str, host: str, operation: int, kind: int, name: str
    ) -> bool:
        asked.append(name)
        return allows(self, principal, host, operation, kind, name)

    monkeypatch.setattr(StandardAuthorizer, "allows", counted)
    wanted = [
        fetch.FetchRequestTopic(
            name, ZERO_UUID, [fetch.FetchRequestPartition(0, -1, 0, -1, -1, 1000)]
        )
        for name in ("open", "shut")
    ]
    client = core.client()

    def poll(sid: int, epoch: int, topics: list[fetch.FetchRequestTopic]) -> fetch.FetchResponse:
        asked.clear()
        request = fetch.FetchRequest(-1, 0, 0, 1000, 0, sid, epoch, topics)
        return client.call(request, 12, fetch.FetchResponse)

    sid = poll(0, 0, wanted).session_id
    assert asked == ["open", "shut"]
    poll(sid, 1, [])
    poll(sid, 2, [])
    assert asked == []
    deny(core, TOPIC, "shut", OP.READ)
    (refused,) = poll(sid, 3, []).responses
    assert (refused.topic, refused.partitions[0].error_code) == ("shut", 29)
    assert set(asked) == {"shut"}
    poll(sid, 4, [])
    assert asked == ["shut"], "what is refused is asked for again"


@pytest.mark.parametrize("version", [12, 17])
def test_a_follower_needs_cluster_action(version: int) -> None:
    core = guarded_core()
    before = fetch_of(core, "open", version=version, replica=1)
    deny_cluster(core, OP.CLUSTER_ACTION)
    assert 29 not in before.values()
    assert fetch_of(core, "open", version=version, replica=1) == {"open": 29}


def test_topics_are_hidden_among_all_and_refused_by_name() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.DESCRIBE)
    every = core.client().call(metadata.MetadataRequest(None), 9, metadata.MetadataResponse)
    assert [topic.name for topic in every.topics] == ["open"]
    for version, name, told in ((9, "shut", "shut"), (0, "shut", "shut"), (12, None, None)):
        identity = ZERO_UUID if name else topic_id(core, "shut")
        one = metadata.MetadataRequest([metadata.MetadataRequestTopic(identity, name)])
        named = core.client().call(one, version, metadata.MetadataResponse)
        assert [(topic.name, topic.error_code) for topic in named.topics] == [(told, 29)]


def test_a_topic_is_created_on_the_fly_by_who_may() -> None:
    asked = metadata.MetadataRequest([metadata.MetadataRequestTopic(ZERO_UUID, "new")])
    for denied, error in (([], 3), ([CLUSTER], 3), ([TOPIC], 3), ([CLUSTER, TOPIC], 29)):
        core = guarded_core(**{"auto.create.topics.enable": "true"})
        for kind in denied:
            deny(core, kind, "new" if kind is TOPIC else CLUSTER_NAME, OP.CREATE)
        answer = core.client().call(asked, 9, metadata.MetadataResponse)
        assert [topic.error_code for topic in answer.topics] == [error]


def test_operations_are_those_that_are_left() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.WRITE)
    deny_cluster(core, OP.CREATE)
    asked = metadata.MetadataRequest(
        [metadata.MetadataRequestTopic(ZERO_UUID, "shut")], False, True, True
    )
    answer = core.client().call(asked, 9, metadata.MetadataResponse)
    (topic,) = answer.topics
    assert topic.topic_authorized_operations & bits(OP.WRITE, OP.READ) == bits(OP.READ)
    told = answer.cluster_authorized_operations
    assert told & bits(OP.CREATE, OP.ALTER) == bits(OP.ALTER)
    pages = core.client().call(
        metadata.DescribeTopicPartitionsRequest([metadata.TopicRequest("shut")]),
        0,
        metadata.DescribeTopicPartitionsResponse,
    )
    (paged,) = pages.topics
    assert paged.topic_authorized_operations & bits(OP.WRITE, OP.READ) == bits(OP.READ)


NONE = -(2**31)
"""No authorized operations are told."""


def test_hidden_topics_are_on_no_page() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.DESCRIBE)
    asked = metadata.DescribeTopicPartitionsRequest([])
    kind = metadata.DescribeTopicPartitionsResponse
    assert [one.name for one in core.client().call(asked, 0, kind).topics] == ["open"]
    both = metadata.DescribeTopicPartitionsRequest(
        [metadata.TopicRequest("open"), metadata.TopicRequest("shut")]
    )
    told = [(one.name, one.error_code) for one in core.client().call(both, 0, kind).topics]
    assert told == [("open", 0), ("shut", 29)]
    # A page may begin at a topic that is hidden; one that is not asked for is refused as ever.
    for name, expected in (
        ("shut", [("shut", 29, NONE)]),
        ("p", [("open", 42, NONE), ("shut", 42, NONE)]),
    ):
        both.cursor = metadata.PageCursor(name, 0)
        found = core.client().call(both, 0, kind).topics
        assert [
            (one.name, one.error_code, one.topic_authorized_operations) for one in found
        ] == expected
    deny(core, TOPIC, "open", OP.DESCRIBE)
    assert core.client().call(asked, 0, kind).topics == []


def test_configs_of_a_new_topic_are_told_to_who_may_see_them() -> None:
    core = guarded_core()
    deny(core, TOPIC, "new", OP.DESCRIBE_CONFIGS)
    asked = topics.CreateTopicsRequest(
        [topics.CreatableTopic("new", 1, 1), topics.CreatableTopic("other", 1, 1)]
    )
    new, other = core.client().call(asked, 7, topics.CreateTopicsResponse).topics
    assert (new.error_code, new.num_partitions, new.topic_config_error_code) == (0, -1, 29)
    assert new.configs == []
    assert (other.error_code, other.num_partitions, other.topic_config_error_code) == (0, 1, 0)


@pytest.mark.parametrize(
    ("operation", "told"), [(OP.DESCRIBE, None), (OP.DELETE, "shut")], ids=["hidden", "told"]
)
def test_the_name_behind_an_id_is_told_to_who_may_see_it(
    operation: AclOperation, told: str | None
) -> None:
    core = guarded_core()
    deny_cluster(core, OP.DELETE)
    deny(core, TOPIC, "shut", operation)
    asked = topics.DeleteTopicsRequest(
        [topics.DeleteTopicState(None, topic_id(core, name)) for name in ("open", "shut")]
    )
    answer = core.client().call(asked, 6, topics.DeleteTopicsResponse)
    assert [(one.name, one.error_code) for one in answer.responses] == [("open", 0), (told, 29)]


def test_configs_are_answered_one_by_one() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.DESCRIBE_CONFIGS, OP.ALTER_CONFIGS)
    client = core.client()
    asked = configs.DescribeConfigsRequest(
        [configs.DescribeConfigsResource(2, name) for name in ("open", "shut")]
    )
    seen = client.call(asked, 4, configs.DescribeConfigsResponse).results
    changed = client.call(
        configs.AlterConfigsRequest(
            [configs.AlterConfigsResource(2, name) for name in ("open", "shut")]
        ),
        2,
        configs.AlterConfigsResponse,
    ).responses
    expected = {("open", 0), ("shut", 29)}
    assert {(one.resource_name, one.error_code) for one in seen} == expected
    assert {(one.resource_name, one.error_code) for one in changed} == expected


# -- the cluster -----------------------------------------------------------------------------


def test_operations_on_the_cluster_are_those_that_are_left() -> None:
    core = guarded_core()
    asked = metadata.DescribeClusterRequest(True)
    deny_cluster(core, OP.ALTER)
    told = core.client().call(asked, 0, metadata.DescribeClusterResponse)
    operations = told.cluster_authorized_operations
    assert operations & bits(OP.ALTER, OP.CREATE) == bits(OP.CREATE)
    deny_cluster(core, OP.DESCRIBE)
    told = core.client().call(asked, 0, metadata.DescribeClusterResponse)
    assert told.cluster_authorized_operations == 0


def test_who_may_not_see_or_change_acls_is_told_so_in_words() -> None:
    core = guarded_core()
    client = core.client()
    deny_cluster(core, OP.DESCRIBE, OP.ALTER)
    before = list(core.broker.services.metadata.acls)
    every = (1, None, 1, None, None, 1, 1)
    described = client.call(acls.DescribeAclsRequest(*every), 3, acls.DescribeAclsResponse)
    wanted = acls.AclCreation(2, "open", 3, "User:x", "*", 3, 3)
    created = client.call(acls.CreateAclsRequest([wanted, wanted]), 3, acls.CreateAclsResponse)
    deleted = client.call(
        acls.DeleteAclsRequest([acls.DeleteAclsFilter(*every)]), 3, acls.DeleteAclsResponse
    )
    told = (31, "The request is not authorized.")
    assert (described.error_code, described.error_message) == told
    assert [(one.error_code, one.error_message) for one in created.results] == [told, told]
    assert [(one.error_code, one.error_message) for one in deleted.filter_results] == [told]
    assert list(core.broker.services.metadata.acls) == before


# -- groups ----------------------------------------------------------------------------------


def test_a_refused_member_is_told_no_protocol() -> None:
    core = guarded_core()
    deny(core, GROUP, "g", OP.READ)
    asked = group_membership.JoinGroupRequest("g", 6000, 6000, "", None, "consumer")
    for version, protocol in ((6, ""), (7, None)):
        answer = core.client().call(asked, version, group_membership.JoinGroupResponse)
        assert (answer.error_code, answer.protocol_name) == (30, protocol)


def test_coordinators_are_told_of_the_groups_that_may_be_seen() -> None:
    core = guarded_core()
    deny(core, GROUP, "shut", OP.DESCRIBE)
    keys = ["open", "shut", "free", "open"]
    asked = find_coordinator.FindCoordinatorRequest(coordinator_keys=keys)
    answer = core.client().call(asked, 4, find_coordinator.FindCoordinatorResponse)
    told = [(one.key, one.error_code, one.node_id >= 0) for one in answer.coordinators]
    found = ("open", 0, True)
    assert told == [found, ("shut", 30, False), ("free", 0, True), found]


def test_groups_are_listed_to_who_may_see_them_or_the_cluster() -> None:
    core = guarded_core()
    for name in ("open", "shut"):
        stable_group(core.client(), name)
    deny(core, GROUP, "shut", OP.DESCRIBE)
    listed = core.client().call(group_admin.ListGroupsRequest(), 4, group_admin.ListGroupsResponse)
    assert sorted(one.group_id for one in listed.groups) == ["open", "shut"]
    deny_cluster(core, OP.DESCRIBE)
    listed = core.client().call(group_admin.ListGroupsRequest(), 4, group_admin.ListGroupsResponse)
    assert [one.group_id for one in listed.groups] == ["open"]


def test_groups_are_described_and_deleted_one_by_one() -> None:
    core = guarded_core()
    for name in ("open", "shut"):
        stable_group(core.client(), name)
    deny(core, GROUP, "open", OP.ALTER_CONFIGS)
    deny(core, GROUP, "shut", OP.DESCRIBE, OP.DELETE)
    client = core.client()
    asked = group_admin.DescribeGroupsRequest(["open", "shut"], True)
    first, second = client.call(asked, 5, group_admin.DescribeGroupsResponse).groups
    assert (first.group_id, first.error_code) == ("open", 0)
    operations = first.authorized_operations
    assert operations & bits(OP.ALTER_CONFIGS, OP.READ) == bits(OP.READ)
    assert (second.group_id, second.error_code) == ("shut", 30)
    assert second.authorized_operations == -(2**31)
    deletion = group_admin.DeleteGroupsRequest(["open", "shut"])
    answer = client.call(deletion, 2, group_admin.DeleteGroupsResponse)
    assert {one.group_id: one.error_code for one in answer.results} == {"open": 68, "shut": 30}


def test_a_group_of_topics_that_may_not_be_seen_is_not_described() -> None:
    core = guarded_core()
    consumer_heartbeat(core.client(), "g", topics=["shut"])
    asked = group_admin.ConsumerGroupDescribeRequest(["g"], True)
    kind = group_admin.ConsumerGroupDescribeResponse
    deny(core, GROUP, "g", OP.DELETE)
    (group,) = core.client().call(asked, 0, kind).groups
    assert (group.error_code, len(group.members)) == (0, 1)
    assert group.authorized_operations & bits(OP.DELETE, OP.READ) == bits(OP.READ)
    deny(core, TOPIC, "shut", OP.DESCRIBE)
    (group,) = core.client().call(asked, 0, kind).groups
    assert (group.error_code, group.members) == (29, [])


def commit(core: Core) -> None:
    parts = [group_offsets.OffsetCommitRequestPartition(0, 5)]
    asked = group_offsets.OffsetCommitRequest(
        "g",
        topics=[
            group_offsets.OffsetCommitRequestTopic(name, partitions=parts)
            for name in ("open", "shut")
        ],
    )
    core.client().call(asked, 8, group_offsets.OffsetCommitResponse)


def test_offsets_of_all_topics_are_those_that_may_be_seen() -> None:
    core = guarded_core()
    commit(core)
    deny(core, TOPIC, "shut", OP.DESCRIBE)
    client, kind = core.client(), group_offsets.OffsetFetchResponse
    old = client.call(group_offsets.OffsetFetchRequest("g", None), 7, kind)
    assert [topic.name for topic in old.topics] == ["open"]
    every = group_offsets.OffsetFetchRequestGroup("g", topics=None)
    (group,) = client.call(group_offsets.OffsetFetchRequest(groups=[every]), 8, kind).groups
    assert [topic.name for topic in group.topics] == ["open"]


def test_offsets_of_topics_by_name_are_answered_one_by_one() -> None:
    core = guarded_core()
    commit(core)
    deny(core, TOPIC, "shut", OP.DESCRIBE)
    deny(core, GROUP, "h", OP.DESCRIBE)
    client, kind = core.client(), group_offsets.OffsetFetchResponse
    names = ("open", "shut")
    by_name = [group_offsets.OffsetFetchRequestTopic(name, [0]) for name in names]
    old = client.call(group_offsets.OffsetFetchRequest("g", by_name), 7, kind)
    expected = {("open", 5, 0), ("shut", -1, 29)}
    told = {
        (topic.name, one.committed_offset, one.error_code)
        for topic in old.topics
        for one in topic.partitions
    }
    assert told == expected
    named = [group_offsets.OffsetFetchRequestTopics(name, ZERO_UUID, [0]) for name in names]
    groups = [group_offsets.OffsetFetchRequestGroup(name, topics=named) for name in ("h", "g")]
    second, first = client.call(group_offsets.OffsetFetchRequest(groups=groups), 8, kind).groups
    seen = {
        (topic.name, one.committed_offset, one.error_code)
        for topic in first.topics
        for one in topic.partitions
    }
    assert seen == expected
    assert (second.group_id, second.error_code, second.topics) == ("h", 30, [])


# -- transactions ----------------------------------------------------------------------------


def test_no_topic_is_added_if_one_may_not() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.WRITE)
    asked = transactions.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_topics=[
            transactions.AddPartitionsToTxnTopic("open", [0, 9]),
            transactions.AddPartitionsToTxnTopic("shut", [0]),
        ],
    )
    answer = core.client().call(asked, 3, transactions.AddPartitionsToTxnResponse)
    told = {
        (topic.name, one.partition_index): one.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for one in topic.results_by_partition
    }
    assert told == {("open", 0): 55, ("open", 9): 3, ("shut", 0): 29}


def test_transactions_are_listed_and_described_to_who_may_see_them() -> None:
    core = guarded_core()
    for name in ("open", "shut"):
        Transactional.begin(core, name, v1=True).add({"open": [0], "shut": [0]})
    client = core.client()
    deny(core, TOPIC, "shut", OP.DESCRIBE)
    deny(core, TRANSACTIONAL_ID, "shut", OP.DESCRIBE)
    listed = client.call(
        transaction_admin.ListTransactionsRequest(),
        0,
        transaction_admin.ListTransactionsResponse,
    )
    assert [one.transactional_id for one in listed.transaction_states] == ["open"]
    described = client.call(
        transaction_admin.DescribeTransactionsRequest(["open", "shut"]),
        0,
        transaction_admin.DescribeTransactionsResponse,
    )
    first, second = described.transaction_states
    assert (first.error_code, [one.topic for one in first.topics]) == (0, ["open"])
    assert (second.transactional_id, second.error_code) == ("shut", 53)
