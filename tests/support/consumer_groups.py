"""Members of the consumer protocol that talk to a `Groups`: what a client does, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.members import ClientIdentity
from mockbroker.metadata.topic_requests import NewPartitions, TopicReference
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    ConsumerProtocolTopicPartition,
)
from mockbroker_protocol.plan import encode
from tests.support.groups import Answer, Groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribedGroup

Held = dict[str, list[int]]


class ConsumerWorld(Groups):
    """A coordinator whose consumer groups move as Kafka's do, but compute targets at once."""

    def topic_id(self, topic: str = "t") -> bytes:
        return self.metadata.topics[topic].id

    def grow(self, topic: str, count: int) -> None:
        """Add partitions, up to this count."""
        ((_, refusal),) = self.controller.create_partitions([NewPartitions(topic, count)])
        assert refusal.error == 0, refusal

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        (outcome,) = self.controller.delete_topics([TopicReference(topic)])
        assert outcome.error == 0, outcome

    def consumers(self, group_id: str = "g") -> ConsumerGroup:
        return self.shard(group_id).consumer_groups[group_id]

    def beat(
        self,
        member_id: str = "m1",
        epoch: int = 0,
        *,
        group_id: str = "g",
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        owned: Held | None = None,
        instance: str | None = None,
        assignor: str | None = None,
        rack: str | None = None,
        rebalance_ms: int | None = None,
        version: int = 1,
        client_id: str = "c",
    ) -> ConsumerGroupHeartbeatResponse:
        """One heartbeat; a join subscribes to `t` unless told otherwise."""
        joins = epoch == 0
        if joins:
            owned = {} if owned is None else owned
            rebalance_ms = 60_000 if rebalance_ms is None else rebalance_ms
            if topics is None and regex is None:
                topics = ["t"]
        answer: Answer[ConsumerGroupHeartbeatResponse] = Answer()
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance,
            rack_id=rack,
            rebalance_timeout_ms=-1 if rebalance_ms is None else rebalance_ms,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=None if owned is None else self._wire(owned),
        )
        client = ClientIdentity(version, client_id, "/127.0.0.1")
        self.service.consumers.heartbeat(request, client, answer)
        return answer.value

    def _wire(self, owned: Mapping[str, list[int]]) -> list[HeartbeatTopicPartitions]:
        return [
            HeartbeatTopicPartitions(self.topic_id(topic), indexes)
            for topic, indexes in owned.items()
        ]

    def held(self, response: ConsumerGroupHeartbeatResponse) -> Held | None:
        """The assignment in an answer, by topic name; None: as it was."""
        if response.assignment is None:
            return None
        return {
            self.metadata.topics_by_id[one.topic_id].name: one.partitions
            for one in response.assignment.topic_partitions
        }

    def describe(self, group_id: str = "g") -> ConsumerGroupDescribedGroup:
        return self.service.consumers.describe(group_id)

    def assigned(self, group_id: str = "g") -> dict[str, Held]:
        """What each member has by now, by topic name."""
        return {
            member.member_id: {
                one.topic_name: one.partitions for one in member.assignment.topic_partitions
            }
            for member in self.describe(group_id).members
        }

    def consumer(self, member_id: str, **options: object) -> Consumer:
        """A client that joins now."""
        return Consumer(self, member_id, options)

    def settle(self, *consumers: Consumer) -> None:
        """Heartbeats of all until nothing moves any more."""
        for _ in range(50):
            if not [one for one in consumers if one.beat()]:
                return
        raise AssertionError("the group does not settle")


class Consumer:
    """A client of the consumer protocol: revokes and takes at once what it is told."""

    def __init__(self, world: ConsumerWorld, member_id: str, options: dict[str, object]) -> None:
        self.world = world
        self.member_id = member_id
        self.instance = options.get("instance")
        self.group_id = options.get("group_id", "g")
        self.epoch = 0
        self.owned: Held = {}
        self._take(self.world.beat(member_id, 0, **options))  # type: ignore[arg-type]

    def beat(self, **options: object) -> bool:
        """Whether something changed."""
        before = self.epoch, self.owned
        options.setdefault("owned", self.owned)
        self._take(
            self.world.beat(
                self.member_id,
                self.epoch,
                instance=self.instance,  # type: ignore[arg-type]
                group_id=self.group_id,  # type: ignore[arg-type]
                **options,  # type: ignore[arg-type]
            )
        )
        return before != (self.epoch, self.owned)

    def _take(self, response: ConsumerGroupHeartbeatResponse) -> None:
        assert response.error_code == 0, response
        self.epoch = response.member_epoch
        held = self.world.held(response)
        if held is not None:
            self.owned = held

    def leave(self, epoch: int = -1) -> None:
        self._take(
            self.world.beat(
                self.member_id,
                epoch,
                instance=self.instance,  # type: ignore[arg-type]
                group_id=self.group_id,  # type: ignore[arg-type]
            )
        )


def classic_subscription(
    *topics: str, owned: Held | None = None, version: int = 1, user_data: bytes | None = None
) -> bytes:
    """What a classic consumer puts into its join."""
    message = ConsumerProtocolSubscription(
        topics=list(topics),
        user_data=user_data,
        owned_partitions=[
            ConsumerProtocolTopicPartition(topic, indexes)
            for topic, indexes in (owned or {}).items()
        ],
    )
    return version.to_bytes(2, "big") + b"".join(encode(message, version))
