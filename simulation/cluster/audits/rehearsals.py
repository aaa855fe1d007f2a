"""What a run's own data comes to when it is told otherwise: parts of coordinators, by themselves.

- The log of groups is told anew to a store of offsets, with some commits in transactions that end
  some time later: of two commits the later record counts, and what is aborted does not.
- Each member of KIP-848 has something to give up, and a time for it. When that is over the member
  is fenced, unless it has another epoch by then (KIP-848: its rebalance time-out).
- What it has another member takes before it is gone: from then on that one's epoch is the
  partition's (ConsumerGroup.removePartitionEpochs).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mockbroker.clock import Clock, Timer
from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.group_records import assignment_record
from mockbroker.coordinator.group.consumer.member import STATIC_LEAVE_EPOCH
from mockbroker.coordinator.group.consumer.timeouts import MemberTimeouts
from mockbroker.coordinator.group.offset_store import OffsetStore
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.coordinator.records import decode_record
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue
from simulation.cluster.audits.runtime_audits import GroupLogModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.partition_load import LoggedEntry
    from mockbroker.node.broker import Broker

PRODUCERS = (1, 2)
HEIR = "heir"
ENDS = 0.2
"""How likely a transaction ends behind a record."""
LATEST = 300
"""So many records are told anew."""


def wrong_rehearsals(broker: Broker, rng: Random) -> Iterator[str]:
    """What comes out wrong with the data of a broker that coordinates groups."""
    services = broker.services
    if not services.groups.in_use:
        return
    log = InternalLog(GROUP_METADATA_TOPIC, services.replicas, services.clock)
    for shard in services.groups.service.runtime.shards():
        yield from _wrong_offsets([*log.read(shard.partition_index)][-LATEST:], rng)
        for group in shard.consumer_groups.values():
            yield from _wrong_timeouts(shard, group)
            yield from _wrong_epochs(group)


def _wrong_offsets(entries: Sequence[LoggedEntry], rng: Random) -> Iterator[str]:
    model, store = GroupLogModel(), OffsetStore()
    for offset, entry in enumerate(entries):
        if isinstance(entry, EndOfTransaction):
            continue
        _, _, key, value = entry
        record = decode_record(key, value)
        if record is None or not isinstance(record.key, OffsetCommitKey):
            continue
        of = record.key
        if record.value is None:
            model.take((2 * offset, -1, key, value))
            store.remove(of.group, of.topic, of.partition)
            continue
        assert isinstance(record.value, OffsetCommitValue)
        producer_id = rng.choice((-1, -1, *PRODUCERS))
        model.take((2 * offset, producer_id, key, value))
        store.put(2 * offset, producer_id, of, record.value)
        if rng.random() < ENDS:
            ends = EndOfTransaction(2 * offset + 1, rng.choice(PRODUCERS), rng.random() < 0.7)
            model.take(ends)
            store.end_transaction(ends.producer_id, commit=ends.commit)
    for place, (offset, _) in model.offsets.items():
        found = store.get(*place)
        told = None if found is None else found.offset
        if told != offset:
            yield f"of {place}, told anew with transactions, is kept {told}, not {offset}"


def _wrong_timeouts(shard: GroupShard, group: ConsumerGroup) -> Iterator[str]:
    for member in group.members.values():
        if member.epoch <= 0:
            continue
        clock, timer = Clock(), Timer()
        fenced: list[str] = []

        def fence(_shard: GroupShard, _group: str, of: str, _again: Callable[[], None]) -> None:
            fenced.append(of)  # noqa: B023 -- called before the next member's turn

        timeouts = MemberTimeouts(clock, timer, fence)
        for epoch, wanted in ((STATIC_LEAVE_EPOCH, []), (member.epoch, [member.member_id])):
            copy = ConsumerGroup(group.group_id)
            copy.members[member.member_id] = replace(member, rebalance_timeout_ms=100)
            timeouts.schedule_rebalance_timeout(shard, copy, member.member_id)
            copy.members[member.member_id] = replace(member, epoch=epoch)
            clock.now_ms += 101
            timer.advance(clock.now_ms)
            if fenced != wanted:
                yield (
                    f"{member.member_id} of epoch {member.epoch} has not given up in time, is in "
                    f"{epoch} by then, and {fenced} are fenced"
                )


def _wrong_epochs(group: ConsumerGroup) -> Iterator[str]:
    for member in group.members.values():
        held = {(topic_id, index) for topic_id, has in member.assigned.items() for index in has}
        if not held or member.epoch <= 0:
            continue
        copy, heir = ConsumerGroup(group.group_id), replace(member, member_id=HEIR)
        heir = replace(heir, epoch=member.epoch + 1)
        for takes in (member, heir, replace(member, assigned={}, pending_revocation={})):
            record = assignment_record(group.group_id, takes)
            copy.replay(record.key, record.value)
        wrong = [part for part in sorted(held) if copy.partition_epochs.get(part) != heir.epoch]
        if wrong:
            yield f"{wrong} of {member.member_id} are taken over, and have {copy.partition_epochs}"
