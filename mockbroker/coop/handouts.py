"""What is handed out to members that fetch cooperatively, of each group and partition.

Who coordinates the group keeps it, beside what is committed; who leads the partition asks there
whenever somebody fetches. So it outlives a leader: the next one is asked how far its log is that of
before, and what was cut off was never handed out. Who led before is refused. A coordinator that
moves takes nothing along.

Leases end on the coordinator's clock: a timer ends them when they are due, and the partition's
leader is told, where fetches wait for what is free then. All of it is memory: it goes with the
broker, with a reset, and with the topic; members fetch again from the stable offset, past what is
committed.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.leases import Holder, Leases, Piece
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mockbroker.apis.context import Services
    from mockbroker.coop.in_use import InUse
    from mockbroker.coop.tags import Identity
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.log.unified_log import UnifiedLog


LEASE_ENDED: Final = "timeout"
"""What wakes those who wait for something to be free, as the journal has it."""


class Shared(NamedTuple):
    """A partition that a group's members fetch cooperatively."""

    group: str
    topic: str
    partition: int


class LeaseChanges(NamedTuple):
    """What a commit gives back, and what it keeps for longer."""

    release: Sequence[tuple[int, int]] = ()
    renew: Sequence[tuple[int, int]] = ()


class Taken(NamedTuple):
    """What a commit took out of what was handed out, and where the group stood before."""

    stable: int
    pieces: Sequence[Piece] = ()


class Leading(NamedTuple):
    """A partition at the broker that leads it, which asks at this time."""

    topic_id: bytes
    epoch: int
    log: UnifiedLog
    now_ms: float

    def kept_of(self, epoch: int) -> int:
        """Up to where the log is what it was when that epoch was the latest."""
        end = self.log.end_offset_for_epoch(epoch)
        return self.log.log_end_offset if end is None else end[1]


class Term(NamedTuple):
    """As whose coordinator it is handed out, of which topic, and in whose epoch it was last."""

    shard: GroupShard | None
    topic_id: bytes
    epoch: int


class Handouts:
    """Of the groups that one broker coordinates."""

    __slots__ = (
        "_dropped",
        "_from_outside",
        "_in_use",
        "_services",
        "_stable",
        "_stop_timer",
        "_tables",
        "_terms",
        "dead",
    )

    def __init__(self, services: Services, in_use: InUse) -> None:
        self._services = services
        self._in_use = in_use
        self._tables: dict[Shared, Leases] = {}
        self._stable: dict[Shared, int] = {}
        self._terms: dict[Shared, Term] = {}
        """Who coordinates anew begins anew, and so does a topic that was made anew."""
        self._from_outside: set[Shared] = set()
        """Where somebody who is no member has committed a position since it was looked at."""
        self._dropped: set[Shared] = set()
        """Where what was committed beyond the position counts no more."""
        self._stop_timer: Callable[[], bool] | None = None
        self.dead: list[tuple[Shared, Piece]] = []
        """What was handed out too often and is given up."""

    def of(self, shared: Shared) -> Leases | None:
        """What is handed out of a partition, if anything ever was."""
        return self._tables.get(shared)

    def tables(self) -> dict[Shared, Leases]:
        """All there are."""
        return dict(self._tables)

    def is_overtaken(self, shared: Shared, leading: Leading) -> bool:
        """Whether another broker has led the partition since."""
        term = self._terms.get(shared)
        same = term is not None and term.topic_id == leading.topic_id
        return same and term is not None and term.epoch > leading.epoch

    def current(self, shared: Shared, stable: int, leading: Leading) -> Leases:
        """The same as of now: without leases that ended, from the group's stable offset on."""
        leases = self._led_by(shared, leading)
        if leases is None:
            leases = self._tables[shared] = Leases(stable)
            shard = self._services.groups.service.runtime.shard_for(shared.group)
            self._terms[shared] = Term(shard, leading.topic_id, leading.epoch)
            self._in_use.leases = True
            self._in_use.look()
            self._stable[shared] = stable
        self._bring_up(shared, leases, stable, leading.now_ms)
        return leases

    def _bring_up(self, shared: Shared, leases: Leases, stable: int, now_ms: float) -> None:
        if (
            shared in self._dropped
            or stable < self._stable[shared]
            or (stable != self._stable[shared] and shared in self._from_outside)
        ):
            leases.reset(stable)  # somebody set the group's position, or took it away
        else:
            leases.stable_at(stable)
        self._stable[shared] = stable
        self._from_outside.discard(shared)
        self._dropped.discard(shared)
        self._end_leases(shared, leases, now_ms)

    def _end_leases(self, shared: Shared, leases: Leases, now_ms: float) -> None:
        leases.expire(now_ms)
        leases.end_of_others(lambda holder: is_current(self._services, shared.group, holder))

    def _led_by(self, shared: Shared, leading: Leading) -> Leases | None:
        """What is handed out of what the leader has."""
        leases = self._in_force(shared)
        if leases is None:
            return None
        term = self._terms[shared]
        if term.topic_id != leading.topic_id:
            self._forget(shared)
            return None
        if term.epoch < leading.epoch:
            leases.cut(leading.kept_of(term.epoch))
            self._terms[shared] = term._replace(epoch=leading.epoch)
        return leases

    def _in_force(self, shared: Shared) -> Leases | None:
        """What is handed out, unless another broker may have handed out the same meanwhile."""
        leases = self._tables.get(shared)
        if leases is None:
            return None
        if self._terms[shared].shard is not self._services.groups.service.runtime.shard_for(
            shared.group
        ):
            self._forget(shared)
            return None
        return leases

    def _forget(self, shared: Shared) -> None:
        del self._tables[shared], self._stable[shared], self._terms[shared]

    def note_outside(self, group: str, topic: str, partition: int) -> None:
        """Somebody who is no member commits a position: from there on nothing is handed out."""
        shared = Shared(group, topic, partition)
        if shared in self._tables:
            self._from_outside.add(shared)

    def note_dropped(self, shared: Shared) -> None:
        """The ranges committed there were dropped: all from the position on is handed out anew."""
        if shared in self._tables:
            self._dropped.add(shared)
            self.wake(shared)

    def done(self, shared: Shared, ranges: Iterable[tuple[int, int]]) -> None:
        """These are committed: nobody has them, and they are not handed out again."""
        leases = self._tables.get(shared)
        if leases is not None:
            for each in ranges:
                leases.done(*each)

    def moved(self, shared: Shared, stable: int) -> None:
        """The group stands there by what is done: below that, somebody has set it back."""
        if shared in self._stable and shared not in self._from_outside:
            self._stable[shared] = max(stable, self._stable[shared])

    def note_changes(self, records: Iterable[CoordinatorRecord]) -> None:
        """Groups change: whoever waits looks again at what members have that are gone."""
        keys = [one.key for one in records if not isinstance(one.key, OffsetCommitKey)]
        # A classic group's key has another name for it than those of KIP-848.
        changed = {getattr(key, "group", None) or getattr(key, "group_id", None) for key in keys}
        for shared in self._tables:
            if shared.group in changed:
                self.wake(shared)

    def of_group(self, group_id: str) -> list[tuple[str, int]]:
        """The partitions of which something was handed out to a group."""
        return [each[1:] for each in self._tables if each.group == group_id]

    def expire(self, group_id: str) -> int:
        """End all leases of a group as if their time were over; how many."""
        ended = 0
        for shared, leases in self._tables.items():
            if shared.group == group_id:
                ended += leases.expire(inf)
                self.wake(shared)
        self.arm()
        return ended

    @property
    def in_use(self) -> bool:
        """Whether anything was handed out."""
        return bool(self._tables)

    def forget_topic(self, topic: str) -> None:
        """The topic is gone."""
        for shared in [each for each in self._tables if each.topic == topic]:
            self._forget(shared)

    def clear(self) -> None:
        """Forget all, as a reset does."""
        self._tables.clear()
        self._stable.clear()
        self._terms.clear()
        self._from_outside.clear()
        self._dropped.clear()
        self.dead.clear()
        if self._stop_timer is not None:
            self._stop_timer()
            self._stop_timer = None

    # -- what members say of what they have ------------------------------------------------

    def refuses(
        self, shared: Shared, member: str, ranges: Iterable[tuple[int, int]], said: LeaseChanges
    ) -> bool:
        """Whether a member may not commit these, or has not what it gives back or keeps."""
        leases = self._in_force(shared)
        if leases is None:
            return bool(said.release or said.renew)
        self._end_leases(shared, leases, self._services.clock.now_ms)
        return any(leases.refuses(member, *each) for each in ranges) or not all(
            leases.holds(member, *each) for each in (*said.release, *said.renew)
        )

    def apply(
        self, shared: Shared, stable: int, ranges: Iterable[tuple[int, int]], said: LeaseChanges
    ) -> Taken:
        """These are committed, and those are free, or held for longer.

        What was handed out of the committed ones: `give_back` takes it if they cannot be written.
        """
        leases = self._in_force(shared)
        if leases is None:
            return Taken(stable)
        before = self._stable[shared]
        self.moved(shared, stable)
        done = [piece for each in ranges for piece in leases.done(*each)]
        for each in said.release:
            leases.release(*each)
        if said.release:
            self.wake(shared)
        until_ms = self._services.clock.now_ms + self._services.config.int("coop.fetch.lease.ms")
        for each in said.renew:
            leases.renew(*each, until_ms)
        self.arm()
        return Taken(before, done)

    def give_back(self, shared: Shared, taken: Taken) -> None:
        """The commit of these has failed: the group stands where it did, nobody set it back."""
        leases = self._tables.get(shared)
        if leases is None:
            return
        self._stable[shared] = min(taken.stable, self._stable[shared])
        for piece in taken.pieces:
            leases.take_back(piece)
        if taken.pieces:
            self.wake(shared)

    def metrics(self) -> dict[str, float]:
        """What is leased now; what ended, and what was handed out again, since the start."""
        tables = self._tables.values()
        return {
            "active": sum(len(leases.leased) for leases in tables),
            "expired": sum(leases.expired for leases in tables),
            "redelivered": sum(leases.redelivered for leases in tables),
        }

    # -- time ------------------------------------------------------------------------------

    def arm(self) -> None:
        """See to it that leases end when they are due."""
        deadlines = [leases.deadline_ms for leases in self._tables.values()]
        due = min((each for each in deadlines if each is not None), default=None)
        if self._stop_timer is not None:
            self._stop_timer()
        self._stop_timer = (
            None if due is None else self._services.timer.schedule(due, self._expire).cancel
        )

    def wake(self, shared: Shared) -> None:
        """Something of the partition is free: whoever waits longest at its leader looks first."""
        topic = self._services.metadata.topics.get(shared.topic)
        if topic is None or shared.partition >= len(topic.partitions):
            return

        def look(leader: Services) -> None:
            partition = leader.replicas.partition(shared.topic, shared.partition)
            if partition is not None:
                leader.replicas.mark_ready(partition, LEASE_ENDED)

        self._services.tell(topic.partitions[shared.partition].leader, look)

    def _expire(self) -> None:
        self._stop_timer = None
        for shared, leases in self._tables.items():
            if leases.expire(self._services.clock.now_ms):
                self.wake(shared)
        self.arm()


def is_current(services: Services, group_id: str, holder: Holder) -> bool:
    """Whether a member is in its group, in this generation or at this epoch.

    Without a group, or with one that nobody is in, whoever names no generation is.
    """
    shard = services.groups.service.runtime.shard_for(group_id)
    if shard is None:
        return False
    consumers = shard.consumer_groups.get(group_id)
    if consumers is not None:
        member = consumers.members.get(holder.member)
        if member is not None:
            return holder.generation == member.epoch
        return holder.generation < 0 and consumers.is_empty
    group = shard.groups.get(group_id)
    if group is None or group.is_empty:
        return holder.generation < 0
    return holder.member in group.members and holder.generation == group.generation_id


def holder_of(identity: Identity) -> Holder:
    """Whose lease it is."""
    return Holder(identity.member, identity.generation)
