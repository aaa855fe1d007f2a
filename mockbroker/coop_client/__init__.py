"""Consumers that share partitions: `SharedConsumer`, for brokers with the extension of `coop`.

A client on asyncio, apart from the broker: it needs aiokafka (`pip install 'mockbroker[coop]'`)
when it connects. `BlockingSharedConsumer` does with confluent-kafka what that allows.
docs/cooperative-consumption.md tells what they promise.
"""

from __future__ import annotations

from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop_client.blocking_consumer import BlockingSharedConsumer
from mockbroker.coop_client.errors import (
    ConsumerRangeFetchNotAccepted,
    ExtensionMissingError,
    IndividualCommitNotAllowed,
    MaxIndividualCommitReached,
    NotInGroupError,
    RefusedError,
    SharingError,
    TopicRangeFetchNotAllowed,
    UnreachableError,
)
from mockbroker.coop_client.reading import Record, TopicPartition
from mockbroker.coop_client.share import Committed
from mockbroker.coop_client.shared_consumer import SharedConsumer

__all__ = [
    "BlockingSharedConsumer",
    "Committed",
    "ConsumerRangeFetchNotAccepted",
    "ExtensionMissingError",
    "IndividualCommitNotAllowed",
    "KeyRange",
    "MaxIndividualCommitReached",
    "NotInGroupError",
    "Record",
    "RefusedError",
    "SharedConsumer",
    "SharingError",
    "TopicPartition",
    "TopicRangeFetchNotAllowed",
    "UnreachableError",
]
