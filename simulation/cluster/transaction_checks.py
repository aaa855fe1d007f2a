"""What logs and readers must show of transactions when a run is at rest.

- In each log, epochs of a producer never go back, its sequence numbers have no gap, and no
  transaction is open.
- A transaction is visible whole or not at all: whole if its commit was acknowledged, not at all if
  its abort was, or if nobody tried to commit it.
- Each reader was given exactly what is visible, in the order of the log, and each incarnation's
  values stand in the order in which they were made.
- In `__transaction_state` an end follows its decision, and every decision is followed by its end.
- A marker tells the leader epoch of a coordinator that knew the decision, by which older ones are
  fenced.
- The outputs of a processor are those of the inputs below its committed offset, each once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.records import decode_record
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from mockbroker_protocol.records.batch import iterate_records, parse_control_record
from simulation.cluster.producers import MAX_SEQUENCE
from simulation.cluster.transaction_steps import wrong_step
from simulation.record_reader import ABORT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker_protocol.records.batch import BatchHeader
    from simulation.cluster.committed_readers import CommittedReader
    from simulation.cluster.processors import Processor
    from simulation.cluster.transaction_ledger import Part, TransactionLedger
    from simulation.cluster.world import ClusterWorld


_BEFORE = {
    complete: (complete, prepared)
    for complete, prepared in (
        (TransactionState.COMPLETE_COMMIT, TransactionState.PREPARE_COMMIT),
        (TransactionState.COMPLETE_ABORT, TransactionState.PREPARE_ABORT),
    )
}
"""What must stand before. A record of which the client was told an error, since it was not
replicated in time, stays in the log: anything may follow it, and the same again."""


def leader_log(cluster: Cluster, topic: str, index: int) -> UnifiedLog | None:
    """The log of a partition's leader; None without one, or when it is empty."""
    broker = cluster.broker(cluster.metadata.topics[topic].partitions[index].leader)
    partition = None if broker is None else broker.services.replicas.partition(topic, index)
    return None if partition is None else partition.log


class VisibleLog:
    """One log as a reader of committed records sees it: `records` are (offset, value)."""

    def __init__(self, log: UnifiedLog) -> None:
        self.records: list[tuple[int, bytes]] = []
        self.wrong: list[str] = []
        self.markers: dict[tuple[int, int], int] = {}
        """By producer and its epoch, the coordinator's epoch in the marker."""
        self._epochs: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        """By producer, the sequence number that comes next in its epoch."""
        self._open: dict[int, list[tuple[int, bytes]]] = {}
        for header, batch in log.iterate_batches(0):
            self._check_order(header)
            records = list(iterate_records(batch, 0, header))
            if header.is_control:
                kept = self._open.pop(header.producer_id, [])
                kind, coordinator_epoch = parse_control_record(records[0])
                self.markers[header.producer_id, header.producer_epoch] = coordinator_epoch
                if kind != ABORT:
                    self.records += kept
                continue
            values = [(record.offset, bytes(record.value or b"")) for record in records]
            if header.is_transactional:
                self._open.setdefault(header.producer_id, []).extend(values)
            else:
                self.records += values
        self.records.sort()
        if self._open:
            self.wrong.append(f"producers {sorted(self._open)} have a transaction open")
        if log.last_stable_offset != log.log_end_offset:
            self.wrong.append(f"the last stable offset stands still: {log!r}")

    def _check_order(self, header: BatchHeader) -> None:
        producer_id, epoch = header.producer_id, header.producer_epoch
        if producer_id < 0:
            return
        known = self._epochs.get(producer_id, -1)
        if epoch < known:
            self.wrong.append(f"producer {producer_id} has epoch {epoch} after {known}")
        if epoch != known:
            self._epochs[producer_id] = epoch
            first = 0 if header.is_transactional else header.base_sequence
            self._sequences[producer_id] = first
        if header.is_control:
            return
        wanted = self._sequences[producer_id]
        if header.base_sequence != wanted:
            self.wrong.append(
                f"producer {producer_id} has sequence {header.base_sequence} after {wanted}"
            )
        self._sequences[producer_id] = (header.base_sequence + header.record_count) & MAX_SEQUENCE


class TransactionChecks:
    """Looks at a world at rest; what is wrong goes to `violate`."""

    def __init__(self, world: ClusterWorld, ledger: TransactionLedger) -> None:
        self._world = world
        self._ledger = ledger
        self._visible: dict[Part, VisibleLog] = {}
        self._decided: dict[tuple[int, int], int] = {}
        """By producer and the epoch of its marker, the leader epoch of the first decision."""

    def check(
        self, parts: Iterable[Part], readers: list[CommittedReader], processors: list[Processor]
    ) -> None:
        """All that must hold."""
        for part in parts:
            log = leader_log(self._world.cluster, *part)
            if log is not None:
                self._visible[part] = VisibleLog(log)
                self._check_log(part)
        self._check_transactions()
        for reader in readers:
            for part, taken in reader.taken.items():
                if part in self._visible:
                    self._check_reader(f"{reader.name} of {part}", part, taken)
        for processor in processors:
            self._check_processor(processor)
        self._check_states()
        self._check_markers()

    def _check_log(self, part: Part) -> None:
        visible = self._visible[part]
        for wrong in visible.wrong:
            self._world.violate(f"{part}: {wrong}")
        last: dict[str, bytes] = {}
        ledger = self._ledger
        for offset, value in visible.records:
            if value in ledger.order:
                owner = ledger.of_value[value].owner
                before = last.get(owner)
                if before is not None and ledger.order[value] <= ledger.order[before]:
                    self._world.violate(f"{part}: {value!r} at {offset} follows {before!r}")
                last[owner] = value

    def _check_transactions(self) -> None:
        shown = Counter(value for log in self._visible.values() for _, value in log.records)
        for lineage in self._ledger.lineages.values():
            for transaction in lineage.transactions:
                count = sum(shown[value] for value in transaction.values)
                whole = len(transaction.values)
                may_show = transaction.commit_tried and not transaction.fenced
                if count not in (0, whole):
                    self._world.violate(f"{transaction}: {count} of {whole} values are visible")
                elif count and (not may_show or transaction.ended is False):
                    self._world.violate(f"{transaction} is visible, and nobody commits it")
                elif count != whole and transaction.ended:
                    self._world.violate(f"{transaction} is not visible, although it was committed")

    def _check_reader(self, who: str, part: Part, taken: list[bytes]) -> None:
        visible = [value for _, value in self._visible[part].records]
        if taken != visible:
            at = next(
                (
                    at
                    for at, pair in enumerate(zip(taken, visible, strict=False))
                    if len({*pair}) > 1
                ),
                min(len(taken), len(visible)),
            )
            self._world.violate(
                f"{who} was given {taken[at : at + 3]}, {visible[at : at + 3]} is visible"
            )

    def _check_processor(self, processor: Processor) -> None:
        transactional_id = processor.lineage.transactional_id
        owner = f"{transactional_id}."
        outputs = sorted(
            int(value.rpartition(b"<")[2])
            for log in self._visible.values()
            for _, value in log.records
            if b"<" in value and value.decode().startswith(owner)
        )
        log = self._visible.get(processor.input)
        inputs = [] if log is None else [offset for offset, _ in log.records]
        committed = processor.committed
        wanted = [offset for offset in inputs if committed is not None and offset < committed]
        if outputs != wanted:
            self._world.violate(
                f"{transactional_id} has outputs of {outputs}, its offset {committed} is that of "
                f"{wanted}"
            )

    # -- the coordinator's own log -----------------------------------------------------------

    def _check_states(self) -> None:
        cluster = self._world.cluster
        topic = cluster.metadata.topics.get(TRANSACTION_STATE_TOPIC)
        records: dict[str, list[TransactionLogValue]] = {}
        for index in range(0 if topic is None else len(topic.partitions)):
            log = leader_log(cluster, TRANSACTION_STATE_TOPIC, index)
            for header, batch in () if log is None else log.iterate_batches(0):
                for record in iterate_records(batch, 0, header):
                    now = self._follow(record.key, record.value, records)
                    if TransactionState(now.transaction_status) in PREPARED:
                        decided = now.producer_id, now.producer_epoch
                        self._decided.setdefault(decided, header.partition_leader_epoch)
        last = {name: values[-1] for name, values in records.items()}
        for transactional_id, value in last.items():
            if TransactionState(value.transaction_status) in PREPARED:
                self._world.violate(f"{transactional_id} stays in state {value.transaction_status}")
        for transactional_id, lineage in self._ledger.lineages.items():
            known = last.get(transactional_id)
            told = lineage.producer_id, lineage.told_epoch
            has = (-1, -1) if known is None else (known.producer_id, known.producer_epoch)
            if told[1] >= 0 and lineage.is_past(*has):
                self._world.violate(f"{transactional_id} was told {told}, and is {has}")

    def _follow(
        self, key: bytes | None, value: bytes | None, records: dict[str, list[TransactionLogValue]]
    ) -> TransactionLogValue:
        record = decode_record(key, value)
        assert record is not None
        assert isinstance(record.key, TransactionLogKey)
        assert isinstance(record.value, TransactionLogValue)
        transactional_id, now = record.key.transactional_id, record.value
        known = records.setdefault(transactional_id, [])
        before = known[-1] if known else None
        wrong = wrong_step(known, now)
        if wrong:
            self._world.violate(f"{transactional_id}: {wrong}")
        known.append(now)
        state = TransactionState(now.transaction_status)
        was = None if before is None else TransactionState(before.transaction_status)
        if was not in _BEFORE.get(state, (was,)):
            self._world.violate(
                f"{transactional_id}: {state.name} after {None if was is None else was.name}"
            )
        return now

    def _check_markers(self) -> None:
        for part, visible in self._visible.items():
            for (producer_id, epoch), told in visible.markers.items():
                decided = self._decided.get((producer_id, epoch))
                if decided is not None and told < decided:
                    self._world.violate(
                        f"{part}: the marker of producer {producer_id} has coordinator epoch "
                        f"{told}, it was decided in {decided}"
                    )
