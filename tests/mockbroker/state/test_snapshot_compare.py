"""What differs between two snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import (
    AclsChanged,
    ClientQuotasChanged,
    ConfigsChanged,
    DelegationTokenChanged,
    ScramCredentialChanged,
)
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.scram import ScramCredential
from mockbroker.state.snapshot import Snapshot, take
from mockbroker.state.snapshot_compare import OF_THE_CLUSTER, Difference, differences
from mockbroker.state.topics import alter
from mockbroker.state.writing import create_topic
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.requests import produce

if TYPE_CHECKING:
    from mockbroker.metadata.changes import Change


def test_topics_offsets_and_configs_that_differ_are_told() -> None:
    core = Core(topics={"orders": 1})
    before = take(core.cluster)
    assert differences(before, take(core.cluster)) == []
    core.client("writer").call(produce("orders"), 9, ProduceResponse)
    create_topic(core.cluster, "paid", 2, None, {})
    alter(core.cluster, "orders", 3, {"retention.ms": "5"})
    found = {
        (one.topic, one.partition, one.what): (one.before, one.after)
        for one in differences(before, take(core.cluster))
    }
    assert found["orders", 0, "log_end_offset"] == ("0", "1")
    assert found["orders", None, "partitions"] == ("1", "3")
    assert found["orders", None, "retention.ms"] == ("default", "5")
    assert found["paid", None, "topic"] == ("not there", "2 partition(s)")


def test_records_that_are_others_at_the_same_offsets_are_told() -> None:
    core = Core(topics={"orders": 1})
    core.client("writer").call(produce("orders"), 9, ProduceResponse)
    before = take(core.cluster)
    topic = before.topics[0]
    log = topic.partitions[0].log
    other = log._replace(batches=tuple(bytes(len(batch)) for batch in log.batches))
    partition = topic.partitions[0]._replace(log=other)
    after = before._replace(topics=(topic._replace(partitions=(partition,)),))
    assert {one.what for one in differences(before, after)} == {"records"}


OF_ALICE: dict[str, Change] = {
    "broker_configs": ConfigsChanged(4, "", {"log.retention.ms": "5"}),
    "client_quotas": ClientQuotasChanged((("user", "alice"),), {"producer_byte_rate": 7.0}),
    "acls": AclsChanged([Acl(2, "a", 3, "User:alice", "*", 3, 2)], ()),
    "scram_credentials": ScramCredentialChanged(
        ("alice", 1), ScramCredential(b"hush", b"hush", b"hush", 4096)
    ),
    "delegation_tokens": DelegationTokenChanged(
        "id", DelegationToken("id", "User:alice", "User:alice", (), 1, 9, 5, b"hush")
    ),
}


@pytest.mark.parametrize("what", [one for one in OF_THE_CLUSTER if one != "next_producer_id"])
def test_what_is_of_the_whole_cluster_is_told_without_what_is_in_it(what: str) -> None:
    core = Core()
    before = take(core.cluster)
    core.cluster.metadata.apply(OF_ALICE[what])
    after = take(core.cluster)
    (found,) = differences(before, after)
    assert (found.topic, found.partition, found.what) == (None, None, what)
    assert "1 of them here alone" in found.after
    assert "hush" not in repr(found)
    assert differences(after, before) == [Difference(None, None, what, found.after, found.before)]


def test_all_that_a_snapshot_has_is_compared() -> None:
    assert set(Snapshot._fields) - {"topics", "version"} == set(OF_THE_CLUSTER)
