"""Where coordinators are told to be when internal topics grow, go and come again.

The very last at rest, where a seed draws "inquiries": keys do not move when the topic of offsets
grows, since a broker counts its partitions once; one that is made anew is counted anew. Who
coordinates a key is said here a second time, from Java's String.hashCode and Kafka's Utils.abs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker.metadata.topic_requests import NewPartitions, NewTopic, TopicReference
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from simulation.clients import ask_at_once
from simulation.cluster.crews import Crew

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulation.cluster.crews import CrewSetting

VERSION = 4
NEW_COUNT = 3
SMALLEST_HASH = "polygenelubricants"
KEYS = (SMALLEST_HASH, *(f"group-of-the-keys-{number}" for number in range(8)))
SETTLES_MS = 60_000.0


def index_of(key: str, count: int) -> int:
    """The partition that a key belongs to; the smallest number has no absolute value."""
    value = 0
    for letter in key:
        value = (31 * value + ord(letter)) % (1 << 32)
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return 0 if signed == -(1 << 31) else abs(signed) % count


class WhereaboutsCrew(Crew):
    """Asks all brokers."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.asked = 0

    def counts(self) -> Mapping[str, int]:
        return {"whereabouts": self.asked}

    def check(self) -> None:
        controller, topics = self.world.cluster.controller, self.world.cluster.metadata.topics
        on = self.plan.on
        if not on["inquiries"] or on["scope"] or GROUP_METADATA_TOPIC not in topics:
            return  # in a scope offsets are committed on
        count = len(topics[GROUP_METADATA_TOPIC].partitions)
        self._check(count)
        more = NewPartitions(GROUP_METADATA_TOPIC, count + 2)
        self.world.operate(lambda: controller.create_partitions([more]))
        self._check(count)
        gone = TopicReference(GROUP_METADATA_TOPIC)
        self.world.operate(lambda: controller.delete_topics([gone]))
        anew = NewTopic(GROUP_METADATA_TOPIC, NEW_COUNT)
        self.world.operate(lambda: controller.create_topics([anew]))
        self._check(NEW_COUNT)

    def _check(self, count: int) -> None:
        """Each broker tells of each key that the leader of its partition, of so many, has it."""
        store = self.world.cluster.metadata
        if not self.world.run_until(self._all_have_heard, SETTLES_MS):
            self.world.violate("brokers do not hear of the topic of offsets")
        partitions = store.topics[GROUP_METADATA_TOPIC].partitions
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[*KEYS])
        for broker in self.world.cluster.brokers:
            answer = ask_at_once(self.world, broker, request, VERSION)
            assert isinstance(answer, FindCoordinatorResponse)
            for told in answer.coordinators:
                self.asked += 1
                leader = partitions[index_of(told.key, count)].leader
                if not told.error_code and told.node_id != leader:
                    self.world.violate(
                        f"broker {broker.broker_id}: {told.key} is coordinated by {told.node_id}, "
                        f"not by {leader}, where keys belong to {count} partitions"
                    )

    def _all_have_heard(self) -> bool:
        wanted = self.world.cluster.metadata.topics[GROUP_METADATA_TOPIC].partitions
        for broker in self.world.cluster.brokers:
            topic = broker.services.metadata.topics.get(GROUP_METADATA_TOPIC)
            if topic is None or [*topic.partitions] != [*wanted]:
                return False
        return all(state.leader >= 0 for state in wanted)
