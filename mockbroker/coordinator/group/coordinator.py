"""The group coordinator of one node: nothing until a client needs a group.

A broker that starts has imported none of the group protocol; `service` does so at the first
request that is about groups. Handlers call `services.groups.service`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.service import GroupCoordinatorService
    from mockbroker.coordinator.log_port import TransactionalLog
    from mockbroker.coordinator.runtime import AppendPort, Replication
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker_protocol.errors import ErrorCode


class GroupCoordinator:
    """Holds what the service is made of.

    `append` writes to a partition of its topic, `transactions` as part of a transaction.
    """

    __slots__ = (
        "_append",
        "_clock",
        "_config",
        "_controller",
        "_metadata",
        "_rng",
        "_service",
        "_timer",
        "_transactions",
        "replication",
    )

    def __init__(
        self,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        metadata: MetadataStore,
        controller: Controller,
        append: AppendPort,
        rng: Random,
        transactions: TransactionalLog | None = None,
    ) -> None:
        self._clock = clock
        self._timer = timer
        self._config = config
        self._metadata = metadata
        self._controller = controller
        self._append = append
        self._rng = rng
        self._transactions = transactions
        self._service: GroupCoordinatorService | None = None
        self.replication: Replication | None = None
        """Set before the first use, where there are other brokers."""

    @property
    def in_use(self) -> bool:
        """Whether a client has needed it yet."""
        return self._service is not None

    @property
    def service(self) -> GroupCoordinatorService:
        """The coordinator itself, made on first use."""
        if self._service is None:
            from mockbroker.coordinator.group.service import GroupCoordinatorService

            self._service = GroupCoordinatorService(
                self._clock,
                self._timer,
                self._config,
                self._metadata,
                self._controller,
                self._append,
                self._rng,
                self._transactions,
            )
            if self.replication is not None:
                self._service.replicate(self.replication)
        return self._service

    def complete_transaction(self, partition_index: int, marker: TransactionMarker) -> ErrorCode:
        """Write a transaction's marker to a partition of the topic, and let its offsets count."""
        return self.service.complete_transaction(partition_index, marker)

    def release_parked(self) -> None:
        """The node shuts down: answer every join and sync that waits."""
        if self._service is not None:
            self._service.release_parked()
