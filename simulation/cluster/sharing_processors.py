"""Transactional producers that commit single offsets of a shared partition with their records.

A transaction writes records to the partition itself, so that markers and aborted records lie in it,
and stages offsets that nobody has committed. Committed, they count; aborted, they must come to
somebody of the group again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields, read_offset_ranges
from mockbroker.coop.numbers import DraftError, Tag
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from simulation.cluster.plan import SHARED
from simulation.cluster.sharers import OFFSETS_VERSION, PART, draft_error, runs_of
from simulation.cluster.transactors import MOVED, NO_ANSWER, OF_GROUP, OF_TRANSACTION, Transactor

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.cluster.sharing_book import Asked, SharingBook
    from simulation.cluster.transaction_ledger import Lineage
    from simulation.cluster.transactors import Setting

MOST_AT_ONCE = 4
TAKEN = frozenset((ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.ILLEGAL_GENERATION))
OffsetRanges = list[tuple[int, int]]


class SharingProcessor(Transactor):
    """One incarnation; it is no member of the group for which it commits."""

    def __init__(
        self, setting: Setting, lineage: Lineage, rng: Random, book: SharingBook | None = None
    ) -> None:
        super().__init__(setting, lineage, rng)
        self.parts = [PART]
        self.topics = {SHARED: 1}
        self.book = book or self._book_of_its_predecessor()
        self.offset_version = 5 if self.bumps_epochs else rng.choice((3, 4))
        self.in_transactions = 0
        self._staged: tuple[Asked, OffsetRanges] | None = None

    def _book_of_its_predecessor(self) -> SharingBook:
        return next(
            one.book
            for one in self.setting.clients
            if isinstance(one, SharingProcessor) and one.lineage is self.lineage and one is not self
        )

    def plan_transaction(self) -> None:
        node = self.coordinator(OF_GROUP, self.book.group)
        if node is None:
            return
        group = OffsetFetchRequestGroup(
            self.book.group, topics=[OffsetFetchRequestTopics(SHARED, partition_indexes=[0])]
        )
        tags.tag(group, {Tag.WANT_RANGES: b"\x01"})
        request = OffsetFetchRequest(groups=[group], require_stable=True)
        asked = self.book.ask(node)

        def answered(answer: OffsetFetchResponse | None) -> None:
            error = NO_ANSWER if answer is None else answer.groups[0].error_code
            if answer is not None and not error:
                error = answer.groups[0].topics[0].partitions[0].error_code
            if answer is None or error:
                self.note(f"offsets at {node}: {error}")
                if error not in MOVED:
                    self.world.violate(f"{self.name}: offsets are answered {error}")
                if error != ErrorCode.UNSTABLE_OFFSET_COMMIT:
                    self._coordinators.pop(OF_GROUP, None)
                self.later()
                return
            one = answer.groups[0].topics[0].partitions[0]
            ranges = read_offset_ranges(tags.tagged_fields(one)[Tag.COMMITTED_RANGES])
            self.book.told(self.name, asked, one.committed_offset, ranges, all_of_it=True)
            self._open(max(one.committed_offset, 0), ranges)
            self.later(1.0)

        self.ask(node, request, OFFSETS_VERSION, OffsetFetchResponse, answered)

    def _open(self, stable: int, ranges: OffsetRanges) -> None:
        """A transaction with some offsets that nobody has committed, and some records."""
        rng = self.rng
        done = {offset for first, last in ranges for offset in range(first, last + 1)}
        free = [each for each in self.book.offsets(stable) if each not in done]
        wanted = rng.sample(free, min(len(free), rng.randint(0, MOST_AT_ONCE)))
        batches = [(PART, [self.value() for _ in range(rng.randint(1, 2))])]
        self._staged = None
        more: list[Callable[[], None]] = []
        if wanted:
            staged = _in_pieces(runs_of(sorted(wanted)))
            more = [partial(self._stage, staged)]
            if not self.bumps_epochs:
                more.insert(0, self._add_offsets)
        self.open(batches, commit=rng.random() >= self.abort_chance, more=tuple(more))

    def _add_offsets(self) -> None:
        node = self.coordinator(OF_TRANSACTION, self.lineage.transactional_id)
        if node is None:
            return
        request = AddOffsetsToTxnRequest(
            self.lineage.transactional_id, self.producer_id, self.epoch, self.book.group
        )
        call = node, request, 3, AddOffsetsToTxnResponse
        self.try_step(
            "add offsets", call, lambda answer: answer.error_code, lambda _: self.done_with_step()
        )

    def _stage(self, ranges: OffsetRanges) -> None:
        node = self.coordinator(OF_GROUP, self.book.group)
        if node is None:
            return
        one = TxnOffsetCommitRequestPartition(0, 0)
        fields = commit_fields(ranges, read_committed=self.book.read_committed)
        tags.tag(one, fields)
        request = TxnOffsetCommitRequest(
            self.lineage.transactional_id,
            self.book.group,
            self.producer_id,
            self.epoch,
            topics=[TxnOffsetCommitRequestTopic(SHARED, partitions=[one])],
        )
        asked = self.book.ask(node)
        told: list[int] = []

        def error_of(answer: TxnOffsetCommitResponse) -> int:
            data = answer.topics[0].partitions[0]
            told.append(draft_error(data))
            refused = told[0] == DraftError.INDIVIDUAL_COMMIT_TOO_OLD or data.error_code in TAKEN
            # LOST errors end a transaction: what others have taken only has this one end otherwise.
            return ErrorCode.INVALID_RECORD_STATE if refused else data.error_code

        def staged(_: TxnOffsetCommitResponse) -> None:
            self._staged = asked, ranges
            self.in_transactions += 1
            self.done_with_step()

        def failed(error: int) -> None:
            if error == ErrorCode.INVALID_RECORD_STATE:
                self._abort()
                return
            if error == NO_ANSWER and not self.bumps_epochs:
                # It may arrive in the next transaction: only a new epoch keeps it out (KIP-890).
                self.lose("stage offsets", error)
                return
            if error == NO_ANSWER:
                self._staged = asked, ranges
            if error not in MOVED:
                self.world.violate(f"{self.name}: staged offsets are answered {error}")
            if error != ErrorCode.CONCURRENT_TRANSACTIONS:
                self._coordinators.clear()
            self.later()

        call = node, request, self.offset_version, TxnOffsetCommitResponse
        self.try_step(f"stage {ranges}", call, error_of, staged, failed)

    def _abort(self) -> None:
        """Somebody has these offsets: end it without them."""
        self._staged = None
        self._steps.clear()
        self._steps.append(partial(self._end, commit=False))
        self.later()

    def _end(self, *, commit: bool) -> None:
        if commit and self._staged is not None:
            self.book.tries(self._staged[1])
        super()._end(commit=commit)

    def ended(self, *, commit: bool) -> None:
        staged, self._staged = self._staged, None
        if commit and staged is not None:
            self.book.committed(*staged)
        super().ended(commit=commit)


def _in_pieces(runs: OffsetRanges) -> OffsetRanges:
    """Some of them as two that touch, which a client may commit too."""
    return [
        piece
        for first, last in runs
        for piece in (
            ((first, first), (first + 1, last)) if first % 2 and first < last else ((first, last),)
        )
    ]
