"""What the handlers of the transaction APIs call, through `TransactionCoordinator.service`.

It finds the shard that owns a transactional id, refuses what no shard need see (Kafka:
TransactionCoordinator), asks `init_producer`, `partitions` and `end_txn` for the next state, and
writes it. Methods with an `on_complete` call it exactly once, when what they decided is replicated.
After the answer to an end comes the end itself: `markers` writes to the partitions, in the same
step where this node leads them.

State is what is replicated of `__transaction_state`. Unlike a group, a transactional id is served
only once that topic is there: FindCoordinator makes it, and without it no node is a coordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.runtime import CoordinatorRuntime, InternalTopic
from mockbroker.coordinator.txn import records
from mockbroker.coordinator.txn.end_txn import decide_end_v1, decide_end_v2, decide_fence
from mockbroker.coordinator.txn.init_producer import Fence, decide_init_producer
from mockbroker.coordinator.txn.markers import TransactionMarkers
from mockbroker.coordinator.txn.metadata import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTION_VERSION_2,
    TransactionMetadata,
    complete,
)
from mockbroker.coordinator.txn.partitions import decide_add_partitions, verify_partitions
from mockbroker.coordinator.txn.shard import ShardListener, TransactionShard
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker.coordinator.txn.timeouts import Timeouts
from mockbroker.coordinator.txn.views import describe_transaction, list_transactions
from mockbroker.journal.events import (
    BY_CLIENT,
    BY_FENCING,
    BY_REMOVAL,
    BY_TIMEOUT,
    TransactionDecided,
)
from mockbroker.metadata.changes import TopicDeleted
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsResponseTransactionState,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import TypeAlias

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.runtime import AppendPort
    from mockbroker.coordinator.txn.init_producer import ProducerIdAndEpoch
    from mockbroker.coordinator.txn.marker_writer import WritesMarkers
    from mockbroker.coordinator.txn.metadata import TopicPartition, Transition
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.store import MetadataStore
    from mockbroker_protocol.messages.transaction_admin import (
        ListTransactionsRequest,
        ListTransactionsResponse,
        ListTransactionsResponseTransactionState,
    )
    from mockbroker_protocol.messages.transactions import AddPartitionsToTxnTransaction

    OnError: TypeAlias = Callable[[ErrorCode], None]


class ProducerAnswer(NamedTuple):
    """Which producer id and epoch the client has from now on (Kafka: InitProducerIdResult)."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class TransactionCoordinatorService(ShardListener):
    """All transactional ids whose partition of `__transaction_state` this node owns."""

    def __init__(
        self,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        metadata: MetadataStore,
        append: AppendPort,
        generate_producer_id: Callable[[], int],
        marker_writer: WritesMarkers,
        record: Callable[[TransactionDecided], None] | None = None,
    ) -> None:
        self._clock = clock
        self._config = config
        self._metadata = metadata
        self._generate_producer_id = generate_producer_id
        self._record = record
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            InternalTopic(
                TRANSACTION_STATE_TOPIC,
                metadata,
                config.int("transaction.state.log.num.partitions"),
            ),
            append,
            self._make_shard,
            needs_topic=True,
            encode=records.encode_record,
            decode=records.decode_record,
        )
        """Which shard has the state of an id, and the way in which that changes."""
        self.markers = TransactionMarkers(clock, timer, metadata, marker_writer)
        """The transactions that are decided and not ended."""
        self._timeouts = Timeouts(clock, timer, config, self.runtime.shards, self._fence)
        metadata.subscribe(self._metadata_changed)

    # -- producers -------------------------------------------------------------------------

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        on_complete: Callable[[ProducerAnswer], None],
    ) -> None:
        """InitProducerId; an open transaction is aborted, and the client asks again (51)."""
        max_timeout_ms = self._config.int("transaction.max.timeout.ms")
        if transactional_id and not 0 < timeout_ms <= max_timeout_ms:
            on_complete(ProducerAnswer(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
            return
        shard, error = self._find_shard(transactional_id)
        if shard is None:
            on_complete(ProducerAnswer(error))
            return
        current = shard.transactions.get(transactional_id)
        if current is None:
            current = TransactionMetadata(transactional_id, self._generate_producer_id())
        decision = decide_init_producer(
            current,
            timeout_ms,
            expected,
            self._generate_producer_id,
            self._clock.wall_ms(),
        )
        if isinstance(decision, ErrorCode):
            on_complete(ProducerAnswer(decision))
        elif isinstance(decision, Fence):
            self._abort(shard, current, BY_FENCING, lambda error: on_complete(_ask_again(error)))
        else:
            value = decision.value
            initialized = ProducerAnswer(ErrorCode.NONE, value.producer_id, value.producer_epoch)
            shard.write(
                current,
                decision,
                lambda error: on_complete(ProducerAnswer(error) if error else initialized),
            )

    # -- partitions ------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        client_transaction_version: int,
        on_complete: OnError,
    ) -> None:
        """AddPartitionsToTxn and AddOffsetsToTxn."""
        shard, error = self._find_shard(transactional_id)
        if shard is None:
            on_complete(error)
            return
        current = shard.transactions.get(transactional_id)
        decision = decide_add_partitions(
            current,
            producer_id,
            producer_epoch,
            partitions,
            client_transaction_version,
            self._clock.wall_ms(),
        )
        if isinstance(decision, ErrorCode):
            on_complete(decision)
        else:
            assert current is not None
            shard.write(current, decision, on_complete)

    def verify_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> dict[TopicPartition, ErrorCode]:
        """AddPartitionsToTxn with VerifyOnly: whether each is in the open transaction."""
        shard, error = self._find_shard(transactional_id)
        if shard is None:
            return dict.fromkeys(partitions, error)
        current = shard.transactions.get(transactional_id)
        return verify_partitions(current, producer_id, producer_epoch, partitions)

    def add_or_verify(
        self,
        transaction: AddPartitionsToTxnTransaction,
        on_complete: Callable[[dict[TopicPartition, ErrorCode]], None],
    ) -> None:
        """AddPartitionsToTxn between brokers (v4 on), on behalf of a batch."""
        producer = (
            transaction.transactional_id,
            transaction.producer_id,
            transaction.producer_epoch,
        )
        partitions = [
            (topic.name, index) for topic in transaction.topics for index in topic.partitions
        ]
        if transaction.verify_only:
            on_complete(self.verify_partitions(*producer, partitions))
            return
        self.add_partitions(
            *producer,
            partitions,
            TRANSACTION_VERSION_2,
            lambda error: on_complete(dict.fromkeys(partitions, error)),
        )

    # -- the end ---------------------------------------------------------------------------

    def end_transaction(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        commit: bool,
        client_transaction_version: int,
        on_complete: Callable[[ProducerAnswer], None],
    ) -> None:
        """EndTxn. Of transactions V2 the answer is who the producer is from now on."""
        shard, error = self._find_shard(transactional_id)
        if shard is None:
            on_complete(ProducerAnswer(error))
            return
        current = shard.transactions.get(transactional_id)
        if current is None:
            on_complete(ProducerAnswer(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
            return
        now_ms = self._clock.wall_ms()
        bumps_epoch = client_transaction_version >= TRANSACTION_VERSION_2
        if bumps_epoch:
            decision = decide_end_v2(
                current, producer_id, producer_epoch, commit, self._generate_producer_id, now_ms
            )
        else:
            decision = decide_end_v1(current, producer_id, producer_epoch, commit, now_ms)
        if decision is ErrorCode.NONE and bumps_epoch:
            on_complete(ProducerAnswer(ErrorCode.NONE, current.producer_id, current.producer_epoch))
        elif isinstance(decision, ErrorCode):
            on_complete(ProducerAnswer(decision))
        else:
            self._prepare(
                shard, current, decision, on_complete, BY_CLIENT, tells_producer=bumps_epoch
            )

    def _prepare(
        self,
        shard: TransactionShard,
        current: TransactionMetadata,
        transition: Transition,
        on_complete: Callable[[ProducerAnswer], None],
        by: str,
        *,
        tells_producer: bool,
    ) -> None:
        """Write the decision, answer once it is replicated, and then send the markers.

        Of a decision that is replicated later than that nothing is heard here: whoever asked was
        told an error, and decides again (TransactionCoordinator.endTransaction).
        """
        decided = self._decided(current, transition, by)

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                on_complete(ProducerAnswer(error))
                return
            if decided is not None and self._record is not None:
                self._record(decided)
            answer = ProducerAnswer(ErrorCode.NONE)
            if tells_producer:
                completed = complete(current, self._clock.wall_ms()).value
                answer = ProducerAnswer(
                    ErrorCode.NONE, completed.producer_id, completed.producer_epoch
                )
            on_complete(answer)
            self.markers.send(shard, current)

        shard.write(current, transition, written)

    def _decided(
        self, current: TransactionMetadata, transition: Transition, by: str
    ) -> TransactionDecided | None:
        """The event for the journal; None without a journal, or when nothing was open."""
        if self._record is None or current.state is not TransactionState.ONGOING:
            return None
        return TransactionDecided(
            self._config.node_id,
            current.transactional_id,
            current.producer_id,
            current.producer_epoch,
            committed=transition.value.transaction_status == TransactionState.PREPARE_COMMIT,
            by=by,
            open_ms=self._clock.wall_ms() - current.start_ms,
            partitions=len(current.partitions),
        )

    def _abort(
        self,
        shard: TransactionShard,
        current: TransactionMetadata,
        by: str,
        on_complete: OnError,
    ) -> None:
        transition = decide_fence(current, self._generate_producer_id, self._clock.wall_ms())
        self._prepare(
            shard,
            current,
            transition,
            lambda answer: on_complete(answer.error),
            by,
            tells_producer=False,
        )

    def _fence(self, shard: TransactionShard, current: TransactionMetadata) -> None:
        """It is open for too long; what cannot be written now is tried at the next check."""
        self._abort(shard, current, BY_TIMEOUT, lambda _error: None)

    def forget(self, transactional_id: str) -> None:
        """Forget an id as if it had expired; a transaction that it has open is aborted first.

        One whose abort or markers cannot be written now keeps its id.
        """
        shard, _ = self._find_shard(transactional_id)
        current = None if shard is None else shard.transactions.get(transactional_id)
        if shard is None or current is None:
            return
        if current.state is TransactionState.ONGOING and not current.is_in_transition:
            self._abort(shard, current, BY_REMOVAL, lambda _error: None)
        if current.may_be_forgotten:
            shard.write_tombstones([current])

    # -- from outside ----------------------------------------------------------------------

    def list_transactions(
        self, request: ListTransactionsRequest
    ) -> tuple[ListTransactionsResponse, Iterator[ListTransactionsResponseTransactionState]]:
        """ListTransactions: of this node; what is told of each is made as it is taken."""
        return list_transactions(self.runtime.shards(), request, self._clock.wall_ms())

    def describe_transaction(
        self, transactional_id: str
    ) -> DescribeTransactionsResponseTransactionState:
        """DescribeTransactions, of one id."""
        shard, error = self._find_shard(transactional_id)
        if shard is not None:
            current = shard.transactions.get(transactional_id)
            if current is not None:
                return describe_transaction(current)
            error = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return DescribeTransactionsResponseTransactionState(
            error_code=error, transactional_id=transactional_id
        )

    def _find_shard(self, transactional_id: str) -> tuple[TransactionShard | None, ErrorCode]:
        """The shard that owns an id, or the error for the client."""
        if not transactional_id:
            return None, ErrorCode.INVALID_REQUEST
        shard = self.runtime.shard_for(transactional_id)
        if shard is None:
            return None, self.runtime.missing_error(transactional_id)
        if not shard.is_settled:
            return None, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return shard, ErrorCode.NONE

    def _make_shard(self, partition_index: int) -> TransactionShard:
        timeout_ms = self._config.int("request.timeout.ms")
        return TransactionShard(partition_index, self.runtime, self, timeout_ms)

    def _metadata_changed(self, change: Change) -> None:
        if isinstance(change, TopicDeleted) and change.name == TRANSACTION_STATE_TOPIC:
            self.runtime.reset()

    # -- what shards tell ------------------------------------------------------------------

    def on_settled(self, shard: TransactionShard) -> None:
        """TransactionStateManager.loadTransactionsForTxnTopicPartition: end what was decided."""
        for metadata in list(shard.transactions.values()):
            if metadata.state in PREPARED:
                self.markers.send(shard, metadata)

    def on_unloaded(self, shard: TransactionShard) -> None:
        """Its new owner goes on with the markers."""
        self.markers.forget(shard)

    def on_changed(self, metadata: TransactionMetadata) -> None:
        """It may run out of time from now on."""
        self._timeouts.watch(metadata)


def _ask_again(error: ErrorCode) -> ProducerAnswer:
    return ProducerAnswer(error or ErrorCode.CONCURRENT_TRANSACTIONS)
