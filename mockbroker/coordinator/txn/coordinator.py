"""The transaction coordinator of one node: nothing until a client needs a transaction.

`service` is made at the first request that is about transactions, `verifier` and `marker_writer` at
the first transactional batch or marker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.lazy import LazyCoordinator

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.producer_ids import ProducerIdManager
    from mockbroker.coordinator.runtime import AppendPort
    from mockbroker.coordinator.txn.marker_writer import (
        CompleteGroupTransaction,
        MarkerWriter,
        WritesMarkers,
    )
    from mockbroker.coordinator.txn.remote import Channel
    from mockbroker.coordinator.txn.service import TransactionCoordinatorService
    from mockbroker.coordinator.txn.verification import AnswersBatches, TransactionVerifier
    from mockbroker.journal import TransactionDecided
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.manager import ReplicaManager


class TransactionCoordinator(LazyCoordinator["TransactionCoordinatorService"]):
    """Holds what the service is made of.

    `append` writes to a partition of its topic; `complete_group_transaction` is the group
    coordinator's, for markers in `__consumer_offsets`.
    """

    def __init__(
        self,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        metadata: MetadataStore,
        replicas: ReplicaManager,
        append: AppendPort,
        producer_ids: ProducerIdManager,
        complete_group_transaction: CompleteGroupTransaction,
    ) -> None:
        super().__init__(self._make_service)
        self._clock = clock
        self._timer = timer
        self._config = config
        self._metadata = metadata
        self._replicas = replicas
        self._append = append
        self._producer_ids = producer_ids
        self._complete_group_transaction = complete_group_transaction
        self._verifier: TransactionVerifier | None = None
        self._marker_writer: MarkerWriter | None = None
        self.connect: Callable[[int, str], Channel] | None = None
        """Gives a connection to another broker for a purpose; set before the first use."""
        self.record: Callable[[TransactionDecided], None] | None = None
        """Records how transactions end; set before the first use."""

    def _make_service(self) -> TransactionCoordinatorService:
        from mockbroker.coordinator.txn.service import TransactionCoordinatorService

        return TransactionCoordinatorService(
            self._clock,
            self._timer,
            self._config,
            self._metadata,
            self._append,
            self._producer_ids.generate,
            self._marker_router(),
            self.record,
        )

    def _marker_router(self) -> WritesMarkers:
        if self.connect is None:
            return self.marker_writer
        from mockbroker.coordinator.txn.remote import RemoteMarkerWriter

        return RemoteMarkerWriter(
            self._replicas.broker_id, self._metadata, self.marker_writer, self.connect
        )

    @property
    def verifier(self) -> TransactionVerifier:
        """What lets transactional batches pass, made on first use."""
        if self._verifier is None:
            from mockbroker.coordinator.txn.verification import TransactionVerifier

            self._verifier = TransactionVerifier(
                self._clock, self._timer, self._config, self._answers_batches()
            )
        return self._verifier

    def _answers_batches(self) -> AnswersBatches:
        if self.connect is None:
            return self.service
        from mockbroker.coordinator.txn.remote import RemoteVerification

        return RemoteVerification(
            self._replicas.broker_id, self._metadata, self.service, self.connect
        )

    @property
    def marker_writer(self) -> MarkerWriter:
        """What writes markers to the partitions that are led here, made on first use."""
        if self._marker_writer is None:
            from mockbroker.coordinator.txn.marker_writer import MarkerWriter

            self._marker_writer = MarkerWriter(
                self._replicas, self._config, self._complete_group_transaction
            )
        return self._marker_writer

    def release_parked(self) -> None:
        """The node shuts down: answer every batch that waits for its transaction."""
        if self._verifier is not None:
            self._verifier.release()
