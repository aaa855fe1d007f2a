"""The rules of one group, held against what its members are told.

- An offset that is told is replicated, and at the coordinator in force not older than what was
  told or acknowledged before it was asked, as far as that one has it committed (`OffsetHistory`);
  to who insists (require_stable) not older than what was written by then.
- A member is given what the leader of its generation said.
- In a generation of a classic group are those who joined it, and the static members of the one
  before whose session lasts (KIP-345).
- In one generation of a classic group a partition is of one member, and generations that were
  synced do not go back; nor do the epochs of a consumer group.
- Who is told by a heartbeat that all is well has a whole session from when it was sent.
- Once another member was given a partition, one that had it before and has not given it up is no
  member in good standing any more: no heartbeat of its tells it so.

What a coordinator answers that was replaced, and has not heard so, counts for none of them but the
first half of the first: so it is in Apache Kafka. Each broken rule goes to `violate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.runtime import partition_for
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from simulation.cluster.offset_history import OffsetHistory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.coordinator.group.consumer.member import ConsumerMember
    from mockbroker.replica.partition import Partition
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

Part = tuple[str, int]


class Asked(NamedTuple):
    """A question to a coordinator: when, whom, and in which of its leader epochs (-1: replaced)."""

    time: int
    node: int
    epoch: int
    incarnation: int
    known: dict[Part, int]
    generation: int
    written: int = 0
    """Where the coordinator's log ended, if who asks insists on what is written."""


@dataclass(slots=True)
class Hold:
    """A member has a partition: when it asked and when it was told."""

    asked: int
    told: int
    current: bool
    """Whether the coordinator in force gave it."""


class GroupBook:
    """What is known of a group. Times are numbers that only grow."""

    def __init__(self, world: ClusterWorld, truth: Truth, name: str, partitions: int) -> None:
        self.world = world
        self.name = name
        self.index = partition_for(name, partitions)
        """Of `__consumer_offsets`: where the group's records are."""
        self._truth = truth
        self.offsets = OffsetHistory(truth, self.index)
        self.checks = 0
        self.generations = 0
        """How many were told."""
        self._time = 0
        self._commits = 0
        self._generation = -1, -1
        """Incarnation and number of the latest generation or epoch that was told."""
        self._assigned: dict[tuple[int, int], dict[Part, str]] = {}
        self._dealt: dict[int, set[frozenset[Part]]] = {}
        """By generation: what leaders of it gave to anybody."""
        self._holders: dict[Part, dict[str, Hold]] = {}
        self._last_joins: dict[str, int] = {}
        """By member id, when it last asked to join."""
        self._staying: dict[str, tuple[int, int, int, float]] = {}
        """By instance: who last told it that all is well, in which generation, and until when."""
        self._removed: set[str] = set()
        self._let_in: dict[str, tuple[int, int]] = {}
        """By member id, when it asked to be in the last generation that it was told, and which."""

    # -- asking ----------------------------------------------------------------------------

    def next_offset(self) -> int:
        """An offset that nobody has committed yet."""
        self._commits += 1
        return self._commits

    def ask(self, node: int, parts: list[Part] | None = None, *, stable: bool = False) -> Asked:
        """Somebody asks the coordinator at `node`; `parts`: whose offsets, `stable`: insisting."""
        self._time += 1
        mark = None if stable or not parts else self._high_watermark(node)
        known = {part: self.offsets.known((self.name, *part), mark) for part in parts or ()}
        incarnation = self.offsets.incarnation(self.name)
        generation = self._generation[1] if self._generation[0] == incarnation else -1
        epoch, written = self._epoch(node), self._log_end(node) if stable else 0
        return Asked(self._time, node, epoch, incarnation, known, generation, written)

    def is_current(self, asked: Asked) -> bool:
        """Whether who was asked has been the coordinator in force all the time since."""
        return asked.epoch >= 0 and asked.epoch == self._epoch(asked.node)

    def _partition(self, node: int) -> Partition | None:
        broker = self.world.cluster.broker(node)
        if broker is None:
            return None
        return broker.services.replicas.partition(GROUP_METADATA_TOPIC, self.index)

    def _high_watermark(self, node: int) -> int:
        partition = self._partition(node)
        return 0 if partition is None else partition.high_watermark

    def _log_end(self, node: int) -> int:
        partition = self._partition(node)
        log = None if partition is None else partition.log
        return 0 if log is None else log.log_end_offset

    def _epoch(self, node: int) -> int:
        return self._truth.led_epoch(GROUP_METADATA_TOPIC, self.index, node)

    # -- offsets ---------------------------------------------------------------------------

    def committed(self, part: Part, offset: int) -> None:
        """A commit was acknowledged."""
        self._judge(self.offsets.acknowledge((self.name, *part), offset))

    def fetched(self, asked: Asked, part: Part, offset: int) -> None:
        """OffsetFetch told an offset, -1 for none."""
        key, value = (self.name, *part), None if offset < 0 else offset
        known = 0
        if self.is_current(asked):
            known = max(asked.known.get(part, 0), self.offsets.told_by(key, asked.written))
        self._judge(self.offsets.tell(key, value, known))
        self.checks += 1

    def _judge(self, wrong: str | None) -> None:
        if wrong is not None:
            self.world.violate(f"{self.name}: {wrong}")

    # -- generations -----------------------------------------------------------------------

    def joins(self, time: int, member_id: str) -> None:
        """A classic member asks to join."""
        self._last_joins[member_id] = time

    def joined(
        self, asked: Asked, member_id: str, generation: int, members: dict[str, str | None]
    ) -> None:
        """A classic member is in a generation; its leader is told the `members`.

        These are by id, with their instance's, empty for others.
        """
        self._last_joins[member_id] = max(self._last_joins.get(member_id, 0), asked.time)
        self._let_in[member_id] = asked.time, generation
        for other, instance in members.items():
            time, before = self._let_in.get(other, (-1, generation))
            if instance is None and before < generation and self._last_joins[other] == time:
                self.world.violate(
                    f"{self.name}: {other} is in generation {generation}, and last joined {before}"
                )
        if not members or not self.is_current(asked):
            return
        now_ms, instances = self.world.now_ms, set(members.values())
        for instance, (node, epoch, before, until_ms) in self._staying.items():
            lasts = (node, epoch, before) == (asked.node, asked.epoch, generation - 1)
            if lasts and until_ms > now_ms and instance not in instances | self._removed:
                self.world.violate(
                    f"{self.name}: {instance} is not in generation {generation}, and had its "
                    f"session until {until_ms:.3f}"
                )

    def stays(self, asked: Asked, instance: str, generation: int, until_ms: float) -> None:
        """A static member was told that all is well in a generation."""
        if self.is_current(asked):
            self._staying[instance] = asked.node, asked.epoch, generation, until_ms

    def removes(self, instance: str) -> None:
        """Somebody asks that a static member leaves, by its instance or as itself."""
        self._removed.add(instance)

    def deals(self, generation: int, shares: Iterable[list[Part]]) -> None:
        """The leader of a generation says what its members shall have."""
        self._dealt.setdefault(generation, set()).update(map(frozenset, shares))

    def given(self, generation: int, member: str, parts: list[Part]) -> None:
        """A classic member was told its part of a generation, by whatever coordinator."""
        if parts and frozenset(parts) not in self._dealt.get(generation, ()):
            self.world.violate(
                f"{self.name}: {member} is given {parts} in generation {generation}, whose leader "
                "said nothing of the kind"
            )

    def assigned(self, asked: Asked, generation: int, member: str, parts: list[Part]) -> None:
        """A classic member was told its part of a generation."""
        if not self.moved_on(asked, generation):
            return
        if self.offsets.generation(self.name) < generation:
            if self._loaded_more(asked.node):
                return  # who coordinates next may lack it, and begin another of that number
            self.world.violate(
                f"{self.name}: generation {generation} is assigned before it is replicated"
            )
        assignment = self._assigned.setdefault((asked.incarnation, generation), {})
        for part in parts:
            if assignment.setdefault(part, member) != member:
                self.world.violate(
                    f"{self.name}: {part} is of {assignment[part]} and of {member} in generation "
                    f"{generation}"
                )

    def _loaded_more(self, node: int) -> bool:
        """Whether a coordinator began with more than it knows to be replicated.

        It tells at once what it has loaded (CoordinatorRuntime: nothing of its own is pending).
        """
        partition = self._partition(node)
        return partition is not None and partition.epoch_start_offset > partition.high_watermark

    def moved_on(self, asked: Asked, generation: int) -> bool:
        """A generation, or the epoch of one that joined, was told; False: it proves nothing."""
        if asked.incarnation != self.offsets.incarnation(self.name) or not self.is_current(asked):
            return False
        if generation < asked.generation:
            self.world.violate(
                f"{self.name} went back from generation or epoch {asked.generation} to {generation}"
            )
        self._generation = max(self._generation, (asked.incarnation, generation))
        self.generations += 1
        return True

    def lasts(self, asked: Asked, member_id: str, until_ms: float) -> None:
        """A classic member was told that all is well: its session lasts until then, or longer."""
        broker = self.world.cluster.broker(asked.node)
        if broker is None or not self.is_current(asked):
            return
        shard = broker.services.groups.service.runtime.shard_for(self.name)
        group = None if shard is None else shard.groups.get(self.name)
        member = None if group is None else group.members.get(member_id)
        if member is not None and member.session_deadline_ms < until_ms:
            self.world.violate(
                f"{self.name}: the session of {member_id} ends at {member.session_deadline_ms:.3f},"
                f" not at {until_ms:.3f}"
            )

    def known_member(self, asked: Asked, member_id: str) -> ConsumerMember | None:
        """A member of KIP-848 as its coordinator in force has it now."""
        broker = self.world.cluster.broker(asked.node)
        if broker is None or not self.is_current(asked):
            return None
        shard = broker.services.groups.service.runtime.shard_for(self.name)
        group = None if shard is None else shard.consumer_groups.get(self.name)
        return None if group is None else group.members.get(member_id)

    # -- who has what ----------------------------------------------------------------------

    def took(self, asked: Asked, member: str, part: Part) -> None:
        """A member was given a partition that it did not have."""
        self._time += 1
        hold = Hold(asked.time, self._time, self.is_current(asked))
        self._holders.setdefault(part, {})[member] = hold

    def gave_up(self, member: str, part: Part) -> None:
        """A member has a partition no more."""
        del self._holders[part][member]

    def confirmed(self, asked: Asked, member: str, parts: list[Part]) -> None:
        """The coordinator told a member that has these that it is one in good standing."""
        if not self.is_current(asked):
            return
        for part in parts:
            mine = self._holders[part][member]
            for other, hold in self._holders[part].items():
                if hold.current and mine.told < hold.asked and hold.told < asked.time:
                    self.world.violate(
                        f"{self.name}: {part} was given to {other} while {member} had it, who is "
                        "still a member"
                    )
