"""What a test sees of a group of librdkafka's consumers, in both group protocols."""

from __future__ import annotations

from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from mockbroker import MockBroker
from mockbroker.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

DEADLINE_S = 60.0


class World:
    """A broker and the consumers of group g, which are polled while a condition is waited for."""

    def __init__(self, broker: MockBroker, protocol: str, stack: ExitStack) -> None:
        self.broker = broker
        self.protocol = protocol
        self.group = broker.group("g")
        self.consumers: list[Any] = []
        self.read: list[bytes] = []
        self._stack = stack

    def join(self, client_id: str) -> Any:
        settings: dict[str, Any] = {
            "bootstrap.servers": self.broker.bootstrap_servers,
            "client.id": client_id,
            "group.id": "g",
            "group.protocol": self.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        if self.protocol == "classic":
            settings["heartbeat.interval.ms"] = 200
        consumer: Any = confluent_kafka.Consumer(settings)
        self._stack.callback(consumer.close)
        consumer.subscribe(["orders"])
        self.consumers.append(consumer)
        return consumer

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = monotonic() + DEADLINE_S
        while not condition():
            assert monotonic() < deadline, self.group.describe()
            for consumer in self.consumers:
                message = consumer.poll(0.02)
                if message is not None and message.error() is None:
                    self.read.append(message.value())

    def shares(self) -> dict[str, int]:
        """How many partitions each client has, once the group is stable."""
        group = self.group.describe()
        if group.state != "Stable":
            return {}
        return {one.client_id: len(one.assignment.get("orders", [])) for one in group.members}


@pytest.fixture(params=["consumer", "classic"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with MockBroker(topics={"orders": 4}) as broker, ExitStack() as stack:
        yield World(broker, request.param, stack)


def test_a_group_is_followed_through_its_life(world: World) -> None:
    group = world.group
    world.broker.topic("orders").put_all([str(at) for at in range(8)])
    assert group.state == "Dead"
    first = world.join("a")
    world.until(lambda: len(world.read) == 8)
    assert group.wait_stable(members=1).group_type == world.protocol
    world.join("b")
    world.until(lambda: world.shares() == {"a": 2, "b": 2})
    members = group.members()
    assigned = [index for member in members for index in member.assignment["orders"]]
    assert sorted(assigned) == [0, 1, 2, 3]
    epochs = {member.epoch for member in members}
    generation = group.describe().generation_id
    assert epochs == ({generation} if world.protocol == "consumer" else {None})
    assert sum(group.lag().values()) == 8
    # Who leads may have been told before the other one has looked what it was given.
    world.until(lambda: len(first.assignment()) == 2)
    mine = first.assignment()
    first.commit(
        offsets=[confluent_kafka.TopicPartition("orders", one.partition, 1) for one in mine],
        asynchronous=False,
    )
    assert group.committed() == {("orders", one.partition): 1 for one in mine}
    assert sum(group.lag().values()) == 6
    assert world.broker.groups() == ["g"]
    for consumer in world.consumers:
        consumer.close()
    assert group.wait_empty(timeout=DEADLINE_S).members == []
    group.delete()
    assert (group.state, world.broker.groups()) == ("Dead", [])


def test_consumers_join_again_after_a_restore(world: World) -> None:
    consumer = world.join("a")
    world.until(lambda: world.shares() == {"a": 4})
    snapshot = world.broker.snapshot()
    offset = confluent_kafka.TopicPartition("orders", 0, 0)
    consumer.commit(offsets=[offset], asynchronous=False)
    # The consumer finds out in the background: hold what it asks until we have looked.
    comes_back = ("Heartbeat", "JoinGroup", "ConsumerGroupHeartbeat", "OffsetCommit")
    world.broker.faults.add(Fault(api=comes_back, park=True, maybe=True))
    world.broker.restore(snapshot)
    assert (world.group.members(), world.group.committed()) == ([], {})
    world.broker.faults.clear()
    world.until(lambda: world.shares() == {"a": 4})
