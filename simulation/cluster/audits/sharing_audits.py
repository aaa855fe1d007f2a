"""What brokers hold of groups that share a partition, and what they say of it, while a run goes on.

- An offset below the marker is committed, leased, free to be handed out again, or a hole.
- A leader that was overtaken is refused. What the log of a later epoch does not have was never
  handed out, and who coordinates anew has handed out nothing.
- Nobody may commit what another has, what was not handed out, or what lies below the stable offset.
- Whoever waits for something to be free is told at the partition's leader.
- What a filter left over of a batch is found for that batch alone.
- Ranges of offsets are as few as can be, and what was put in stays in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.batch_index import BatchIndex
from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Handouts, Leading, Shared
from mockbroker.coop.in_use import InUse
from mockbroker.coop.individual_commit import TOO_OLD, refusal_of
from mockbroker.coop.individual_commits import Place, committed_offset
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop.leases import Bounds, Holder, Span
from mockbroker.coop.remainders import Remainder, Remainders, Source
from simulation.cluster.sharing_book import records_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from mockbroker.apis.context import Services
    from mockbroker.coop.individual_commit import Standing
    from mockbroker.coop.leases import Leases
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from simulation.cluster.world import ClusterWorld

NOBODY = "nobody"
OURS = Holder("of-probes", -1)
GROUP = "of-probes"
WITHOUT_LIMITS = Bounds(1 << 30, 1 << 30, 1 << 30)
LATER_MS = 1e9
MOST_OFFSETS, CHANGES = 40, 8


class Dealt(NamedTuple):
    """All of a partition that is handed out beside what a broker has, by a coordinator."""

    handouts: Handouts
    shard: object
    shared: Shared
    leading: Leading


class SharingAudits:
    """Looks at one broker at a time."""

    def __init__(self, world: ClusterWorld, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self._lost: dict[Shared, set[int]] = {}
        """What was nobody's at the last look."""
        self._dealt: dict[Broker, Dealt] = {}
        """What was handed out beside a broker's own."""
        self.looks = 0

    def look(self) -> None:
        """What one broker has handed out, and what it would."""
        brokers = self._world.cluster.brokers
        self._look_at_coordinators()
        broker = self._rng.choice(brokers) if brokers else None
        if broker is None or broker.requests.unfinished or broker.services.replicas.has_ready:
            return
        self.looks += 1
        for wrong in (
            *self._wrong_tables(broker),
            *self._wrong_terms(broker),
            *wrong_remainders(broker, self._rng),
            *wrong_ranges(self._rng),
        ):
            self._world.violate(f"broker {broker.broker_id}, which shares: {wrong}")

    # -- what it has handed out --------------------------------------------------------------

    def _wrong_tables(self, broker: Broker) -> Iterator[str]:
        services = broker.services
        handouts = extension_of(services).handouts
        for shared, leases in handouts.tables().items():
            term = handouts._terms[shared]  # noqa: SLF001 -- for the audit alone
            runtime = services.groups.service.runtime
            shard = runtime.shard_for(shared.group)
            known = services.metadata.topics.get(shared.topic)
            if shard is None or term.shard is not shard:
                continue
            if known is None or known.id != term.topic_id:
                continue
            yield from self._wrong_refusals(leases)
            yield from self._wrong_wake(services, handouts, shared)
            log = self._leaders_log(shared)
            if log is None:
                continue
            for epoch, wanted in ((term.epoch - 1, True), (term.epoch, False)):
                leading = Leading(term.topic_id, epoch, log, services.clock.now_ms)
                if handouts.is_overtaken(shared, leading) != wanted:
                    yield f"a leader of {epoch} is {'not ' * wanted}overtaken in {term.epoch}"
            yield from self._wrong_stable(broker, shared, leases, log)

    def _leaders_log(self, shared: Shared) -> UnifiedLog | None:
        topic = self._world.cluster.metadata.topics.get(shared.topic)
        if topic is None or shared.partition >= len(topic.partitions):
            return None
        leader = topic.partitions[shared.partition].leader
        if self._world.cluster.broker(leader) is None:
            return None
        return self._world.controls.log(shared.topic, shared.partition, leader)

    def _wrong_refusals(self, leases: Leases) -> Iterator[str]:
        members = [NOBODY, *dict.fromkeys(lease.holder.member for lease in leases.leased)]
        member = self._rng.choice(members)
        first = self._rng.randint(max(leases.marker - MOST_OFFSETS, 0), leases.marker)
        last = first + self._rng.randrange(MOST_OFFSETS)
        others = [
            lease
            for lease in leases.leased
            if lease.holder.member != member and lease.first <= last and first <= lease.last
        ]
        wanted = last >= leases.marker or bool(others)
        if leases.refuses(member, first, last) != wanted:
            yield f"{member} may{' not' * (not wanted)} commit {first}-{last}: {others} are leased"

    def _wrong_wake(self, services: Services, handouts: Handouts, shared: Shared) -> Iterator[str]:
        """Whom it tells that something is free; nobody is told by this."""
        topic = services.metadata.topics.get(shared.topic)
        if topic is None or shared.partition >= len(topic.partitions):
            return
        told: list[int] = []
        tell = services.tell
        services.tell = lambda node, _: told.append(node)
        handouts.wake(shared)
        services.tell = tell
        leader = topic.partitions[shared.partition].leader
        if told != [leader]:
            yield f"{told} are told that something of {shared} is free, and {leader} leads it"

    def _wrong_stable(
        self, broker: Broker, shared: Shared, leases: Leases, log: UnifiedLog
    ) -> Iterator[str]:
        """What is below the stable offset, and what is nobody's beyond."""
        extension = extension_of(broker.services)
        shard = broker.services.groups.service.runtime.shard_for(shared.group)
        mine = extension.commits.runtime.shard_for(shared.group) if extension.has_commits else None
        if shard is None or mine is None:
            return
        commits = extension.commits
        place = Place(*shared)
        standing = commits.standing(
            committed_offset(shard, place), mine.of(*shared), place, read_committed=True
        )
        stable = standing.stable()
        if 0 < stable <= standing.log.high_watermark and (
            refusal_of(standing, [(stable - 1, stable - 1)]) is not TOO_OLD
        ):
            yield f"{stable - 1} may be committed, and {stable} is stable"
        handouts = extension.handouts
        is_moved = (
            shared in handouts._from_outside  # noqa: SLF001 -- for the audit alone
            or shared in handouts._dropped  # noqa: SLF001
            or not 0 <= handouts._stable[shared] <= stable  # noqa: SLF001
        )
        lost = set[int]() if is_moved else self._nobodys(standing, leases, log)
        again = sorted(lost & self._lost.get(shared, set()))
        self._lost[shared] = lost
        if again:
            yield f"{again} of {shared} were handed out, and are nobody's"

    def _nobodys(self, standing: Standing, leases: Leases, log: UnifiedLog) -> set[int]:
        part, stable = standing.part, standing.stable()
        held = IntervalSet()
        for each in (*leases.leased, *leases.free, *part.stray, *part.all_pending(), *part.keys):
            held.add(each.first, each.last)
        return {
            offset
            for offset, _, _ in records_of(log, stable, committed=True)
            if offset < min(leases.marker, log.last_stable_offset)
            and not held.overlaps(offset, offset)
        }

    # -- what it would hand out ----------------------------------------------------------------

    def _look_at_coordinators(self) -> None:
        """Who coordinates anew has handed out nothing."""
        running = self._world.cluster.brokers
        for broker, (handouts, shard, shared, leading) in [*self._dealt.items()]:
            now = broker.services.groups.service.runtime.shard_for(GROUP)
            if broker not in running:
                del self._dealt[broker]
            elif now is not None and now is not shard:
                del self._dealt[broker]
                if handouts.current(shared, 0, leading).leased:
                    self._world.violate(
                        f"what broker {broker.broker_id} had handed out of {shared} is so still, "
                        "and it coordinates anew"
                    )

    def _wrong_terms(self, broker: Broker) -> Iterator[str]:
        """All of a log is handed out beside, as of one of its epochs, and then of a later one."""
        services = broker.services
        if not services.groups.in_use:
            return
        shard = services.groups.service.runtime.shard_for(GROUP)
        hosted = [
            partition
            for partition in services.replicas.all_partitions()
            if partition.log is not None and not partition.deleted and partition.log.log_end_offset
        ]
        if shard is None or not hosted:
            return
        partition = self._rng.choice(hosted)
        log, shared = partition.log, Shared(GROUP, partition.topic, partition.index)
        assert log is not None
        epochs = log.leader_epochs() or [(partition.leader_epoch, 0)]
        at = self._rng.randrange(len(epochs))
        leading = Leading(partition.topic_id, epochs[at][0], log, services.clock.now_ms)
        handouts = _all_of(services, shared, leading)
        self._dealt[broker] = Dealt(_all_of(services, shared, leading), shard, shared, leading)
        leases = handouts.current(shared, log.log_start_offset, leading)
        yield from self._wrong_refusals(leases)
        kept = epochs[at + 1][1] if at + 1 < len(epochs) else log.log_end_offset
        leading = leading._replace(epoch=partition.leader_epoch + 1)
        leases = handouts.current(shared, log.log_start_offset, leading)
        has = max((lease.last + 1 for lease in leases.leased), default=0)
        if leases.marker > max(kept, log.log_start_offset) or has > leases.marker:
            yield f"{partition} is handed out to {leases.marker}, and its epoch ends at {kept}"


def _all_of(services: Services, shared: Shared, leading: Leading) -> Handouts:
    """All of a log is handed out to nobody."""
    handouts = Handouts(services, InUse(services))
    leases = handouts.current(shared, leading.log.log_start_offset, leading)
    leases.acquire(
        OURS,
        leading.now_ms + LATER_MS,
        WITHOUT_LIMITS,
        lambda _: _spans(leading.log),
        IntervalSet(),
    )
    return handouts


def _spans(log: UnifiedLog) -> Iterable[Span]:
    for header, _ in log.iterate_batches(log.log_start_offset):
        yield Span(header.base_offset, header.last_offset, header.size_in_bytes)


def wrong_remainders(broker: Broker, rng: Random) -> Iterator[str]:
    """What is kept of a batch is found for that batch, and not for another in its place."""
    logs = [one for one in broker.services.replicas.all_partitions() if one.log is not None]
    if not logs:
        return
    partition = rng.choice(logs)
    assert partition.log is not None
    header = next(
        (one for one, _ in partition.log.iterate_batches(partition.log.log_start_offset)), None
    )
    if header is None:
        return
    place = partition.topic_id, partition.index, header.base_offset
    source, kept = Source(place, header.crc, "all"), Remainders()
    kept.keep(Remainder(source, BatchIndex((0, 10), (0,), (0,)), None, None), 1 << 20)
    reach = [KeyRange(0, 0)]
    if kept.find(source._replace(crc=header.crc ^ 1), reach) is not None:
        yield f"what is left of the batch at {header.base_offset} of {partition} is another's"
    if kept.find(source, reach) is None:
        yield f"what is left of the batch at {header.base_offset} of {partition} is not found"


def wrong_ranges(rng: Random) -> Iterator[str]:
    """A set of offsets, against the offsets one by one."""
    ranges, offsets = IntervalSet(), set[int]()
    for _ in range(CHANGES):
        first = rng.randrange(MOST_OFFSETS)
        last = first + rng.randrange(6)
        if rng.random() < 0.2:
            ranges.discard(first, last)
            offsets.difference_update(range(first, last + 1))
        else:
            ranges.add(first, last)
            offsets.update(range(first, last + 1))
        starts = [each for each in sorted(offsets) if each - 1 not in offsets]
        ends = [each for each in sorted(offsets) if each + 1 not in offsets]
        if [*ranges] != [*zip(starts, ends, strict=True)]:
            yield f"{ranges} are not {[*zip(starts, ends, strict=True)]}"
            return
