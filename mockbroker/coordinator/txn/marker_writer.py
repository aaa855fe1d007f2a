"""The leader's half of a transaction's end: its marker in each partition that is led here.

`apis.write_txn_markers` and, for partitions of the same node, `markers` call it (KafkaApis
.handleWriteTxnMarkersRequest). A marker in `__consumer_offsets` also ends what the group
coordinator has pending, so that topic's markers go through the coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker.replica.append_entry import AppendEntry
from mockbroker.replica.partition import ACKS_ALL
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.txn.metadata import TopicPartition
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker.replica.manager import ReplicaManager

    CompleteGroupTransaction: TypeAlias = Callable[
        [int, TransactionMarker, Callable[[ErrorCode], None]], None
    ]

# The coordinator's answers that do not fit a leader (handleWriteTxnMarkersRequest).
_NOT_READY = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
_NO_RECORDS = b""


class WritesMarkers(Protocol):
    """Writes a marker to partitions: here, or wherever they are led (`remote`)."""

    def write(
        self,
        marker: TransactionMarker,
        partitions: Iterable[TopicPartition],
        on_complete: Callable[[dict[TopicPartition, ErrorCode]], None],
    ) -> None:
        """`on_complete` for each leader, once all its partitions have it or an error."""


@dataclass(slots=True, eq=False)
class MarkerWriter:
    """`complete_group_transaction(partition, marker, done)` is the group coordinator's."""

    _replicas: ReplicaManager
    _config: BrokerConfig
    _complete_group_transaction: CompleteGroupTransaction

    def write(
        self,
        marker: TransactionMarker,
        partitions: Iterable[TopicPartition],
        on_complete: Callable[[dict[TopicPartition, ErrorCode]], None],
    ) -> None:
        """Write the marker to each partition; `on_complete` once the in-sync replicas have it."""
        errors: dict[TopicPartition, ErrorCode] = {}
        entries: dict[TopicPartition, AppendEntry] = {}
        of_groups: list[int] = []
        for topic, index in partitions:
            partition = self._replicas.partition(topic, index)
            if partition is None:
                errors[topic, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif topic == GROUP_METADATA_TOPIC:
                of_groups.append(index)
            else:
                entries[topic, index] = AppendEntry(index, partition, _NO_RECORDS, marker=marker)
        waits_for = 1 + len(of_groups)

        def answered() -> None:
            nonlocal waits_for
            waits_for -= 1
            if not waits_for:
                on_complete(errors)

        def appended() -> None:
            errors.update((partition, entry.error) for partition, entry in entries.items())
            answered()

        def ended(index: int, error: ErrorCode) -> None:
            not_ready = error in _NOT_READY
            errors[GROUP_METADATA_TOPIC, index] = (
                ErrorCode.NOT_LEADER_OR_FOLLOWER if not_ready else error
            )
            answered()

        for index in of_groups:
            self._complete_group_transaction(index, marker, partial(ended, index))
        self._replicas.append_records(
            self._config.int("request.timeout.ms"), ACKS_ALL, list(entries.values()), appended
        )
