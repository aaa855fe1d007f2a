"""A shard of transactional ids beside a run: what is written of them, and what is due by itself.

It has copies of ids that the run has. Its log answers when, and as, it is told to:

- What is written counts once that is answered without an error; an id is busy until then. After an
  error it is as it was, and one that has never had a record is none.
- At rest, an id is forgotten once its tombstone is written, and not before.
- What is open for longer than its producer allowed is fenced, what is at rest for too long expires,
  to the millisecond; neither while another change of it is under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.clock import Clock, Timer
from mockbroker.coordinator.txn.init_producer import ProducerIdAndEpoch, decide_init_producer
from mockbroker.coordinator.txn.metadata import TransactionMetadata, Transition
from mockbroker.coordinator.txn.shard import ShardListener, TransactionShard
from mockbroker.coordinator.txn.states import AT_REST, TransactionState
from mockbroker.coordinator.txn.timeouts import Timeouts
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_records import TransactionLogKey
from simulation.cluster.audits.decision_probes import (
    OTHER_ID,
    STATES,
    TIMEOUT_MS,
    new_id,
    variant_of,
)
from simulation.cluster.audits.transaction_model import id_after, id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.records import CoordinatorRecord

    Write = tuple[list[CoordinatorRecord], Callable[[ErrorCode], None]]

ANSWERS = (ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)
IDS = 4
PENDING_CHANCE = 0.2
MOSTLY_OPEN = (*STATES, *[TransactionState.ONGOING] * 6)
ABORT_EVERY = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
REMOVE_EVERY = "transaction.remove.expired.transaction.cleanup.interval.ms"
EXPIRATION = "transactional.id.expiration.ms"


class HeldLog:
    """A shard's log: what is written waits in `writes`, to be answered."""

    def __init__(self) -> None:
        self.writes: list[Write] = []

    def write(
        self,
        partition_index: int,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        /,
        *,
        timeout_ms: float,
        replay: bool,
    ) -> None:
        """As `ShardLog.write`."""
        del partition_index, timeout_ms, replay
        self.writes.append((records, done))


def shard_of(*known: TransactionMetadata) -> tuple[TransactionShard, HeldLog]:
    """One with these ids, and its log."""
    log = HeldLog()
    shard = TransactionShard(0, log, ShardListener(), float(TIMEOUT_MS))
    shard.transactions.update((one.transactional_id, one) for one in known)
    return shard, log


class ShardProbes:
    """Asks one of `_kinds` at a time; `look` tells what is wrong."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._kinds = self._writes, self._tombstones, self._overdue, self._expired
        self.asked = 0

    def look(self, known: TransactionMetadata, config: BrokerConfig, clock: Clock) -> Iterator[str]:
        """About an id that the run has."""
        self.asked += 1
        beside = Clock(clock.epoch_ms, clock.now_ms)
        yield from self._rng.choice(self._kinds)(known, config, beside)

    # -- what is written ---------------------------------------------------------------------

    def _writes(
        self, known: TransactionMetadata, _config: BrokerConfig, clock: Clock
    ) -> Iterator[str]:
        rng, now_ms = self._rng, clock.wall_ms()
        told = None
        if rng.random() < 0.3:
            one = TransactionMetadata(known.transactional_id, OTHER_ID)
            shard, log = shard_of()
        else:
            one = variant_of(known, rng, now_ms, rng.choice(sorted(AT_REST)))
            shard, log = shard_of(one)
            told = ProducerIdAndEpoch(one.producer_id, one.producer_epoch)
        decided = decide_init_producer(one, TIMEOUT_MS, told, new_id, now_ms)
        assert isinstance(decided, Transition)
        answers: list[ErrorCode] = []
        before, after = id_of(one), id_after(decided)
        shard.write(one, decided, answers.append)
        pending = before._replace(is_pending=True)
        if id_of(one) != pending or answers or len(log.writes) != 1:
            yield f"before it is replicated, a change makes {id_of(one)} of {before}"
            return
        error = rng.choice(ANSWERS)
        log.writes[0][1](error)
        wanted = before if error else after
        if id_of(one) != wanted or answers != [error]:
            yield f"a change that is answered {error} makes {id_of(one)} of {before}, not {wanted}"
        is_there = one.transactional_id in shard.transactions
        if is_there != (error is ErrorCode.NONE or before.epoch >= 0):
            yield f"after {error}, whether {one.transactional_id} is known is {is_there}"

    def _tombstones(
        self, known: TransactionMetadata, _config: BrokerConfig, clock: Clock
    ) -> Iterator[str]:
        ids = self._ids(known, clock.wall_ms(), sorted(AT_REST), may_be_pending=False)
        shard, log = shard_of(*ids)
        shard.write_tombstones(ids)
        if not all(one.is_in_transition for one in ids):
            yield "an id takes decisions while its tombstone is under way"
        error = self._rng.choice(ANSWERS)
        log.writes[0][1](error)
        wanted = ids if error else []
        if [*shard.transactions.values()] != wanted or any(one.is_in_transition for one in wanted):
            yield f"after a tombstone is answered {error}, {[*shard.transactions]} are there"

    # -- what is due by itself ---------------------------------------------------------------

    def _overdue(
        self, known: TransactionMetadata, config: BrokerConfig, clock: Clock
    ) -> Iterator[str]:
        due_ms = clock.epoch_ms + _next_round(clock, config.int(ABORT_EVERY))
        ids = self._ids(known, due_ms, MOSTLY_OPEN)
        for one in ids:
            since_ms = one.timeout_ms + self._rng.choice((-1, 0, 1, 50))
            one.start_ms = due_ms - since_ms
            one.last_update_ms = due_ms - self._rng.choice((0, since_ms))
        shard, log = shard_of(*ids)
        shard.is_settled = self._rng.random() < 0.9
        fenced: list[TransactionMetadata] = []
        timer = Timer()
        timeouts = Timeouts(
            clock, timer, config, lambda: [shard], lambda _shard, one: fenced.append(one)
        )
        for one in ids:
            timeouts.watch(one)
        is_open = [one for one in ids if one.state is TransactionState.ONGOING]
        wanted = [
            one
            for one in is_open
            if shard.is_settled
            and one.pending_state is None
            and due_ms > one.start_ms + one.timeout_ms
        ]
        _pass_to(clock, timer, due_ms)
        if fenced != wanted:
            yield f"at {due_ms}, {fenced} are fenced, not {wanted}"
        if log.writes:
            yield f"at {due_ms}, an id is forgotten: {log.writes[0][0]}"

    def _expired(
        self, known: TransactionMetadata, config: BrokerConfig, clock: Clock
    ) -> Iterator[str]:
        due_ms = clock.epoch_ms + _next_round(clock, config.int(REMOVE_EVERY))
        ids = self._ids(known, due_ms)
        for one in ids:
            ago_ms = config.int(EXPIRATION) + self._rng.choice((-1, 0, 1))
            one.last_update_ms = due_ms - ago_ms
        shard, log = shard_of(*ids)
        timer = Timer()
        timeouts = Timeouts(clock, timer, config, lambda: [shard], lambda *_: None)
        at_rest = [one for one in ids if one.state in AT_REST and one.pending_state is None]
        wanted = [
            one.transactional_id
            for one in at_rest
            if due_ms - one.last_update_ms >= config.int(EXPIRATION)
        ]
        for one in at_rest[:1]:
            timeouts.watch(one)
        _pass_to(clock, timer, due_ms)
        gone = [_name_of(record) for records, _ in log.writes for record in records]
        if gone != (wanted if at_rest else []):
            yield f"at {due_ms}, {gone} expire, not {wanted}"

    def _ids(
        self,
        known: TransactionMetadata,
        now_ms: int,
        states: Sequence[TransactionState] = STATES,
        *,
        may_be_pending: bool = True,
    ) -> list[TransactionMetadata]:
        """Some of other names, in one of these states, and sometimes on the way to another."""
        rng = self._rng
        found: list[TransactionMetadata] = []
        for number in range(rng.randint(1, IDS)):
            one = variant_of(known, rng, now_ms, rng.choice(states))
            one.transactional_id = f"{known.transactional_id}-{number}"
            if may_be_pending and rng.random() < PENDING_CHANCE:
                one.pending_state = TransactionState.ONGOING
            found.append(one)
        return found


def _name_of(record: CoordinatorRecord) -> str:
    assert isinstance(record.key, TransactionLogKey)
    assert record.value is None
    return record.key.transactional_id


def _next_round(clock: Clock, every_ms: int) -> int:
    """When a check falls that is made so often."""
    return (int(clock.now_ms) // every_ms + 1) * every_ms


def _pass_to(clock: Clock, timer: Timer, wall_ms: int) -> None:
    clock.now_ms = wall_ms - clock.epoch_ms
    timer.advance(clock.now_ms)
