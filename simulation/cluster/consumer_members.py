"""Members that come by ConsumerGroupHeartbeat (KIP-848): v0 and v1, by names or an expression.

A member gives up at once what an answer takes from it, and says so with its next heartbeat; when
an answer was lost it tells all again. Thrown out, it gives up everything and joins with epoch 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from mockbroker_protocol.versions import (
    CONSUMER_GROUP_HEARTBEAT_MEMBER_ID,
    OFFSET_COMMIT_MEMBER_EPOCH,
    OFFSET_COMMIT_TOPIC_IDS,
)
from simulation.cluster.group_members import GroupMember, Identity
from simulation.cluster.group_plan import REGEXES

if TYPE_CHECKING:
    from random import Random

    from mockbroker_protocol.messages.consumer_group import Assignment
    from simulation.cluster.group_book import Asked, Part
    from simulation.cluster.group_members import Setting

JOINS, LEAVES, LEAVES_FOR_A_WHILE = 0, -1, -2
THROWN_OUT = frozenset(
    (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    )
)


class ConsumerMember(GroupMember):
    """Beats, and does what the answers say."""

    expected = THROWN_OUT | {
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
    }

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        super().__init__(setting, name, rng)
        on = self.group.on
        self.version = CONSUMER_GROUP_HEARTBEAT_MEMBER_ID
        self.regex: str | None = None
        self.names: list[str] | None = list(self.topics)
        if on["regex"] and rng.random() < 0.7:
            self.regex, self.names = rng.choice(REGEXES), None
        elif rng.random() < 0.3:
            self.version = 0
        if self.names and on["some_topics"] and self.group.protocol != "mixed":
            self.names = rng.sample(self.names, rng.randint(1, len(self.names)))
        self.assignor = rng.choice((None, "uniform", "range"))
        self.member_id = ""
        self.epoch = JOINS
        self._lives = 0
        self._must_tell_all = True
        self._gave_up = False
        self._session_timeout_ms = setting.plan.group_times.consumer_session_timeout_ms
        self._lasts_until_ms = 0.0
        """Until when its session lasts at least."""

    @property
    def is_in(self) -> bool:
        return self.epoch > JOINS and not self._gave_up

    def wanted(self) -> set[Part]:
        topics = self.world.cluster.metadata.topics
        names = self.names or [name for name in topics if re.fullmatch(self.regex or "", name)]
        return {
            self._part(topics[name].id, index)
            for name in names
            for index in range(len(topics[name].partitions))
        }

    def _part(self, topic_id: bytes, index: int) -> Part:
        """By name, or by id where another topic may have the name later."""
        topic = self.world.cluster.metadata.topics_by_id.get(topic_id)
        name = topic_id.hex() if topic is None or topic.name not in self.topics else topic.name
        return name, index

    def identity(self) -> Identity:
        return Identity(self.member_id, self.instance_id, self.epoch)

    def commit_versions(self) -> range:
        return range(OFFSET_COMMIT_MEMBER_EPOCH, OFFSET_COMMIT_TOPIC_IDS + 1)

    def lose_identity(self) -> None:
        super().lose_identity()
        self.member_id = ""
        self._join_again()

    def _join_again(self) -> None:
        self.give_up(list(self.owned))
        self.epoch = JOINS
        self._must_tell_all = True
        self._gave_up = False

    def act(self, node: int) -> None:
        if not self.is_in or self.rng.random() < 0.5 or not self.work(node):
            self._beat(node)

    def failed(self, what: str, error: int) -> None:
        if error in THROWN_OUT:
            self._join_again()
            if error == ErrorCode.FENCED_INSTANCE_ID:
                self.member_id = ""
        self._must_tell_all = True
        super().failed(what, error)

    # -- heartbeats ------------------------------------------------------------------------

    def _request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        if not self.member_id and self.version >= CONSUMER_GROUP_HEARTBEAT_MEMBER_ID:
            self._lives += 1
            self.member_id = f"{self.name}-{self._lives}"
        return ConsumerGroupHeartbeatRequest(
            group_id=self.book.name,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.instance_id,
        )

    def _beat(self, node: int) -> None:
        request = self._request(self.epoch)
        if self._must_tell_all or self.epoch == JOINS:
            request.rebalance_timeout_ms = self.group.rebalance_timeout_ms
            request.subscribed_topic_names = self.names
            request.server_assignor = self.assignor
            if self.version >= CONSUMER_GROUP_HEARTBEAT_MEMBER_ID:
                request.subscribed_topic_regex = self.regex
        if self._must_tell_all or self._gave_up or self.epoch == JOINS:
            request.topic_partitions = self._held()
        asked, owned = self.book.ask(node), list(self.owned)
        until_ms = self.world.now_ms + self._session_timeout_ms

        def answered(answer: ConsumerGroupHeartbeatResponse | None) -> None:
            if answer is None or answer.error_code:
                self.failed("heartbeat", -1 if answer is None else answer.error_code)
            else:
                self._lasts_until_ms = until_ms
                self._check_revocation(asked, owned, request, answer)
                self._go_on(asked, owned, answer)

        self.ask(node, request, self.version, ConsumerGroupHeartbeatResponse, answered)

    def _check_revocation(
        self,
        asked: Asked,
        owned: list[Part],
        request: ConsumerGroupHeartbeatRequest,
        answer: ConsumerGroupHeartbeatResponse,
    ) -> None:
        """What an answer takes from it is its own until it says that it has it no more.

        Its coordinator must know that (CurrentAssignmentBuilder.ownsRevokedPartitions).
        """
        if answer.assignment is None or request.topic_partitions == []:
            return
        left = set(self._parts_of(answer.assignment.topic_partitions))
        member = self.book.known_member(asked, answer.member_id or self.member_id)
        lost = [part for part in owned if part not in left]
        if member is None or member.epoch != answer.member_epoch or not lost:
            return
        revoked = {
            self._part(topic_id, index)
            for topic_id, indexes in member.pending_revocation.items()
            for index in indexes
        }
        if not revoked.issuperset(lost):
            self.world.violate(
                f"{self.name}: {lost} are taken from it at epoch {member.epoch}, and its "
                f"coordinator waits for {sorted(revoked)} alone"
            )

    def _parts_of(self, topics: list[HeartbeatTopicPartitions]) -> list[Part]:
        return [self._part(topic.topic_id, index) for topic in topics for index in topic.partitions]

    def _held(self) -> list[HeartbeatTopicPartitions]:
        topics = self.world.cluster.metadata.topics
        held: dict[bytes, list[int]] = {}
        for name, index in self.owned:
            topic_id = topics[name].id if name in self.topics else bytes.fromhex(name)
            held.setdefault(topic_id, []).append(index)
        return [HeartbeatTopicPartitions(topic_id, parts) for topic_id, parts in held.items()]

    def _go_on(
        self, asked: Asked, owned: list[Part], answer: ConsumerGroupHeartbeatResponse
    ) -> None:
        if answer.member_epoch < self.epoch:
            self.world.violate(
                f"{self.name} went back from epoch {self.epoch} to {answer.member_epoch}"
            )
        if self.epoch == JOINS:
            self.note(f"is in at epoch {answer.member_epoch}")
            if self.instance_id is None:
                self.book.moved_on(asked, answer.member_epoch)
        else:
            self.book.confirmed(asked, self.name, owned)
        self.member_id = answer.member_id or self.member_id
        self.epoch = answer.member_epoch
        self._must_tell_all = self._gave_up = False
        if answer.assignment is not None:
            self._assigned(asked, answer.assignment)
        if self.group.on["restless"] and not self.calm and self.rng.random() < 0.05:
            self._change_its_mind()
        self.pause()

    def _assigned(self, asked: Asked, assignment: Assignment) -> None:
        parts = self._parts_of(assignment.topic_partitions)
        self.note(f"is given {parts} at epoch {self.epoch} by {asked.node}")
        self._gave_up = not set(parts).issuperset(self.owned)
        self.assign(asked, parts)

    def _change_its_mind(self) -> None:
        """Subscribe to something else."""
        if self.names and self.group.on["some_topics"] and self.group.protocol != "mixed":
            self.names = self.rng.sample(list(self.topics), self.rng.randint(1, len(self.topics)))
        elif self.regex:
            self.regex = self.rng.choice(REGEXES)
        self.assignor = self.rng.choice(("uniform", "range"))
        self._must_tell_all = True

    def leave(self, node: int) -> None:
        for_a_while = self.instance_id is not None and self.rng.random() < 0.7
        request = self._request(LEAVES_FOR_A_WHILE if for_a_while else LEAVES)
        asked, member_id, until_ms = self.book.ask(node), self.member_id, self._lasts_until_ms

        def answered(answer: ConsumerGroupHeartbeatResponse | None) -> None:
            if for_a_while and answer is not None and not answer.error_code:
                self._check_place(asked, member_id, until_ms)
            self.note(f"left: {-1 if answer is None else answer.error_code}")
            self.lose_identity()
            self.later(self.rng.choice((20.0, 400.0)))

        self.ask(node, request, self.version, ConsumerGroupHeartbeatResponse, answered)

    def _check_place(self, asked: Asked, member_id: str, until_ms: float) -> None:
        """Who has left for a while is a member as long as its session lasts (KIP-848)."""
        if until_ms <= self.world.now_ms or self.group.admin or not self.book.is_current(asked):
            return
        if self.book.known_member(asked, member_id) is None:
            self.world.violate(
                f"{self.name}: left for a while, and is none of its group before {until_ms:.3f}"
            )
