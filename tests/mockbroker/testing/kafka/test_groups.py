"""A group of a Kafka cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import GroupError, MockBroker, NotSupported, WaitTimeoutError

if TYPE_CHECKING:
    from mockbroker import Kafka


def test_a_group_is_committed_for_seen_and_forgotten(broker: MockBroker, kafka: Kafka) -> None:
    broker.topic("orders").put_all(["a", "b", "c"])
    group = kafka.group("billing")
    assert (group.state, group.members(), group.committed(), group.lag()) == ("Dead", [], {}, {})
    assert group.commit({("orders", 0): 1}) == {("orders", 0): 1}
    assert group.describe() == broker.group("billing").describe()._replace(generation_id=-1)
    assert group.lag() == broker.group("billing").lag()
    assert kafka.groups() == ["billing"]
    group.delete()
    group.delete()
    assert kafka.groups() == []


def test_a_commit_is_tried_again_while_the_coordinator_moves(
    broker: MockBroker, kafka: Kafka
) -> None:
    broker.topic("orders").put("a")
    broker.faults.add({"api": "OffsetCommit", "error": "NOT_COORDINATOR", "count": 1})
    assert kafka.group("billing").commit({("orders", 0): 1}) == {("orders", 0): 1}


def test_what_only_the_fake_shares_is_refused(kafka: Kafka) -> None:
    group = kafka.group("billing")
    for verb in (group.sharing, group.expire_leases):
        with pytest.raises(NotSupported, match="read by one member"):
            verb()


def test_what_is_refused_is_a_group_error(kafka: Kafka) -> None:
    with pytest.raises(GroupError, match=r"group billing: .*[Uu]nknown topic"):
        kafka.group("billing").commit({("nope", 0): 1})
    with pytest.raises(WaitTimeoutError, match="billing to be Stable: it is"):
        kafka.group("billing").wait_stable(timeout=0)


def test_members_are_told_with_their_partitions(broker: MockBroker, kafka: Kafka) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    kafka.topic("orders").put("one", partition=0)
    assert consumer.poll(30) is not None
    (member,) = kafka.group("billing").wait_stable(1).members
    assert member.assignment == {"orders": [0, 1]}
    assert kafka.group("billing").lag() == {("orders", 0): 1, ("orders", 1): 0}
    consumer.close()
    assert kafka.group("billing").wait_caught_up() == {("orders", 0): 0}
