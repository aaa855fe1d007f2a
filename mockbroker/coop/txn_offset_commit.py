"""TxnOffsetCommit of a broker with the extension: ranges that count when the transaction commits.

They are pending in the topic of individual commits, under the producer, until the marker of the
transaction is written to the group's partition; then one goes there too. A range that another open
transaction or the group has already aborts: the producer's records would be there twice. Producers
that cannot send the field may say it in the metadata of a position (`metadata_carrier`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import txn_offset_commit
from mockbroker.coop import tags
from mockbroker.coop.carried_commits import carry_text
from mockbroker.coop.errors import Refusal
from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import LeaseChanges, Shared
from mockbroker.coop.individual_commit import TOO_OLD, Outcome, refusal_beyond
from mockbroker.coop.individual_commits import Both, committed_offset
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.range_writer import NOT_YOURS
from mockbroker.coop.sliced_commit import SlicedRangeWriter
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker.coop.commit_tags import AskedCommit
    from mockbroker.coop.ic_shard import CommittedRanges, IndividualCommitShard
    from mockbroker.coop.individual_commit import Standing
    from mockbroker.coop.individual_commits import Place
    from mockbroker.coop.sliced_commit import Ranges
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.messages.coordinator_records import OffsetCommitValue
    from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
    from mockbroker_protocol.messages.transactions import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitResponse,
    )

guard = txn_offset_commit.guard

_ABORTABLE_VERSION = 4
"""From here on clients know TRANSACTION_ABORTABLE."""


def handle(
    services: Services, ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Verdict:
    """Answer as without the extension, unless ranges are committed."""
    extension = extension_of(services)
    if tags.is_spoken_of(request.topics):
        writer = TransactionalRangeWriter(services, request, ctx)
    elif extension.in_use.carrier and carry_text(services, request):
        writer = CarriedTransactionWriter(services, request, ctx)
    else:
        return txn_offset_commit.handle(services, ctx, request)
    return txn_offset_commit.handle(services, ctx, request, writer)


class TransactionalRangeWriter(SlicedRangeWriter):
    """Stages ranges; positions beside them are pending as always."""

    def __init__(
        self, services: Services, request: TxnOffsetCommitRequest, ctx: RequestContext
    ) -> None:
        super().__init__(services, request, ctx)
        self._producer = request.producer_id, request.producer_epoch
        self._staged: set[Place] = set()
        """Where something of this request is pending."""
        code = ErrorCode.ILLEGAL_GENERATION
        if ctx.api_version >= _ABORTABLE_VERSION:
            code = ErrorCode.TRANSACTION_ABORTABLE
        self._taken = Refusal(code)
        self._beginnings: list[CoordinatorRecord] = []
        self._left_over: list[CoordinatorRecord] = []

    def write_all(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Where a group begins and what is left over of one before is of no transaction."""
        joined = Both(done, 4)
        index = shard.partition_index
        groups = self._services.groups.service.runtime
        groups.write(index, self._beginnings, joined.one_done)
        groups.write(index, records, joined.one_done, *self._producer)
        self._commits.write_ranges(index, self._left_over, joined.one_done)
        self._commits.write_ranges(index, self._ranges, joined.one_done, *self._producer)

    def _decide_plain(
        self, _place: Place, _committed: int, _part: CommittedRanges, _value: OffsetCommitValue
    ) -> bool:
        return True  # it counts at the marker, if at all

    def _decide_ranges(
        self,
        shard: GroupShard,
        mine: IndividualCommitShard,
        place: Place,
        record: CoordinatorRecord,
        asked: AskedCommit,
    ) -> bool:
        committed = committed_offset(shard, place)
        if self._is_anothers(place, asked):
            self._outcomes[place.topic, place.partition] = Outcome(committed, 0, refusal=NOT_YOURS)
            return False
        standing = self._commits.standing(
            committed, mine.of(*place[:3]), place, read_committed=asked.read_committed
        )
        value: OffsetCommitValue = record.value  # type: ignore[assignment]  # as the caller knows
        begins = standing.is_new
        if begins:
            gone = standing.all_ranges()
            self._left_over += self._commits.tombstones(place, gone)
            standing = self._begun(standing, place, asked)
        stable = standing.stable()
        refusal = self._refusal(standing, stable, asked)
        own = standing.part.pending.get(self._producer[0], IntervalSet())
        if place in self._staged and not own:
            refusal = self._taken  # the transaction has ended since the slice before
        held = len(standing.part.keys)
        self._outcomes[place.topic, place.partition] = Outcome(stable, held, refusal=refusal)
        if refusal is not None:
            return False
        if begins:
            value.offset, value.metadata = stable, ""
            self._beginnings.append(record)
        staged = IntervalSet(asked.ranges)
        put = [gap for each in staged for gap in own.gaps(*each)]
        self._write_ranges(place, value, Outcome(stable, held, (), put), asked)
        self._staged.add(place)
        return False

    def _is_anothers(self, place: Place, asked: AskedCommit) -> bool:
        """Whether somebody else was handed out what is asked for."""
        member_id = self._request.member_id
        return self._handouts.refuses(Shared(*place[:3]), member_id, asked.ranges, LeaseChanges())

    def _begun(self, standing: Standing, place: Place, asked: AskedCommit) -> Standing:
        """How a group stands that has nothing yet."""
        start = standing.log.log_start if asked.initial in (None, -1) else asked.initial
        assert start is not None
        return self._commits.standing(start, None, place, read_committed=asked.read_committed)

    # -- in slices -------------------------------------------------------------------------

    def _has_room_for(self, _total: int) -> bool:
        return True  # the end of a transaction is never refused

    def _may_commit(
        self, shard: GroupShard, mine: IndividualCommitShard, place: Place, asked: AskedCommit
    ) -> bool:
        standing = self._commits.standing(
            committed_offset(shard, place),
            mine.of(*place[:3]),
            place,
            read_committed=asked.read_committed,
        )
        if standing.is_new:
            standing = self._begun(standing, place, asked)
        return not self._is_anothers(place, asked) and (
            self._refusal(standing, standing.stable(), asked) is None
        )

    def _write_slice(
        self,
        shard: GroupShard,
        record: CoordinatorRecord,
        place: Place,
        asked: AskedCommit | Refusal | None,
        joined: Both,
    ) -> None:
        self._beginnings, self._left_over = [], []
        super()._write_slice(shard, record, place, asked, joined)

    def _to_do(self, _shard: GroupShard, _place: Place, asked: AskedCommit) -> Ranges:
        return asked.ranges  # what others did meanwhile aborts the transaction

    def _refusal(self, standing: Standing, stable: int, asked: AskedCommit) -> Refusal | None:
        part, ranges = standing.part, asked.ranges
        beyond = refusal_beyond(ranges, standing.log)
        if beyond is not None:
            return beyond
        if any(first < stable for first, _ in ranges):
            return TOO_OLD
        if any(
            part.keys.overlaps(first, last) or part.is_pending(first, last, self._producer[0])
            for first, last in ranges
        ):
            return self._taken
        return None


class CarriedTransactionWriter(TransactionalRangeWriter):
    """Answers have no fields: their client could not read them."""

    def amend(self, response: OffsetCommitResponse | TxnOffsetCommitResponse) -> None:
        """Say it in error codes alone."""
        super().amend(response)
        for topic in response.topics:
            for one in topic.partitions:
                tags.tag(one, {})
