"""What is asked of the controller, and what it answers, as values.

The handlers of the admin APIs, the coordinators and the Python API all speak to the controller in
these; none of them is a message of the wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.names import NO_TOPIC_ID
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.config.topic import TopicConfig


class Refusal(NamedTuple):
    """An error that a client must see; ErrorCode.NONE is no error."""

    error: ErrorCode
    message: str | None = None


ACCEPTED = Refusal(ErrorCode.NONE)


def invalid_request(message: str) -> Refusal:
    """INVALID_REQUEST, for the reason given."""
    return Refusal(ErrorCode.INVALID_REQUEST, message)


class NewTopic(NamedTuple):
    """A topic to create. -1 takes the broker's default; `assignments` are (partition, brokers)."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


class CreatedTopic(NamedTuple):
    """What became of a topic to create; on an error the counts are -1 and `config` is None."""

    name: str
    refusal: Refusal = ACCEPTED
    topic_id: bytes = NO_TOPIC_ID
    num_partitions: int = -1
    replication_factor: int = -1
    config: TopicConfig | None = None

    @property
    def error(self) -> ErrorCode:
        """NONE if it was created."""
        return self.refusal.error

    @property
    def message(self) -> str | None:
        """Why it was not."""
        return self.refusal.message


class TopicReference(NamedTuple):
    """A topic by name or by id; one of the two is expected."""

    name: str | None
    topic_id: bytes = NO_TOPIC_ID


class DeletedTopic(NamedTuple):
    """What became of a topic to delete."""

    name: str | None
    topic_id: bytes = NO_TOPIC_ID
    refusal: Refusal = ACCEPTED

    @property
    def error(self) -> ErrorCode:
        """NONE if it was deleted."""
        return self.refusal.error

    @property
    def message(self) -> str | None:
        """Why it was not."""
        return self.refusal.message


class NewPartitions(NamedTuple):
    """A topic and the partition count it should grow to; `assignments` are brokers of each."""

    name: str
    total_count: int
    assignments: Sequence[Sequence[int]] | None = None


class ConfigAlteration(NamedTuple):
    """A resource whose configs shall change: (key, operation, value) by AlterConfigOp's codes.

    `replace` takes away first whatever is set.
    """

    resource_type: int
    name: str
    changes: Sequence[tuple[str, int, str | None]]
    replace: bool = False
