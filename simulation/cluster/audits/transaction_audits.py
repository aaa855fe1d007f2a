"""Transactions as their coordinators have them: what is pending ends, what is overdue too.

A coordinator decides nothing before what it has loaded is replicated. It knows of each id what one
of its replicated records says, and forgets none that has had a transaction before it writes a
tombstone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.records import decode_record
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from mockbroker_protocol.records.batch import iterate_records
from simulation.cluster.audits.timer_audits import held_by

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.clock import Timer
    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.coordinator.txn.service import TransactionCoordinatorService
    from mockbroker.coordinator.txn.shard import TransactionShard
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.node.broker import Broker

    State = tuple[object, ...]

OVERDUE_MS = 1_000
"""Several of the intervals in which brokers of a run look for them: an abort may fail at first."""


class StateLog:
    """What the replicated records of a log say of each id, since its last tombstone."""

    def __init__(self) -> None:
        self.states: dict[str, dict[State, None]] = {}
        """Empty: the last is a tombstone."""
        self._end = 0

    def read(self, log: UnifiedLog, end: int) -> None:
        """Take what is below that offset and was not there before; less than before: all anew."""
        if end < self._end:
            self.states, self._end = {}, 0
        for header, batch in log.iterate_batches(max(self._end, log.log_start_offset)):
            if header.last_offset >= end:
                break
            self._end = header.last_offset + 1
            for record in iterate_records(batch, 0, header):
                told = decode_record(record.key, record.value)
                assert told is not None
                assert isinstance(told.key, TransactionLogKey)
                states = self.states.setdefault(told.key.transactional_id, {})
                if told.value is None:
                    states.clear()
                    continue
                assert isinstance(told.value, TransactionLogValue)
                states[_state_of(told.value)] = None


def _state_of(value: TransactionLogValue) -> State:
    return (
        value.producer_id,
        value.producer_epoch,
        TransactionState(value.transaction_status),
        value.transaction_start_timestamp_ms,
        value.transaction_timeout_ms,
        value.transaction_last_update_timestamp_ms,
    )


class TransactionAudits:
    """Looks at the transactions of brokers now and then.

    `controller` knows who leads: who does not, and has not heard so, has given up by right when a
    leader told it of a newer coordinator.
    """

    def __init__(self, controller: MetadataStore) -> None:
        self._controller = controller
        self._overdue: dict[TransactionMetadata, tuple[int, float]] = {}
        """Since when one is, that could be aborted, and when it began."""
        self._logs: dict[UnifiedLog, StateLog] = {}

    def look(self, broker: Broker, now_ms: float) -> Iterator[str]:
        """What is wrong with the transactions that a broker coordinates."""
        services = broker.services
        transactions, replicas = services.transactions, services.replicas
        if not transactions.in_use or broker.requests.unfinished or replicas.has_ready:
            return
        service = transactions.service
        runtime = service.runtime
        for shard in runtime.shards():
            index = shard.partition_index
            partition = replicas.partition(TRANSACTION_STATE_TOPIC, index)
            if partition is None or not runtime.is_owned(index):
                continue
            state = self._controller.topics[TRANSACTION_STATE_TOPIC].partitions[index]
            # Who led in between has fenced one that has not heard that it leads again.
            leads = (
                state.leader == broker.broker_id and state.leader_epoch == partition.leader_epoch
            )
            waits = bool(runtime._deferred.get(index))  # noqa: SLF001 -- for the audit alone
            if not shard.is_settled and not waits:
                yield f"partition {index} waits for what is replicated"
            for name, known in shard.transactions.items():
                if known.pending_state is not None and not shard.is_settled:
                    yield f"{name} goes on before what was loaded of it is replicated"
                if known.may_be_forgotten and not _is_idle(known):
                    yield f"{name} may be forgotten, and is {known.state.name} or on its way"
                if known.pending_state is not None and not waits:
                    yield f"{name} is pending in {known.pending_state.name}, and is not written"
                if leads:
                    yield from _wrong_states(service, shard, known)
                wall_ms = services.clock.wall_ms()
                late = _is_late(shard, known, wall_ms) and not partition.is_under_min_isr()
                yield from self._wrong_delay(known, now_ms, late=late)
        yield from _wrong_completions(service, services.timer)

    def wrong_states(self, broker: Broker, rng: Random) -> Iterator[str]:
        """Where transactional ids are not what their log says; one partition is looked at."""
        services = broker.services
        if not services.transactions.in_use or broker.requests.unfinished:
            return
        runtime = services.transactions.service.runtime
        shards = [each for each in runtime.shards() if runtime.is_owned(each.partition_index)]
        if not shards or services.replicas.has_ready:
            return
        shard = rng.choice(shards)
        partition = services.replicas.partition(TRANSACTION_STATE_TOPIC, shard.partition_index)
        if not shard.is_settled or partition is None or partition.log is None:
            return
        known_log = self._logs.setdefault(partition.log, StateLog())
        known_log.read(partition.log, partition.high_watermark)
        yield from _wrong_ids(shard, known_log.states)

    def _wrong_delay(
        self, known: TransactionMetadata, now_ms: float, *, late: bool
    ) -> Iterator[str]:
        began, since_ms = self._overdue.get(known, (-1, 0.0))
        if not late:
            self._overdue.pop(known, None)
        elif began != known.start_ms:
            self._overdue[known] = known.start_ms, now_ms
        elif now_ms - since_ms > OVERDUE_MS:
            yield f"{known.transactional_id} is overdue since {since_ms:.0f}"


def _wrong_completions(service: TransactionCoordinatorService, timer: Timer) -> Iterator[str]:
    """Prepared transactions that another coordinator ends, or nobody any more."""
    for name, pending in service.markers._pending.items():  # noqa: SLF001
        known = pending.metadata
        if pending.shard.transactions.get(name) is not known:
            yield f"markers of {name} are sent for another coordinator"
        if known.partitions or known.pending_state is not None:
            continue
        due = (task for bucket in timer._buckets.values() for task in bucket)  # noqa: SLF001
        if not any(pending in held_by(task._action) for task in due):  # noqa: SLF001
            yield f"{name} has all its markers, and its last record is not written again"


def _is_idle(known: TransactionMetadata) -> bool:
    is_open = known.state is TransactionState.ONGOING or known.state in PREPARED
    return known.pending_state is None and not is_open


def _is_late(shard: TransactionShard, known: TransactionMetadata, wall_ms: int) -> bool:
    return (
        shard.is_settled
        and known.state is TransactionState.ONGOING
        and known.pending_state is None
        and known.start_ms + known.timeout_ms < wall_ms
    )


def _wrong_states(
    service: TransactionCoordinatorService, shard: TransactionShard, known: TransactionMetadata
) -> Iterator[str]:
    if not shard.is_settled:
        return
    name = known.transactional_id
    if known.state in PREPARED and name not in service.markers._pending:  # noqa: SLF001
        yield f"{name} is in {known.state.name}, and nobody ends it"
    task = service._timeouts._abort  # noqa: SLF001
    if known.state is TransactionState.ONGOING and (task is None or not task.pending):
        yield f"{name} is open, and nobody looks whether it is overdue"


def _wrong_ids(shard: TransactionShard, states: dict[str, dict[State, None]]) -> Iterator[str]:
    for name, known in shard.transactions.items():
        has = known.producer_id, known.producer_epoch, known.state, known.start_ms
        if known.producer_epoch < 0:
            if known.pending_state is None:
                yield f"{name} is known, and none of its records is under way"
        elif (*has, known.timeout_ms, known.last_update_ms) not in states.get(name, ()):
            yield f"{name} has {has}, of which there is no replicated record"
    for name, told in states.items():
        # One whose first record was not replicated in time is forgotten; it has had no transaction.
        began = any(one[2] is not TransactionState.EMPTY for one in told)
        if began and name not in shard.transactions:
            yield f"{name} is forgotten, and its log does not say so"
