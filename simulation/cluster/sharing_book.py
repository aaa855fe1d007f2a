"""What a group that shares a partition has done, and what it may be told, given and dealt.

An offset counts as *tried* once somebody asks to commit it, in a transaction once its commit is
asked for, and as *sure* once that is acknowledged. What a coordinator tells as committed must have
been tried, but for holes (control records, aborted data); and who asks with RequireStable must be
told all that was sure when it asked. A plain position takes back what lies behind it: what was
under way meanwhile may count or not.

Of what a transaction has pending no two ranges touch.

What a filter gives is held against the log of the leader in force; nobody else reads a key in the
same generation. What is leased is nobody else's until its time is over, and was not sure before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import is_current
from mockbroker.coop.key_filter import KeyFilter
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from mockbroker_protocol.records.batch import iterate_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mockbroker.coop.key_filter import KeyRange
    from mockbroker.coop.leases import Holder
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

ON_ITS_WAY_MS = 500.0
"""A request that nobody waits for any more has arrived by then, or never will."""
Part = tuple[str, int]
OffsetRange = tuple[int, int]


class Asked(NamedTuple):
    """What was so when somebody asked: `led` are epochs of who leads and coordinates.

    `pending`: what is sure, but the markers of its transactions are yet to come to who coordinates.
    `dealt_by`: epochs of who coordinates, and of the node as leader; -1 where somebody else may be
    taken for the coordinator, or who leads has not heard so.
    """

    node: int
    at_ms: float
    led: tuple[int, ...]
    sure: frozenset[int]
    resets: int
    pending: frozenset[int]
    dealt_by: tuple[int, ...] = ()


class Leased(NamedTuple):
    """An offset that a member has: `until_ms` at least, if all stays as it was."""

    holder: Holder
    until_ms: float
    dealt_by: tuple[int, ...]
    resets: int


def records_of(
    log: UnifiedLog, start: int, *, committed: bool
) -> Iterator[tuple[int, bytes | None, bytes]]:
    """Offset, key and value of all that consumers are given, from `start` on."""
    aborted = log.aborted_transactions(start, log.log_end_offset) if committed else ()
    for header, batch in log.iterate_batches(max(start, log.log_start_offset)):
        base = header.base_offset
        if header.is_control or any(
            header.is_transactional
            and one.producer_id == header.producer_id
            and one.first_offset <= base <= one.last_offset
            for one in aborted
        ):
            continue
        for record in iterate_records(batch, 0, header):
            if record.offset >= start:
                key = None if record.key is None else bytes(record.key)
                yield record.offset, key, bytes(record.value or b"")


class SharingBook:
    """Of one group; what is wrong goes to the world."""

    def __init__(self, world: ClusterWorld, truth: Truth, group: str, part: Part) -> None:
        self.world = world
        self.truth = truth
        self.group = group
        self.part = part
        self.read_committed = False
        self.in_slices = False
        """Whether what a commit asks for may be written in several steps."""
        self.tried: dict[int, float] = {}
        """When somebody last asked to commit it."""
        self.sure: set[int] = set()
        self.stable = -1
        """As who coordinates told it last, to one who insisted on what is written."""
        self.checks = self.given = self.dealt = 0
        self._looked_at = (-1, -1, -1), False
        self._resets = 0
        self._in_doubt_until_ms = -1.0
        self._resetting = 0
        self._low = 0
        """All below was tried, or is a hole."""
        self._holes: set[int] = set()
        self._owners: dict[tuple[object, bytes | None], str] = {}
        self._leases: dict[int, Leased] = {}
        self._committing: dict[int, Asked] = {}
        """With which commit a member asked for it last, until that is answered."""
        self._doubts: list[tuple[Asked, str]] = []
        """What was wrong if that commit is acknowledged."""

    # -- asking ----------------------------------------------------------------------------

    def ask(self, node: int) -> Asked:
        """What is so now, before a broker is asked."""
        return Asked(
            node,
            self.world.now_ms,
            self._led(node),
            frozenset(self.sure),
            self._reset_number(),
            self._pending(),
            self._dealt_by(node),
        )

    def _coordinator(self) -> Broker | None:
        """Whoever the controller lets coordinate the group."""
        truth = self.truth.find(GROUP_METADATA_TOPIC, 0)
        return None if truth is None else self.world.cluster.broker(truth.state.leader)

    def _dealt_by(self, node: int) -> tuple[int, ...]:
        """Epochs in which the group has one coordinator, whom this node asks, and it leads."""
        coordinator = self._coordinator()
        parts = ((GROUP_METADATA_TOPIC, 0), (INDIVIDUAL_COMMITS_TOPIC, 0))
        taken_for_it = [
            broker
            for broker in self.world.cluster.brokers
            if broker.services.groups.service.runtime.shard_for(self.group) is not None
        ]
        if coordinator is None or taken_for_it != [coordinator]:
            return (-1,)
        node_id = coordinator.broker_id
        led = [self.truth.led_epoch(*each, node_id) for each in parts]
        return (*led, self.truth.led_epoch(*self.part, node))

    def _pending(self) -> frozenset[int]:
        broker = self._coordinator()
        if broker is None or INDIVIDUAL_COMMITS_TOPIC not in self.world.cluster.metadata.topics:
            return frozenset()
        commits = extension_of(broker.services).commits
        part = commits.ranges_of(self.group, *self.part, live=True)
        if part is None or not part.pending:
            return frozenset()
        for ranges in () if self.in_slices else part.pending.values():
            for one, other in pairwise(ranges):
                if other.first <= one.last + 1:
                    self.world.violate(f"{self.group} has {one} and {other} pending, which touch")
        return frozenset(each for each in self.sure if part.is_pending(each, each))

    def _led(self, node: int) -> tuple[int, ...]:
        """Epochs in which it coordinates, and leads the partition; -1: it does not."""
        parts = ((GROUP_METADATA_TOPIC, 0), (INDIVIDUAL_COMMITS_TOPIC, 0), self.part)
        return tuple(self.truth.led_epoch(*each, node) for each in parts)

    def _reset_number(self) -> int:
        """-1 while it is not known whether a position counts."""
        in_doubt = self._resetting or self.world.now_ms < self._in_doubt_until_ms
        return -1 if in_doubt else self._resets

    def _coordinated(self, asked: Asked) -> bool:
        """Whether it has been the coordinator in force all the time since."""
        first, second = asked.led[:2]
        return first >= 0 and self._led(asked.node)[:2] == (first, second)

    def _unchanged(self, asked: Asked) -> bool:
        return asked.resets == self._reset_number() >= 0

    # -- commits ---------------------------------------------------------------------------

    def tries(self, ranges: Iterable[OffsetRange]) -> None:
        """Somebody asks to commit these."""
        now_ms = self.world.now_ms
        for first, last in ranges:
            self.tried.update(dict.fromkeys(range(first, last + 1), now_ms))

    def commits(self, asked: Asked, ranges: Sequence[OffsetRange]) -> None:
        """A member asks to commit these: what cannot be written is free before it is told so."""
        self.tries(ranges)
        for first, last in ranges:
            self._committing.update(dict.fromkeys(range(first, last + 1), asked))

    def refused(self, asked: Asked, ranges: Iterable[OffsetRange]) -> None:
        """They were not, or nobody knows."""
        self._answered(asked)
        self.frees(ranges)

    def _answered(self, asked: Asked) -> list[str]:
        """What was in doubt until now."""
        doubts = [wrong for by, wrong in self._doubts if by is asked]
        self._doubts = [each for each in self._doubts if each[0] is not asked]
        self._committing = {at: by for at, by in self._committing.items() if by is not asked}
        return doubts

    def committed(self, asked: Asked, ranges: Iterable[OffsetRange]) -> None:
        """These were acknowledged."""
        for wrong in self._answered(asked):
            self.world.violate(wrong)
        offsets = {offset for first, last in ranges for offset in range(first, last + 1)}
        for offset in offsets:
            self._leases.pop(offset, None)
        if self._unchanged(asked):
            self.sure |= offsets

    def frees(self, ranges: Iterable[OffsetRange]) -> None:
        """A member gives these back."""
        for first, last in ranges:
            for offset in range(first, last + 1):
                self._leases.pop(offset, None)

    def prefix(self) -> int:
        """Where the first record is that nobody tried to commit."""
        log = self._log()
        self._raise_low(log)
        return self._low if log is None else min(self._low, log.high_watermark)

    def offsets(self, start: int) -> list[int]:
        """Those that consumers may be given, from `start` on."""
        log = self._log()
        if log is None:
            return []
        committed = self.read_committed
        end = log.last_stable_offset if committed else log.high_watermark
        records = records_of(log, start, committed=committed)
        return [offset for offset, _, _ in records if offset < end]

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left to commit, as far as was told."""
        log = self._log()
        if self.stable < 0 or log is None:
            return False
        state = self.stable, log.log_end_offset, log.last_stable_offset
        if state != self._looked_at[0]:
            self._looked_at = state, not self.offsets(self.stable)
        return self._looked_at[1]

    def sets(self, offset: int) -> None:
        """Somebody asks for a plain position."""
        self._resetting += 1
        self._resets += 1
        self.tries(((0, offset - 1),) if offset else ())
        self.sure = {each for each in self.sure if each < offset}
        self._leases.clear()

    def was_set(self, offset: int, *, done: bool | None) -> None:
        """It counts, or does not; None: nobody knows."""
        self._resetting -= 1
        self._resets += 1
        self.stable = -1
        if done is None:
            self._in_doubt_until_ms = self.world.now_ms + ON_ITS_WAY_MS
        elif done and not self._resetting and self.world.now_ms >= self._in_doubt_until_ms:
            self.sure.update(range(offset))

    # -- what is told ----------------------------------------------------------------------

    def told(
        self, who: str, asked: Asked, stable: int, ranges: Sequence[OffsetRange], *, all_of_it: bool
    ) -> None:
        """A coordinator told what is committed; `all_of_it`: as of what is written."""
        self.checks += 1
        beyond = {offset for first, last in ranges for offset in range(first, last + 1)}
        log = self._log()
        if log is not None:
            self._raise_low(log)
            unasked = [each for each in range(self._low, stable) if not self._may_count(log, each)]
            unasked += [each for each in sorted(beyond) if not self._may_count(log, each)]
            if unasked:
                self.world.violate(f"{who} is told {stable} {ranges}: nobody committed {unasked}")
        if all_of_it and self._coordinated(asked):
            self.stable = stable
        if all_of_it and self._coordinated(asked) and self._unchanged(asked):
            lost = sorted(each for each in asked.sure if each >= stable and each not in beyond)
            if lost:
                self.world.violate(f"{who} is told {stable} {ranges}: {lost} was committed")

    def _log(self) -> UnifiedLog | None:
        """Of the leader, which has all that is committed."""
        truth = self.truth.find(*self.part)
        broker = None if truth is None else self.world.cluster.broker(truth.state.leader)
        partition = None if broker is None else broker.services.replicas.partition(*self.part)
        return None if partition is None else partition.log

    def _raise_low(self, log: UnifiedLog | None) -> None:
        while self._low in self.tried or (log is not None and self._is_hole(log, self._low)):
            self._low += 1

    def _may_count(self, log: UnifiedLog, offset: int) -> bool:
        return offset in self.tried or self._is_hole(log, offset)

    def _is_hole(self, log: UnifiedLog, offset: int) -> bool:
        if offset < log.log_start_offset:
            return True
        if offset in self._holes:
            return True
        if offset >= log.high_watermark:
            return False
        given = {at for at, _, _ in records_of(log, offset, committed=self.read_committed)}
        end = log.last_stable_offset if self.read_committed else log.high_watermark
        self._holes.update(at for at in range(offset, end) if at not in given)
        return offset in self._holes

    # -- what is given ---------------------------------------------------------------------

    def was_given(
        self,
        who: str,
        span: OffsetRange,
        records: Sequence[tuple[int, bytes]],
        ranges: Sequence[KeyRange],
        *,
        committed: bool,
    ) -> None:
        """A filter gave these of the offsets from `span[0]` to before `span[1]`."""
        log = self._log()
        start, end = span
        if log is None or log.log_end_offset < end:
            return
        wanted = KeyFilter(ranges)
        right = [
            (offset, value)
            for offset, key, value in records_of(log, start, committed=committed)
            if offset < end and (not ranges or wanted.matches(key, offset))
        ]
        given = [each for each in records if each[0] >= log.log_start_offset]
        if given != right:
            self.world.violate(f"{who} is given {given} of {span} by {ranges}, not {right}")
        self.given += len(given)

    def reads(self, who: str, generation: object, offsets: Iterable[int]) -> None:
        """A member of a generation has these to work on: nobody else has their keys in it."""
        log = self._log()
        wanted = set(offsets)
        if log is None or not wanted:
            return
        for offset, key, _ in records_of(log, min(wanted), committed=False):
            if offset in wanted and key is not None:
                owner = self._owners.setdefault((generation, key), who)
                if owner != who:
                    self.world.violate(f"{who} and {owner} read {key!r} in {generation}")

    def was_dealt(
        self,
        who: str,
        asked: Asked,
        holder: Holder,
        pieces: Iterable[OffsetRange],
        lease_ms: float,
    ) -> None:
        """A broker leased these offsets to a member."""
        offsets = [each for first, last in pieces for each in range(first, last + 1)]
        self.dealt += len(offsets)
        dealt_by = asked.dealt_by
        in_force = min(dealt_by[0], dealt_by[-1]) >= 0
        if not in_force or self._dealt_by(asked.node) != dealt_by or not self._unchanged(asked):
            return
        again = sorted(asked.sure.intersection(offsets) - asked.pending - self._pending())
        if again:
            self.world.violate(f"{who} is dealt {again}, which were committed")
        now = Leased(holder, asked.at_ms + lease_ms, dealt_by, asked.resets)
        for offset in offsets:
            before = self._leases.get(offset)
            if before is not None and self._still_has(before, now):
                self._is_wrong(offset, f"{who} is dealt {offset}, which {before.holder} has")
            self._leases[offset] = now

    def _is_wrong(self, offset: int, what: str) -> None:
        """At once, or once it is known that a commit under way did not give it back."""
        by = self._committing.get(offset)
        if by is None:
            self.world.violate(what)
        else:
            self._doubts.append((by, what))

    def _still_has(self, before: Leased, now: Leased) -> bool:
        """Whether another has it by the same coordinator, and is there and in time."""
        if (
            before.holder.member == now.holder.member
            or before.dealt_by[:2] != now.dealt_by[:2]
            or before.resets != now.resets
        ):
            return False
        broker = self._coordinator()
        return (
            broker is not None
            and self.world.now_ms < before.until_ms
            and is_current(broker.services, self.group, before.holder)
        )
