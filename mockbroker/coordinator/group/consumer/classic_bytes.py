"""What classic consumers put into their opaque bytes: subscriptions and assignments.

A classic member of a consumer group is served from these (Kafka: ConsumerProtocol). Each is an
int16 version and its body in that version; a later version is read as the latest that is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolTopicPartition,
)
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")

_VERSION_BYTES: Final = 2
_LATEST: Final = 3


class MalformedError(Exception):
    """The bytes are no consumer's; the text ends a sentence that says what cannot be done."""


def parse_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """The topics of a classic member, and what it has."""
    return _parse(ConsumerProtocolSubscription, data)


def parse_assignment(data: bytes) -> list[ConsumerProtocolTopicPartition]:
    """What a leader gave to a classic member; no bytes are no partitions."""
    if not data:
        return []
    assignment = whole_assignment(data)
    if assignment.user_data:  # librdkafka's cooperative-sticky too, from a second generation on
        raise MalformedError(
            "because an unsupported custom assignor is in use. Please refer to the documentation "
            "or switch to a default assignor before re-attempting the upgrade."
        )
    return assignment.assigned_partitions


def whole_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """All that a leader gave to a classic member, its assignor's own bytes too."""
    return _parse(ConsumerProtocolAssignment, data)


def assignment_bytes(named: Iterable[tuple[str, list[int]]], version: int) -> bytes:
    """Partitions as a classic member of this version reads them."""
    message = ConsumerProtocolAssignment(
        [ConsumerProtocolTopicPartition(topic, indexes) for topic, indexes in named]
    )
    version = max(0, min(version, _LATEST))
    return version.to_bytes(_VERSION_BYTES, "big") + b"".join(encode(message, version))


def version_of(data: bytes) -> int:
    """The version that the bytes are in."""
    return int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)


def _parse(message_class: type[T], data: bytes) -> T:
    version = version_of(data)
    if len(data) < _VERSION_BYTES or version < 0:
        raise MalformedError("because the embedded consumer protocol is malformed.")
    try:
        message, _ = decode(message_class, min(version, _LATEST), data, _VERSION_BYTES)
    except ProtocolError:
        raise MalformedError("because the embedded consumer protocol is malformed.") from None
    return message
