"""Members of the cluster simulation's groups: what those of both protocols have in common.

A member finds its coordinator, joins, stays, and commits and fetches offsets of what it was
assigned. It may crash and come back, as somebody new or as the static member that it was, leave,
or be too slow for its session. All that it is told goes to the group's `GroupBook`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from mockbroker_protocol.versions import (
    OFFSET_COMMIT_MEMBER_EPOCH,
    OFFSET_COMMIT_TOPIC_IDS,
    OFFSET_FETCH_GROUPS,
    OFFSET_FETCH_TOPIC_IDS,
)
from simulation.cluster.coordinated_members import CoordinatedMember

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from simulation.cluster.group_book import Asked, GroupBook, Part
    from simulation.cluster.group_plan import GroupPlan
    from simulation.cluster.hasty_joins import HastyJoins
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth

STABLE_FETCH = 7
STATIC, IS_RESTARTED = 0.6, 0.1
INSTANCE = "i-"
"""What the instance ids of members begin with."""
COMMIT_VERSIONS = range(2, OFFSET_COMMIT_TOPIC_IDS + 1)
FETCH_VERSIONS = range(2, OFFSET_FETCH_TOPIC_IDS + 1)
MOVED = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )
)
"""What is written too late is told as COORDINATOR_NOT_AVAILABLE."""
UNHEARD_OF = frozenset((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID))
"""A broker has not heard of the topic yet."""


class Identity(NamedTuple):
    """Under what name a member commits and asks."""

    member_id: str
    instance_id: str | None
    epoch: int


class Setting(NamedTuple):
    """What the members of one group share."""

    book: GroupBook
    truth: Truth
    plan: ClusterPlan
    group: GroupPlan
    hasty: HastyJoins | None = None
    """Who joins once more while classic members wait."""
    restarts: Random | None = None
    """When static members are started again, beside their habits."""


class GroupMember(CoordinatedMember):
    """A member of either protocol; `owned` is what it thinks that it has."""

    group: GroupPlan
    leaves = 0.05
    may_be_static = True
    expected: frozenset[int]
    """What a coordinator may answer to it, beside `MOVED`."""

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        book, plan = setting.book, setting.plan
        super().__init__(book.world, name, rng, setting.truth, plan.topics)
        self.book = book
        self.group = setting.group
        self.instance_id = (
            f"{INSTANCE}{name}" if self.group.on["static"] and rng.random() < 0.7 else None
        )
        self.restarts = setting.restarts
        if self.restarts is not None and self.may_be_static and self.restarts.random() < STATIC:
            self.instance_id = f"{INSTANCE}{name}"
        self.owned: dict[Part, None] = {}
        self.commits = self.fetches = 0
        """How many were answered since the calm began."""

    # -- what the run asks -----------------------------------------------------------------

    def calm_down(self) -> None:
        """Stay from now on, and do what a good member does."""
        self.calm = True
        self.commits = self.fetches = 0

    @property
    def settled(self) -> bool:
        """Whether it is in and has nothing to do, and its offsets went through."""
        known = any(part in self.parts for part in self.owned)
        return self.is_in and (not known or (self.commits > 0 and self.fetches > 0))

    @property
    def group_id(self) -> str:
        """Whose coordinator it looks for."""
        return self.book.name

    def wanted(self) -> set[Part]:
        """What the group must read because of it."""
        return set(self.parts)

    # -- one step --------------------------------------------------------------------------

    def begin(self) -> None:
        if not self.calm and (self.misbehaves() or self._is_started_again()):
            return
        if self.coordinator is None:
            self.find()
        else:
            self.act(self.coordinator)

    def _is_started_again(self) -> bool:
        """Whether it goes, as a static member does that is to come back (KIP-345)."""
        if self.restarts is None or self.instance_id is None or self.coordinator is None:
            return False
        if not self.is_in or self.restarts.random() >= IS_RESTARTED:
            return False
        self.leave(self.coordinator)
        return True

    @abstractmethod
    def act(self, node: int) -> None:
        """The next request to the coordinator."""

    @abstractmethod
    def identity(self) -> Identity:
        """As what it commits."""

    def lose_identity(self) -> None:
        """It begins anew, as a new process would or as one that was thrown out."""
        self.give_up(list(self.owned))

    def refused(self, what: str, error: int) -> None:
        """An answer that is nothing but an error, or -1 for none: look for the coordinator."""
        self.note(f"{what}: {error}")
        if error != -1 and error not in MOVED and error not in self.expected:
            self.world.violate(f"{self.name}: {what} is answered {error}")
        if error == -1 or error in MOVED:
            self.coordinator = None
        self.later()

    # -- what it has -----------------------------------------------------------------------

    def give_up(self, parts: list[Part]) -> None:
        """Have them no more."""
        for part in parts:
            del self.owned[part]
            self.book.gave_up(self.name, part)

    def assign(self, asked: Asked, parts: list[Part], *, anew: bool = False) -> None:
        """It was told what it shall have: give up the others, take these.

        `anew`: a generation gives all of them, whoever had them in the one before.
        """
        self.give_up([part for part in self.owned if part not in parts])
        for part in parts:
            if anew or part not in self.owned:
                self.owned[part] = None
                self.book.took(asked, self.name, part)

    # -- offsets ---------------------------------------------------------------------------

    def work(self, node: int) -> bool:
        """Commit or fetch an offset; False when it has none to commit."""
        parts = [part for part in self.owned if part in self.parts]
        if not parts:
            return False
        if self.rng.random() < 0.5:
            self._commit(node, self.rng.choice(parts))
        else:
            self._fetch(node)
        return True

    def commit_versions(self) -> range:
        """Those that it may commit by."""
        return COMMIT_VERSIONS

    def _topic_id(self, name: str) -> bytes:
        return self.world.cluster.metadata.topics[name].id

    def _commit(self, node: int, part: Part) -> None:
        offset, who = self.book.next_offset(), self.identity()
        version = self.rng.choice(self.commit_versions())
        request = OffsetCommitRequest(
            group_id=self.book.name,
            generation_id_or_member_epoch=who.epoch,
            member_id=who.member_id,
            group_instance_id=who.instance_id if version >= STABLE_FETCH else None,
            topics=[
                OffsetCommitRequestTopic(
                    name=part[0],
                    topic_id=self._topic_id(part[0]),
                    partitions=[OffsetCommitRequestPartition(part[1], offset)],
                )
            ],
        )

        def answered(answer: OffsetCommitResponse | None) -> None:
            error = -1 if answer is None else answer.topics[0].partitions[0].error_code
            if error == ErrorCode.NONE:
                self.note(f"committed {part} {offset} at {node}")
                self.book.committed(part, offset)
                self.commits += 1
                self.pause()
            elif error in UNHEARD_OF:
                self.pause()
            else:
                self.failed("commit", error)

        self.ask(node, request, version, OffsetCommitResponse, answered)

    def failed(self, what: str, error: int) -> None:
        """A commit or a fetch was refused."""
        self.refused(what, error)

    def _fetch(self, node: int) -> None:
        version = self.rng.choice(FETCH_VERSIONS)
        stable = version >= STABLE_FETCH and self.rng.random() < self.group.stable_chance
        all_topics = self.rng.random() < 0.2
        asked = self.book.ask(node, self.parts, stable=stable)
        request = self._fetch_request(version, stable=stable, all_topics=all_topics)

        def answered(answer: OffsetFetchResponse | None) -> None:
            error, told = (-1, []) if answer is None else self._told(answer, version)
            if error:
                self.failed("fetch of offsets", error)
                return
            found = dict(told)
            self.note(f"finds {found} at {node}")
            for part in self.parts:
                if part in found or (all_topics and version < OFFSET_FETCH_TOPIC_IDS):
                    self.book.fetched(asked, part, found.get(part, -1))
            self.fetches += 1
            self.pause()

        self.ask(node, request, version, OffsetFetchResponse, answered)

    def _fetch_request(self, version: int, *, stable: bool, all_topics: bool) -> OffsetFetchRequest:
        if version < OFFSET_FETCH_GROUPS:
            one = [
                OffsetFetchRequestTopic(name, list(range(count)))
                for name, count in self.topics.items()
            ]
            return OffsetFetchRequest(
                group_id=self.book.name,
                topics=None if all_topics else one,
                require_stable=stable,
            )
        many = [
            OffsetFetchRequestTopics(name, self._topic_id(name), list(range(count)))
            for name, count in self.topics.items()
        ]
        group = OffsetFetchRequestGroup(self.book.name, topics=None if all_topics else many)
        who = self.identity()
        if version >= OFFSET_COMMIT_MEMBER_EPOCH and self.rng.random() < 0.5:
            group.member_id, group.member_epoch = who.member_id, who.epoch
        return OffsetFetchRequest(groups=[group], require_stable=stable)

    def _told(
        self, answer: OffsetFetchResponse, version: int
    ) -> tuple[int, list[tuple[Part, int]]]:
        """The error of the whole, or of a partition; and offsets by partition."""
        error = answer.groups[0].error_code if answer.groups else answer.error_code
        told: list[tuple[Part, int]] = []
        for name, partition, offset, its_error in self._positions(answer, version):
            if its_error in UNHEARD_OF:
                continue
            error = error or its_error
            told.append(((name, partition), offset))
        return error, told

    def _positions(
        self, answer: OffsetFetchResponse, version: int
    ) -> Iterator[tuple[str, int, int, int]]:
        for topic in answer.topics:
            for data in topic.partitions:
                yield topic.name, data.partition_index, data.committed_offset, data.error_code
        by_id = {self._topic_id(name): name for name in self.topics}
        for group in answer.groups:
            for one in group.topics:
                name = by_id[one.topic_id] if version >= OFFSET_FETCH_TOPIC_IDS else one.name
                for part in one.partitions:
                    yield name, part.partition_index, part.committed_offset, part.error_code
