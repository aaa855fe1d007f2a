"""Consume, transform, produce: exactly once over a failing cluster (KIP-98, KIP-447, KIP-890).

A processor reads committed records of one partition, produces one for each of them, and commits the
offset behind them in the same transaction. Each incarnation begins at the offset that is committed.
What is visible in the end is one output for each input below the committed offset, and no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
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
from simulation.cluster.consumers import VERSION as FETCH_VERSION
from simulation.cluster.consumers import fetch_of
from simulation.cluster.transactors import MOVED, NO_ANSWER, OF_GROUP, OF_TRANSACTION, Transactor
from simulation.record_reader import read_records

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.transaction_ledger import Lineage, Part
    from simulation.cluster.transactors import Setting

INPUT = "t0", 0
OUTPUT = "out"
OFFSET_FETCH_VERSION = 7
MOST_AT_ONCE = 5
COORDINATED_BY = GROUP_METADATA_TOPIC, 0


class Processor(Transactor):
    """One incarnation; its group has the name of its transactional id, and no members."""

    def __init__(self, setting: Setting, lineage: Lineage, rng: Random) -> None:
        super().__init__(setting, lineage, rng)
        self.input = INPUT
        self.parts = [part for part in self.parts if part[0] == OUTPUT]
        self.offset_version = 5 if self.bumps_epochs else rng.choice((3, 4))
        self.committed: int | None = None
        """The offset that the group has in the end."""
        self._position: int | None = None
        self._inputs: list[int] = []
        """Offsets that were read and are not processed."""
        self._read_to = 0
        """Behind what was read."""
        self._auditing = False

    def finish(self) -> None:
        super().finish()
        self._auditing = self.is_latest
        if not self.busy:
            self.proceed()

    def has_work(self) -> bool:
        return self._auditing or super().has_work()

    def begin(self) -> None:
        if self._auditing and not self._finishing:
            self._ask_committed()
        else:
            super().begin()

    def began(self) -> None:
        self._position = None

    def plan_transaction(self) -> None:
        if self._position is None:
            self._ask_committed()
        elif self._inputs:
            self._process(self._inputs[: self.rng.randint(1, MOST_AT_ONCE)])
        else:
            self._fetch()

    def _ask_committed(self) -> None:
        """Where to begin; what a transaction has pending is waited for (require_stable)."""
        node = self.coordinator(OF_GROUP, self.lineage.transactional_id)
        if node is None:
            return
        epoch = self.truth.led_epoch(*COORDINATED_BY, node)
        auditing = self._auditing and not self._finishing

        def answered(answer: OffsetFetchResponse | None) -> None:
            error = NO_ANSWER if answer is None else answer.error_code
            if answer is not None and not error:
                error = answer.topics[0].partitions[0].error_code
            # A coordinator of before that has not heard so yet tells older ones, as in Kafka.
            replaced = epoch < 0 or epoch != self.truth.led_epoch(*COORDINATED_BY, node)
            if answer is None or error or replaced:
                if error and error not in MOVED:
                    self.world.violate(f"{self.name}: its group's coordinator answers {error}")
                self._coordinators.pop(OF_GROUP, None)
                self.later()
                return
            offset = max(answer.topics[0].partitions[0].committed_offset, 0)
            self.note(f"finds {offset} at {node}")
            if auditing:
                self._auditing = False
                self.committed = offset
            else:
                self._position = self._read_to = offset
                self._inputs.clear()
            self.later(1.0)

        request = OffsetFetchRequest(
            group_id=self.lineage.transactional_id,
            topics=[OffsetFetchRequestTopic(INPUT[0], [INPUT[1]])],
            require_stable=True,
        )
        self.ask(node, request, OFFSET_FETCH_VERSION, OffsetFetchResponse, answered)

    def _fetch(self) -> None:
        known = self.leaders.get(INPUT)
        if known is None:
            self.learn()
            return
        start = self._read_to

        def answered(answer: FetchResponse | None) -> None:
            if answer is None or answer.error_code or not answer.responses:
                self.forget(INPUT)
                self.later()
                return
            data = answer.responses[0].partitions[0]
            if data.error_code:
                self.forget(INPUT)
                self.later()
                return
            reading = read_records(data, start, committed=True)
            self._read_to = reading.end
            self._inputs += [offset for offset, _ in reading.records]
            if not self._inputs:
                self._finishing = False  # there is nothing to process
            self.later(1.0 if self._inputs else self.pause_ms)

        request = fetch_of(INPUT, known[1], start, committed=True)
        self.ask(known[0], request, FETCH_VERSION, FetchResponse, answered)

    def _process(self, offsets: list[int]) -> None:
        del self._inputs[: len(offsets)]
        made: dict[Part, list[bytes]] = {}
        for offset in offsets:
            made.setdefault(self.rng.choice(self.parts), []).append(self.value(f"<{offset}"))
        commit = self.rng.random() >= self.abort_chance
        self._position = offsets[-1] + 1
        more = [lambda: self._commit_offset(offsets[-1] + 1)]
        if not self.bumps_epochs:
            more.insert(0, self._add_offsets)
        self.open(list(made.items()), commit=commit, more=tuple(more))

    def ended(self, *, commit: bool) -> None:
        if not commit:
            self._position = None  # go back
        super().ended(commit=commit)

    def _add_offsets(self) -> None:
        node = self.coordinator(OF_TRANSACTION, self.lineage.transactional_id)
        if node is None:
            return
        request = AddOffsetsToTxnRequest(
            self.lineage.transactional_id,
            self.producer_id,
            self.epoch,
            self.lineage.transactional_id,
        )
        call = node, request, 3, AddOffsetsToTxnResponse
        self.try_step(
            "add offsets", call, lambda answer: answer.error_code, lambda _: self.done_with_step()
        )

    def _commit_offset(self, offset: int) -> None:
        node = self.coordinator(OF_GROUP, self.lineage.transactional_id)
        if node is None:
            return
        partition = TxnOffsetCommitRequestPartition(INPUT[1], offset)
        request = TxnOffsetCommitRequest(
            self.lineage.transactional_id,
            self.lineage.transactional_id,
            self.producer_id,
            self.epoch,
            topics=[TxnOffsetCommitRequestTopic(INPUT[0], partitions=[partition])],
        )

        def failed(error: int) -> None:
            if error == NO_ANSWER and not self.bumps_epochs:
                # It may arrive in the next transaction: only a new epoch keeps it out (KIP-890).
                self.lose("commit offset", error)
                return
            if error not in MOVED:
                self.world.violate(f"{self.name}: commit offset answers {error}")
            if error != ErrorCode.CONCURRENT_TRANSACTIONS:
                self._coordinators.clear()
            self.later()

        call = node, request, self.offset_version, TxnOffsetCommitResponse
        self.try_step(
            f"commit offset {offset}",
            call,
            lambda answer: answer.topics[0].partitions[0].error_code,
            lambda _: self.done_with_step(),
            failed,
        )
