"""A commit of very many ranges, in slices between which other requests are served.

All of it is looked at before the first slice: what would be refused goes the ordinary way. Then
some ranges are committed at a time, in their order, each time as a commit of its own; what comes of
ranges depends on the set of offsets alone. What others commit between two slices may pass over
ranges of the next one: these are done, and left out. A broker that loses the group's partition
meanwhile says so, and the client, which comes again, is told nothing but what is. A transaction
stages its ranges in the same way: who is refused in the middle aborts what is staged.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from mockbroker.coop.commit_tags import AskedCommit
from mockbroker.coop.errors import Refusal
from mockbroker.coop.handouts import LeaseChanges, Shared
from mockbroker.coop.individual_commit import begun, refusal_of
from mockbroker.coop.individual_commits import Both, Place, committed_offset
from mockbroker.coop.range_writer import RangeWriter
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coop.ic_shard import IndividualCommitShard
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.messages.group_offsets import OffsetCommitRequest
    from mockbroker_protocol.messages.transactions import TxnOffsetCommitRequest

AT_ONCE: Final = 1_000
"""Ranges that are committed in one slice."""

Ranges = list[tuple[int, int]]


class SlicedRangeWriter(RangeWriter):
    """Writes as `RangeWriter` does, `AT_ONCE` ranges a turn."""

    def __init__(
        self,
        services: Services,
        request: OffsetCommitRequest | TxnOffsetCommitRequest,
        ctx: RequestContext,
    ) -> None:
        super().__init__(services, request)
        self._ctx = ctx

    def write(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """As of all ranges at once, if there are few or if they would be refused."""
        self._read()
        asked = [one for one in self._asked.values() if isinstance(one, AskedCommit)]
        if sum(len(one.ranges) for one in asked) <= AT_ONCE or not self._is_allowed(shard, records):
            self._write_read(shard, records, done)
        else:
            self._services.work_in_slices(self._ctx, self._slices(shard, records, done))

    def _is_allowed(self, shard: GroupShard, records: list[CoordinatorRecord]) -> bool:
        """Whether every range may be committed, whatever the others come to."""
        mine = self._refusal_of_all() or self._commits.shard_of(self._request.group_id)
        if isinstance(mine, Refusal):
            return False
        total = mine.count(self._request.group_id)
        for record in records:
            place, asked = self._of(record)
            if isinstance(asked, Refusal):
                return False
            if asked is not None:
                total += len(asked.ranges)
                if not self._may_commit(shard, mine, place, asked):
                    return False
        return self._has_room_for(total)

    def _has_room_for(self, total: int) -> bool:
        """Whether the group may have so many ranges."""
        return total <= self._services.config.int("individual.commit.max.ranges.per.group")

    def _may_commit(
        self, shard: GroupShard, mine: IndividualCommitShard, place: Place, asked: AskedCommit
    ) -> bool:
        standing = begun(
            self._commits.standing(
                committed_offset(shard, place),
                mine.of(*place[:3]),
                place,
                read_committed=asked.read_committed,
            ),
            -1 if asked.initial is None else asked.initial,
        )
        said = self._said.get((place.topic, place.partition), LeaseChanges())
        return refusal_of(standing, asked.ranges) is None and not self._handouts.refuses(
            Shared(*place[:3]), self._request.member_id, asked.ranges, said
        )

    def _of(self, record: CoordinatorRecord) -> tuple[Place, AskedCommit | Refusal | None]:
        key, value = record.key, record.value
        assert isinstance(key, OffsetCommitKey)
        assert isinstance(value, OffsetCommitValue)
        place = Place(key.group, key.topic, key.partition, value.topic_id)
        return place, self._asked.get((key.topic, key.partition))

    def _slices(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> Iterator[None]:
        whole = self._asked
        parts = [(record, *self._of(record)) for record in records]
        slices = [_cut(asked) for _, _, asked in parts]
        joined = Both(done, sum(map(len, slices)))
        said = self._said
        for (record, place, _), asked_of_part in zip(parts, slices, strict=True):
            key = place.topic, place.partition
            for number, asked in enumerate(asked_of_part):
                if joined.error is not ErrorCode.NONE:
                    return
                if self._services.groups.service.runtime.shard_for(place.group) is not shard:
                    joined.one_done(ErrorCode.NOT_COORDINATOR)
                    return
                before = self._outcomes.pop(key, None)
                if before is not None and before.refusal is not None:
                    self._outcomes[key] = before  # somebody came between: the rest is refused
                    joined.one_done(ErrorCode.NONE)
                    continue
                self._said = {} if number else said
                self._write_slice(shard, record, place, asked, joined)
                # The last one's answer is told from what all of it asked for.
                self._asked = whole
                yield

    def _write_slice(
        self,
        shard: GroupShard,
        record: CoordinatorRecord,
        place: Place,
        asked: AskedCommit | Refusal | None,
        joined: Both,
    ) -> None:
        self._ranges, self._sweeps, self._handed_out, self._grown = [], [], [], 0
        key = place.topic, place.partition
        if isinstance(asked, AskedCommit) and asked.ranges:
            asked = asked._replace(ranges=self._to_do(shard, place, asked))
        self._asked = {} if asked is None else {key: asked}
        again = copy(record)
        again.value = copy(record.value)
        self._write_read(shard, [again], joined.one_done)

    def _to_do(self, shard: GroupShard, place: Place, asked: AskedCommit) -> Ranges:
        """The ranges of a slice without what is done by now."""
        mine = self._commits.shard_of(place.group)
        if isinstance(mine, Refusal):
            return asked.ranges
        stable = self._commits.standing(
            committed_offset(shard, place),
            mine.of(*place[:3]),
            place,
            read_committed=asked.read_committed,
        ).stable()
        return [(max(first, stable), last) for first, last in asked.ranges if last >= stable]


def _cut(
    asked: AskedCommit | Refusal | None,
) -> Sequence[AskedCommit | Refusal | None]:
    if not isinstance(asked, AskedCommit) or len(asked.ranges) <= AT_ONCE:
        return [asked]
    ranges = sorted(asked.ranges)
    return [
        asked._replace(ranges=ranges[at : at + AT_ONCE]) for at in range(0, len(ranges), AT_ONCE)
    ]
