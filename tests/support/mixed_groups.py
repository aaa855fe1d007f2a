"""A classic consumer that lives through upgrades and downgrades of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.consumer.classic_bytes import assignment_bytes, parse_assignment
from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import Held, classic_subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.consumer_groups import Consumer, ConsumerWorld


class ClassicConsumer:
    """Joins, syncs, and joins again when it is told; as a leader it gives all to itself."""

    def __init__(
        self,
        world: ConsumerWorld,
        *,
        instance: str | None = None,
        session_ms: int = 10_000,
        topics: Sequence[str] = ("t",),
    ) -> None:
        self.world = world
        self.instance = instance
        self.session_ms = session_ms
        self.topics = topics
        self.owned: Held = {}
        self.generation_id = -1
        self.member_id = ""
        self.join()

    @property
    def protocols(self) -> list[tuple[str, bytes]]:
        return [("range", classic_subscription(*self.topics, owned=self.owned))]

    def join(self) -> None:
        world = self.world
        if not self.member_id and self.instance is None:
            self.member_id = world.new_id(protocols=self.protocols, session_ms=self.session_ms)
        answer = world.join(
            self.member_id,
            protocols=self.protocols,
            instance=self.instance,
            session_ms=self.session_ms,
        ).value
        assert answer.error_code == 0, answer
        self.member_id, self.generation_id = answer.member_id, answer.generation_id
        assignments = {}
        if answer.leader == self.member_id and not answer.skip_assignment:
            everything = [
                (topic, list(range(len(world.metadata.topics[topic].partitions))))
                for topic in self.topics
            ]
            assignments[self.member_id] = assignment_bytes(everything, 1)
        synced = world.sync(
            self.member_id, self.generation_id, assignments, instance=self.instance
        ).value
        if synced.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            return
        assert synced.error_code == 0, synced
        self.owned = {
            one.topic: sorted(one.partitions) for one in parse_assignment(synced.assignment)
        }

    def beat(self) -> bool:
        """Whether it had to join again."""
        error = self.world.heartbeat(self.member_id, self.generation_id, instance=self.instance)
        if error == ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()
            return True
        assert error == 0
        return False


def settle_mixed(consumers: Sequence[Consumer], classics: Sequence[ClassicConsumer]) -> None:
    """Heartbeats of all until nothing moves any more."""
    for _ in range(50):
        moved = [one.beat() for one in consumers]
        moved += [one.beat() for one in classics]
        if not any(moved):
            return
    raise AssertionError("the group does not settle")
