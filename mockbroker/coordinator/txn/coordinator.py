"""The transaction coordinator of one node: nothing until a client needs a transaction.

A broker that starts has imported none of it; `service` does so at the first request that is about
transactions, `verifier` and `marker_writer` at the first transactional batch or marker. Handlers
call `services.transactions.service`, `.verifier` and `.marker_writer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.producer_ids import ProducerIdManager
    from mockbroker.coordinator.runtime import AppendPort, Replication
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


class TransactionCoordinator:
    """Holds what the service is made of.

    `append` writes to a partition of its topic; `complete_group_transaction` is the group
    coordinator's, for markers in `__consumer_offsets`.
    """

    __slots__ = (
        "_append",
        "_clock",
        "_complete_group_transaction",
        "_config",
        "_marker_writer",
        "_metadata",
        "_producer_ids",
        "_replicas",
        "_service",
        "_timer",
        "_verifier",
        "connect",
        "record",
        "replication",
    )

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
        self._clock = clock
        self._timer = timer
        self._config = config
        self._metadata = metadata
        self._replicas = replicas
        self._append = append
        self._producer_ids = producer_ids
        self._complete_group_transaction = complete_group_transaction
        self._service: TransactionCoordinatorService | None = None
        self._verifier: TransactionVerifier | None = None
        self._marker_writer: MarkerWriter | None = None
        self.replication: Replication | None = None
        """Set before the first use, where there are other brokers; and so is the next."""
        self.connect: Callable[[int], Channel] | None = None
        """Gives a connection to the broker of an id."""
        self.record: Callable[[TransactionDecided], None] | None = None
        """Is told how transactions end; set before the first use."""

    @property
    def in_use(self) -> bool:
        """Whether a client has needed it yet."""
        return self._service is not None

    @property
    def service(self) -> TransactionCoordinatorService:
        """The coordinator itself, made on first use."""
        if self._service is None:
            from mockbroker.coordinator.txn.service import TransactionCoordinatorService

            self._service = TransactionCoordinatorService(
                self._clock,
                self._timer,
                self._config,
                self._metadata,
                self._append,
                self._producer_ids.generate,
                self._marker_router(),
                self.record,
            )
            if self.replication is not None:
                self._service.replicate(self.replication)
        return self._service

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
