"""What a transaction coordinator and its producers' leaders ask of each other across brokers.

Markers go to whoever leads a partition, questions about a batch to whoever coordinates its
transactional id: here if that is this broker, else by WriteTxnMarkers and AddPartitionsToTxn over a
link (Kafka: TransactionMarkerChannelManager, AddPartitionsToTxnManager). Whoever cannot be reached
answers with an error that is tried again.

Invariant: each partition gets one error code; markers are told leader by leader, so that one which
does not answer holds up no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.coordinator.txn.metadata import by_topic
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from mockbroker.coordinator.txn.marker_writer import MarkerWriter
    from mockbroker.coordinator.txn.metadata import TopicPartition
    from mockbroker.coordinator.txn.service import TransactionCoordinatorService
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker_protocol.messages.transactions import AddPartitionsToTxnTransaction

    Errors: TypeAlias = dict[TopicPartition, ErrorCode]
    OnErrors: TypeAlias = Callable[[Errors], None]

_WRITE_MARKERS_VERSION: Final = 2
_ADD_PARTITIONS_VERSION: Final = 5


class Channel(Protocol):
    """A connection to another broker: `links.BrokerClient`."""

    def send(
        self, request: object, version: int, on_response: Callable[[object | None], None]
    ) -> None:
        """Send a message; None answers when the connection was lost."""


@dataclass(slots=True, eq=False)
class RemoteMarkerWriter:
    """Writes markers wherever the partitions are led; `local` writes those that are led here."""

    _node_id: int
    _metadata: MetadataStore
    _local: MarkerWriter
    _connect: Callable[[int, str], Channel]

    def write(
        self, marker: TransactionMarker, partitions: Iterable[TopicPartition], on_complete: OnErrors
    ) -> None:
        """As `MarkerWriter.write`."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for name in partitions:
            by_leader.setdefault(_leader(self._metadata, *name), []).append(name)
        for leader, led in by_leader.items():
            if leader == self._node_id:
                self._local.write(marker, led, on_complete)
            elif leader < 0:
                on_complete(dict.fromkeys(led, ErrorCode.NOT_LEADER_OR_FOLLOWER))
            else:
                self._send(leader, marker, led, on_complete)

    def _send(
        self, leader: int, marker: TransactionMarker, led: list[TopicPartition], answered: OnErrors
    ) -> None:
        def received(response: object | None) -> None:
            errors: Errors = dict.fromkeys(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            if isinstance(response, WriteTxnMarkersResponse):
                for result in response.markers:
                    for topic in result.topics:
                        for partition in topic.partitions:
                            name = topic.name, partition.partition_index
                            errors[name] = ErrorCode(partition.error_code)
            answered(errors)

        request = WriteTxnMarkersRequest(
            [
                WritableTxnMarker(
                    marker.producer_id,
                    marker.producer_epoch,
                    marker.commit,
                    [WritableTxnMarkerTopic(name, at) for name, at in by_topic(led).items()],
                    marker.coordinator_epoch,
                    marker.transaction_version,
                )
            ]
        )
        self._connect(leader, "txn-marker-sender").send(request, _WRITE_MARKERS_VERSION, received)


@dataclass(slots=True, eq=False)
class RemoteVerification:
    """Asks a transactional id's coordinator about partitions; `local` if that is this broker."""

    _node_id: int
    _metadata: MetadataStore
    _local: TransactionCoordinatorService
    _connect: Callable[[int, str], Channel]

    def add_or_verify(
        self, transaction: AddPartitionsToTxnTransaction, on_complete: OnErrors
    ) -> None:
        """As `TransactionCoordinatorService.add_or_verify`."""
        index = self._local.runtime.partition_for(transaction.transactional_id)
        coordinator = _leader(self._metadata, TRANSACTION_STATE_TOPIC, index)
        if coordinator == self._node_id:
            self._local.add_or_verify(transaction, on_complete)
            return
        errors: Errors = {
            (topic.name, index): ErrorCode.COORDINATOR_NOT_AVAILABLE
            for topic in transaction.topics
            for index in topic.partitions
        }
        if coordinator < 0:
            on_complete(errors)
            return

        def received(response: object | None) -> None:
            if isinstance(response, AddPartitionsToTxnResponse):
                for result in response.results_by_transaction:
                    for topic in result.topic_results:
                        for partition in topic.results_by_partition:
                            name = topic.name, partition.partition_index
                            errors[name] = ErrorCode(partition.partition_error_code)
            on_complete(errors)

        request = AddPartitionsToTxnRequest([transaction])
        self._connect(coordinator, "add-partitions-to-txn").send(
            request, _ADD_PARTITIONS_VERSION, received
        )


def _leader(metadata: MetadataStore, topic: str, index: int) -> int:
    known = metadata.topics.get(topic)
    if known is None or not 0 <= index < len(known.partitions):
        return -1
    return known.partitions[index].leader
