"""What coordinators hold, against the logs of their topics, while a run goes on.

- A write waits exactly while its log's high watermark has not passed it, and for a bounded time:
  one that is replicated as it is written does not. Groups of a broker that stops have none.
- The offsets of groups are those of the log: up to its end in the state that decides, up to the
  high watermark in the state that is told. A transaction's are pending until its marker; of two
  commits the later record counts. So are generations, and the epochs of groups and members.
- What a member of a classic group is assigned was written. A member that has to give something up
  keeps its epoch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mockbroker.coordinator.deferred_writes import DeferredWrite, ignore_error
from mockbroker.coordinator.group.consumer.member import MemberState
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.coordinator.records import decode_record
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from mockbroker_protocol.messages.coordinator_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mockbroker.clock import TimerTask
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.lazy import LazyCoordinator
    from mockbroker.coordinator.runtime import Replication
    from mockbroker.node.broker import Broker
    from simulation.cluster.world import ClusterWorld

    Place = tuple[str, str, int]


class GroupLogModel:
    """What a log of groups says, record by record."""

    def __init__(self) -> None:
        self.offsets: dict[Place, tuple[int, int]] = {}
        """By group, topic and partition: the offset, and where its record stands."""
        self.pending: dict[int, dict[Place, tuple[int, int]]] = {}
        self.epochs: dict[str, int] = {}
        """Generations of classic groups, epochs of others."""
        self.members: dict[tuple[str, str], int] = {}
        """Epochs by group and member."""
        self.assigned: dict[str, set[tuple[str, bytes]]] = {}
        """By classic group, what its records ever gave to a member, or to a static one's place."""
        self.wrong: list[str] = []

    def take(self, logged: object) -> None:
        """The next entry."""
        if isinstance(logged, EndOfTransaction):
            for place, pending in self.pending.pop(logged.producer_id, {}).items():
                if logged.commit and self.offsets.get(place, (0, -1))[1] < pending[1]:
                    self.offsets[place] = pending
            return
        offset, producer_id, key, value = logged  # type: ignore[misc]
        record = decode_record(key, value)  # type: ignore[has-type]
        if record is not None:
            self._take(offset, producer_id, record.key, record.value)  # type: ignore[has-type]

    def _take(self, offset: int, producer_id: int, key: object, value: object) -> None:
        if isinstance(key, OffsetCommitKey):
            place = key.group, key.topic, key.partition
            if value is None:
                for offsets in (self.offsets, *self.pending.values()):
                    offsets.pop(place, None)
                return
            assert isinstance(value, OffsetCommitValue)
            into = self.offsets if producer_id < 0 else self.pending.setdefault(producer_id, {})
            into[place] = value.offset, offset
        elif isinstance(key, GroupMetadataKey):
            self._take_epoch(key.group, value, "generation", GroupMetadataValue)
            for member in () if value is None else value.members:  # type: ignore[attr-defined]
                place = member.group_instance_id or member.member_id
                self.assigned.setdefault(key.group, set()).add((place, bytes(member.assignment)))
        elif isinstance(key, ConsumerGroupMetadataKey):
            self._take_epoch(key.group_id, value, "epoch", ConsumerGroupMetadataValue)
        elif isinstance(key, ConsumerGroupCurrentMemberAssignmentKey):
            place_of = key.group_id, key.member_id
            if value is None:
                self.members.pop(place_of, None)
            else:
                assert isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
                before = self.members.get(place_of, value.member_epoch)
                # A static member that leaves for a while is in epoch -2, whatever it has.
                goes_on = before != value.member_epoch and min(before, value.member_epoch) >= 0
                if value.state == MemberState.UNREVOKED_PARTITIONS and goes_on:
                    self.wrong.append(
                        f"{key.member_id} has to give something up at {offset}, and goes from "
                        f"epoch {before} to {value.member_epoch} before"
                    )
                self.members[place_of] = value.member_epoch

    def _take_epoch(self, group: str, value: object, field: str, kind: type) -> None:
        if value is None:
            self.epochs.pop(group, None)
        else:
            assert isinstance(value, kind)
            self.epochs[group] = getattr(value, field)


class _Replication:
    """Stands before what a runtime knows of its replicas, and hears of each time-out."""

    def __init__(self, replication: Replication, judge: Callable[[int, int], None]) -> None:
        self._replication = replication
        self._judge = judge
        self._index = 0

    def owns(self, partition_index: int, /) -> bool:
        """As `Replication.owns`."""
        return self._replication.owns(partition_index)

    def high_watermark(self, partition_index: int, /) -> int:
        """As `Replication.high_watermark`."""
        self._index = partition_index
        return self._replication.high_watermark(partition_index)

    def expire_write(self, expire: Callable[[], None], timeout_ms: float | None, /) -> TimerTask:
        """As `Replication.expire_write`; the partition is the one that was just asked about."""
        write = getattr(expire, "__self__", None)
        if isinstance(write, DeferredWrite):
            self._judge(write.end_offset, self._replication.high_watermark(self._index))
        return self._replication.expire_write(expire, timeout_ms)


class WriteTimeouts:
    """What is replicated as it is written completes at once: no time-out is armed for it."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world

    def look(self, broker: Broker) -> None:
        """Listen to a broker's coordinators from now on."""
        services = broker.services
        coordinators: tuple[LazyCoordinator[Any], ...] = (services.groups, services.transactions)
        for coordinator in coordinators:
            if not coordinator.in_use:
                continue
            runtime = coordinator.service.runtime
            known = runtime.replication
            if known is not None and not isinstance(known, _Replication):
                runtime.replication = _Replication(known, partial(self._judge, broker.broker_id))

    def _judge(self, node: int, end: int, passed: int) -> None:
        if end <= passed:
            self._world.violate(
                f"broker {node} lets a write up to {end} wait, and {passed} are replicated"
            )


def unanswered_writes(broker: Broker) -> dict[DeferredWrite, str]:
    """What a coordinator of groups has not answered yet.

    That of transactions tells nobody when it goes, as in Kafka: clients see that it is gone.
    """
    groups = broker.services.groups
    if not groups.in_use:
        return {}
    return {
        write: f"a write of partition {index} up to {write.end_offset} is not answered"
        for index, deferred in groups.service.runtime._deferred.items()  # noqa: SLF001
        for write in deferred._writes  # noqa: SLF001
        if write._done is not None and write._done is not ignore_error  # noqa: SLF001
    }


def wrong_writes(broker: Broker) -> Iterator[str]:
    """Writes that wait although they are replicated, or for ever."""
    services = broker.services
    if services.replicas.has_ready or broker.requests.unfinished:
        return
    coordinators: tuple[LazyCoordinator[Any], ...] = (services.groups, services.transactions)
    for coordinator in coordinators:
        if not coordinator.in_use:
            continue
        runtime = coordinator.service.runtime
        replication = runtime.replication
        for index, deferred in runtime._deferred.items() if replication else ():  # noqa: SLF001
            assert replication is not None
            passed = replication.high_watermark(index)
            partition = services.replicas.partition(runtime._topic.name, index)  # noqa: SLF001
            end = 0 if partition is None or partition.log is None else partition.log.log_end_offset
            if runtime.is_owned(index) and passed < end != deferred.last_offset:
                yield f"writes of partition {index} wait up to {deferred.last_offset} of {end}"
            for write in deferred._writes:  # noqa: SLF001
                what = f"a write of partition {index} up to {write.end_offset}"
                if write.end_offset <= passed:
                    yield f"{what} waits, and {passed} are replicated"
                done = write._done  # noqa: SLF001
                forgets = done is None or done is ignore_error
                if not forgets and (write.timeout is None or not write.timeout.pending):
                    yield f"{what} waits for ever"


def wrong_groups(broker: Broker, rng: Random) -> Iterator[str]:
    """Where groups are not what their log says; one partition is looked at."""
    services = broker.services
    if not services.groups.in_use or broker.requests.unfinished:
        return
    runtime = services.groups.service.runtime
    indexes = [index for index in runtime._shards if runtime.is_owned(index)]  # noqa: SLF001
    if not indexes or services.replicas.has_ready:
        return
    index = rng.choice(indexes)
    log = InternalLog(GROUP_METADATA_TOPIC, services.replicas, services.clock)
    partition = services.replicas.partition(GROUP_METADATA_TOPIC, index)
    passed = 0 if partition is None else partition.high_watermark
    live, told = runtime._shards[index], runtime._committed.get(index)  # noqa: SLF001
    model = GroupLogModel()
    is_told = told is None
    for logged in log.read(index):
        if told is not None and not is_told and logged[0] >= passed:
            yield from _differences("told", model, told)
            is_told = True
        model.take(logged)
    if told is not None and not is_told:
        yield from _differences("told", model, told)
    yield from _differences("decided on", model, live, by_records=False)
    yield from model.wrong
    yield from _wrong_classic(model, live)


def _wrong_classic(model: GroupLogModel, live: GroupShard) -> Iterator[str]:
    """Generations go ahead of their records, and assignments do not."""
    for group_id, group in live.groups.items():
        if group.generation_id < model.epochs.get(group_id, -1):
            epoch = model.epochs[group_id]
            yield f"{group_id} is in generation {group.generation_id}, its log in {epoch}"
        written = model.assigned.get(group_id, ())
        for member in group.members.values():
            place = member.group_instance_id or member.member_id
            if member.assignment and (place, bytes(member.assignment)) not in written:
                yield f"{group_id}: what {member.member_id} is assigned was never written"


def _differences(
    what: str, model: GroupLogModel, shard: GroupShard, *, by_records: bool = True
) -> Iterator[str]:
    """`by_records`: generations change with their records alone."""
    store = shard.offsets
    offsets = {
        (group, topic, index): one.offset
        for group, topics in store._committed.items()  # noqa: SLF001
        for topic, partitions in topics.items()
        for index, one in partitions.items()
    }
    wanted = {place: offset for place, (offset, _) in model.offsets.items()}
    if offsets != wanted:
        differ = set(offsets.items()) ^ set(wanted.items())
        yield f"offsets that are {what} differ from the log by {differ}"
    pending = {place for of_one in model.pending.values() for place in of_one}
    for group, topic, index in {*offsets, *pending}:
        if store.is_pending(group, topic, index) != ((group, topic, index) in pending):
            yield f"{group}, {topic}-{index} that is {what} is pending or not"
    for group_id, epoch in model.epochs.items():
        classic, consumer = shard.groups.get(group_id), shard.consumer_groups.get(group_id)
        if consumer is not None and consumer.epoch != epoch:
            yield f"{group_id} that is {what} has epoch {consumer.epoch}, its log {epoch}"
        if by_records and classic is not None and classic.generation_id != epoch:
            yield f"{group_id} that is {what} is in {classic.generation_id}, its log in {epoch}"
    for (group_id, member_id), epoch in model.members.items():
        consumer = shard.consumer_groups.get(group_id)
        member = None if consumer is None else consumer.members.get(member_id)
        if member is not None and member.epoch != epoch:
            yield f"{member_id} that is {what} has epoch {member.epoch}, its log {epoch}"
