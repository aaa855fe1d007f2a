"""Transactional producers of the cluster's simulation, of both protocol generations.

An incarnation works through one transaction after another: it joins partitions (up to EndTxn v4),
produces, and ends. What can succeed later is tried again; who has lost its transaction begins anew
with InitProducerId. A successor with the same transactional id may come at any time: the one before
vanishes then, or goes on as a zombie until it hears that it is fenced.

Nobody may lose a transaction without a reason: a successor, a time-out, a request without an answer
that may have been carried out later, or a coordinator that was replaced and has not heard so: it
refuses by what it knew, without writing (TransactionCoordinator.endTransaction), while what joined
the transaction since is known to its successor alone.

No transactional id goes back to transactions V1: where such a producer has ended a transaction, an
EndTxn v5 of a zombie of before is taken for a retry, as in Apache Kafka 4.4, and tells it the epoch
of its successor.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mockbroker.coordinator.runtime import partition_for
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from simulation.cluster.clients import ClusterClient
from simulation.cluster.producers import LOST_SEQUENCES
from simulation.producers import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.transaction_ledger import (
        Lineage,
        Part,
        Transaction,
        TransactionLedger,
    )
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

T = TypeVar("T")
FIND_VERSION = 3
OF_GROUP, OF_TRANSACTION = 0, 1
NO_ANSWER = -1
MOVED = frozenset(
    (
        NO_ANSWER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    )
)
"""Ask again, whoever is to be asked by then."""
LOST = frozenset(
    (
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    )
)
"""Somebody else has ended the transaction, perhaps with the last epoch of its producer id."""
TO_COORDINATOR = InitProducerIdRequest, AddPartitionsToTxnRequest, EndTxnRequest
TIMEOUTS_MS = (400, 1_500, 6_000)
MAX_INCARNATIONS = 4


@dataclass(slots=True)
class Setting:
    """What the actors of transactions share."""

    world: ClusterWorld
    truth: Truth
    plan: ClusterPlan
    ledger: TransactionLedger
    clients: list[ClusterClient]
    """The crew's, to which each incarnation adds itself."""


class Transactor(ClusterClient):
    """One incarnation of a transactional producer. `begin` does the next step of `_steps`."""

    def __init__(self, setting: Setting, lineage: Lineage, rng: Random) -> None:
        lineage.incarnations += 1
        name = f"{lineage.transactional_id}.{lineage.incarnations}"
        super().__init__(setting.world, name, rng, setting.truth, setting.plan.topics)
        setting.clients.append(self)
        self.setting = setting
        self.lineage = lineage
        self.bumps_epochs = lineage.bumps_epochs = rng.random() < 0.6 or lineage.bumps_epochs
        """Whether it speaks transactions V2 (KIP-890)."""
        partition = partition_for(lineage.transactional_id, setting.plan.state_partitions)
        self._coordinated_by = TRANSACTION_STATE_TOPIC, partition
        self.produce_version = 12 if self.bumps_epochs else rng.choice((9, 11))
        self.end_version = 5 if self.bumps_epochs else rng.choice((3, 4))
        self.timeout_ms = rng.choice(TIMEOUTS_MS)
        self.pause_ms = rng.choice((10.0, 40.0, 150.0, 400.0))
        self.abort_chance = rng.choice((0.0, 0.3))
        self.succession_chance = setting.plan.succession_chance
        self.leaves = rng.random() < 0.2
        """Whether it stops for good where it stands; the coordinator has to clean up."""
        self.commits = self.aborts = 0
        self.producer_id = self.epoch = -1
        self.transaction: Transaction | None = None
        self._continues = False
        """Whether InitProducerId names the producer that it is (KIP-360)."""
        self._in_doubt = False
        """Whether it has to continue so when its transaction has ended."""
        self._coordinators: dict[int, int] = {}
        self._sequences: dict[Part, int] = {}
        self._steps: deque[Callable[[], None]] = deque()
        self._made = 0
        self._over = False
        self._finishing = False

    # -- its life --------------------------------------------------------------------------

    @property
    def is_latest(self) -> bool:
        """Whether nobody came after it."""
        return self.name.endswith(f".{self.lineage.incarnations}")

    @property
    def place(self) -> int | None:
        """Where its epoch stands in its lineage; None without one."""
        if self.producer_id < 0:
            return None
        return self.lineage.place_of(self.producer_id, self.epoch)

    def finish(self) -> None:
        """Commit one transaction more, then be done: the cluster must let it."""
        self._finishing = self.is_latest and not self.leaves
        self._over = self._over and not self._finishing
        self.abort_chance = self.succession_chance = 0.0
        self.pause_ms = 1.0
        if not self.busy:
            self.proceed()

    def has_work(self) -> bool:
        return self._finishing

    def begin(self) -> None:
        if self._over:
            self.busy = False
        elif self.rng.random() < self.succession_chance and self._succeed():
            self.later(self.rng.choice((1.0, 100.0, 800.0)))
        elif self.producer_id < 0 or self._continues:
            self._initialize()
        elif self._steps:
            self._steps[0]()
        else:
            self.plan_transaction()
            if self._steps:
                self.later(self.rng.random() * self.pause_ms)

    def _succeed(self) -> bool:
        """A successor begins; whether this one goes on as a zombie, or was not succeeded."""
        if self.lineage.incarnations >= MAX_INCARNATIONS or not self.is_latest:
            return True
        successor = type(self)(self.setting, self.lineage, self.rng)
        self.note(f"is succeeded by {successor.name}")
        successor.start()
        self._over = self.rng.random() < 0.4
        if self._over:
            self.busy = False
        return not self._over

    def done_with_step(self) -> None:
        """On to the next one."""
        self._steps.popleft()
        self.later(self.rng.random() * self.pause_ms)

    def lose(self, what: str, error: int, *, excused: bool = False) -> None:
        """Its transaction was ended by another; a zombie mostly gives up then."""
        transaction, lineage = self.transaction, self.lineage
        excused = (
            excused
            or lineage.incarnations > 1
            or lineage.unanswered > 0
            or self.setting.plan.on["skew"]
            or transaction is None
            or self.world.now_ms - transaction.began_ms >= self.timeout_ms
        )
        if not excused:
            self.world.violate(f"{self.name}: {what} answers {error}, and nobody has fenced it")
        self.transaction = None
        self._steps.clear()
        self.producer_id = self.epoch = -1
        self._continues = self._in_doubt = False
        if not self.is_latest and self.rng.random() < 0.8:
            self._over = True
        self.later()

    # -- asking ----------------------------------------------------------------------------

    def coordinator(self, kind: int, key: str) -> int | None:
        """The coordinator of a key; None when it has to be found first, which is begun."""
        node = self._coordinators.get(kind)
        if node is None:
            self._find(kind, key)
        return node

    def _find(self, kind: int, key: str) -> None:
        def found(answer: FindCoordinatorResponse | None) -> None:
            if answer is not None and answer.error_code == ErrorCode.NONE:
                self._coordinators[kind] = answer.node_id
                self.later(1.0)
            else:
                self.later(100.0)

        request = FindCoordinatorRequest(key=key, key_type=kind)
        self.ask(self.any_node(), request, FIND_VERSION, FindCoordinatorResponse, found)

    def try_step(
        self,
        what: str,
        call: tuple[int, object, int, type[T]],
        error_of: Callable[[T], int],
        succeeded: Callable[[T], None],
        failed: Callable[[int], None] | None = None,
    ) -> None:
        """Carry out a step by one call; other errors than `failed` takes are looked at here."""
        node, request, version, kind = call
        lineage, epoch = self.lineage, self.place
        sent_at = lineage.epoch
        asks_coordinator = isinstance(request, TO_COORDINATOR)
        led = self._coordinated_in(node, itself=asks_coordinator)
        doubtful = not isinstance(request, ProduceRequest)
        lineage.unanswered += doubtful

        def answered(answer: T | None) -> None:
            error = NO_ANSWER if answer is None else error_of(answer)
            self.note(f"{what} at {node}: {error}")
            if answer is not None:
                lineage.unanswered -= doubtful
            if answer is not None and error == ErrorCode.NONE:
                if epoch is not None:
                    lineage.check_current(f"{self.name}: {what}", epoch, sent_at)
                succeeded(answer)
            elif failed is not None and error not in LOST:
                failed(error)
            else:
                replaced = led < 0 or led != self._coordinated_in(node, itself=asks_coordinator)
                self._failed(what, error, replaced=replaced)

        self.ask(node, request, version, kind, answered)

    def _coordinated_in(self, node: int, *, itself: bool) -> int:
        """The epoch in which a broker coordinates, or whom it asks whether a transaction goes on
        (AddPartitionsToTxnManager); -1: that one was replaced, and has not heard so.
        """
        asked = node if itself else self.truth.known_leader(*self._coordinated_by, node)
        return self.truth.led_epoch(*self._coordinated_by, asked)

    def _failed(self, what: str, error: int, *, replaced: bool) -> None:
        if error in LOST:
            self.lose(what, error, excused=replaced)
            return
        if error not in MOVED:
            self.world.violate(f"{self.name}: {what} answers {error}")
        if error != ErrorCode.CONCURRENT_TRANSACTIONS:
            self._coordinators.clear()
        self.later()

    # -- its transactions ------------------------------------------------------------------

    def _initialize(self) -> None:
        node = self.coordinator(OF_TRANSACTION, self.lineage.transactional_id)
        if node is None:
            return
        lineage = self.lineage
        sent_at, continues = lineage.epoch, self._continues

        def initialized(answer: InitProducerIdResponse) -> None:
            place = lineage.initialized(
                answer.producer_id, answer.producer_epoch, sent_at, bumps=not continues
            )
            if place == lineage.epoch:
                lineage.fence()  # else somebody was let in after it, and has heard so before
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self._continues = False
            self._sequences.clear()
            self.began()
            self.later(1.0)

        request = InitProducerIdRequest(lineage.transactional_id, self.timeout_ms)
        if continues:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        call = node, request, 5 if self.bumps_epochs else 4, InitProducerIdResponse
        self.try_step("init", call, lambda answer: answer.error_code, initialized)

    def began(self) -> None:
        """It is the producer now."""

    def plan_transaction(self) -> None:
        """The steps of the next one."""
        if self.rng.random() < 0.05:
            self._continues = True
            self.later(1.0)
            return
        if self.bumps_epochs and self.rng.random() < 0.05:
            self.open([], commit=False)  # who is in doubt aborts what may not be there
            return
        batches = [
            (part, [self.value() for _ in range(self.rng.randint(1, 3))])
            for part in self.rng.sample(self.parts, self.rng.randint(1, len(self.parts)))
            for _ in range(self.rng.randint(1, 2))
        ]
        self.rng.shuffle(batches)
        self.open(batches, commit=self.rng.random() >= self.abort_chance)

    def value(self, suffix: str = "") -> bytes:
        """One that was never sent."""
        self._made += 1
        return f"{self.name}/{self._made}{suffix}".encode()

    def open(
        self,
        batches: list[tuple[Part, list[bytes]]],
        *,
        commit: bool,
        more: tuple[Callable[[], None], ...] = (),
    ) -> None:
        """Plan the steps of a transaction: produce the batches, do what is `more`, end it."""
        self.transaction = self.setting.ledger.begin(self.lineage, self.name)
        steps = self._steps
        if not self.bumps_epochs:
            for topic in sorted({part[0] for part, _ in batches}):
                indexes = sorted({part[1] for part, _ in batches if part[0] == topic})
                steps.append(partial(self._add, topic, indexes))
        for part, values in batches:
            steps.append(partial(self._produce, part, values))
        steps.extend(more)
        steps.append(partial(self._end, commit=commit))

    def _add(self, topic: str, indexes: list[int]) -> None:
        node = self.coordinator(OF_TRANSACTION, self.lineage.transactional_id)
        if node is None:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.lineage.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, indexes)],
        )

        def worst(answer: AddPartitionsToTxnResponse) -> int:
            return max(
                partition.partition_error_code
                for result in answer.results_by_topic_v3_and_below
                for partition in result.results_by_partition
            )

        call = node, request, 3, AddPartitionsToTxnResponse
        self.try_step(f"add {topic}{indexes}", call, worst, lambda _: self.done_with_step())

    def _produce(self, part: Part, values: list[bytes]) -> None:
        known = self.leaders.get(part)
        if known is None:
            self.learn()
            return
        assert self.transaction is not None
        self.setting.ledger.sends(self.transaction, part, values)
        sequence = self._sequences.get(part, 0)
        data = batch_of(
            values,
            self.world.now_ms,
            self.producer_id,
            sequence,
            producer_epoch=self.epoch,
            transactional=True,
        )
        topic = ProduceRequestTopic(part[0], bytes(16), [ProduceRequestPartition(part[1], data)])
        request = ProduceRequest(self.lineage.transactional_id, -1, 500, [topic])
        leadership = known[0], self.leadership(part)[1]

        def succeeded(answer: ProduceResponse) -> None:
            base_offset = answer.responses[0].partition_responses[0].base_offset
            self._sequences[part] = sequence + len(values)
            self.truth.acknowledged(*part, base_offset, values)
            self.done_with_step()

        def failed(error: int) -> None:
            self.forget(part)
            lags = error in LOST_SEQUENCES and leadership != self.leadership(part)
            if error not in MOVED and not lags:
                self.world.violate(f"{self.name}: {part} answers {error}")
            if error == NO_ANSWER and self.rng.random() < self.abort_chance:
                # Abort without knowing what became of the batch: its sequence number is lost, too.
                self._in_doubt = not self.bumps_epochs
                self._steps.clear()
                self._steps.append(partial(self._end, commit=False))
            self.later()

        what = f"produce {values[0].decode()} to {part[0]}-{part[1]}"
        call = known[0], request, self.produce_version, ProduceResponse
        self.try_step(
            what,
            call,
            lambda answer: answer.responses[0].partition_responses[0].error_code,
            succeeded,
            failed,
        )

    def _end(self, *, commit: bool) -> None:
        node = self.coordinator(OF_TRANSACTION, self.lineage.transactional_id)
        if node is None:
            return
        transaction, lineage = self.transaction, self.lineage
        assert transaction is not None
        if commit and not transaction.commit_tried:
            transaction.commit_tried = True
        sent_at, epoch = lineage.epoch, self.place

        def ended(answer: EndTxnResponse) -> None:
            if commit and transaction.fenced:
                self.world.violate(f"{transaction} is committed, although it is fenced")
            transaction.ended = commit
            self.commits += commit
            self.aborts += not commit
            if self.bumps_epochs:
                lineage.initialized(
                    answer.producer_id, answer.producer_epoch, sent_at, bumps=sent_at == epoch
                )
                self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
                self._sequences.clear()
            self.ended(commit=commit)
            self.done_with_step()

        request = EndTxnRequest(lineage.transactional_id, self.producer_id, self.epoch, commit)
        call = node, request, self.end_version, EndTxnResponse
        what = f"{'commit' if commit else 'abort'} {transaction.number}"
        self.try_step(what, call, lambda answer: answer.error_code, ended)

    def ended(self, *, commit: bool) -> None:
        """Its transaction has ended as it wanted."""
        self.transaction = None
        self._continues, self._in_doubt = self._in_doubt, False
        if commit:
            self._finishing = False
