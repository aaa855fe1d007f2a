"""What is asked of the controller, and what it answers, as values.

The handlers of the admin APIs, the coordinators and the Python API all speak to the controller in
these; none of them is a message of the wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.names import NO_TOPIC_ID
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.config.topic import TopicConfig


class Refusal(NamedTuple):
    """An error that a client must see; ErrorCode.NONE is no error."""

    error: ErrorCode
    message: str | None = None


ACCEPTED = Refusal(ErrorCode.NONE)
UNREACHABLE = Refusal(
    ErrorCode.REQUEST_TIMED_OUT, "The controller cannot be reached from this broker."
)


def invalid_request(message: str) -> Refusal:
    """INVALID_REQUEST, for the reason given."""
    return Refusal(ErrorCode.INVALID_REQUEST, message)


class NewTopic:
    """A topic to create. -1 takes the broker's default; `assignments` are (partition, brokers)."""

    __slots__ = ("assignments", "configs", "name", "num_partitions", "replication_factor")

    def __init__(
        self,
        name: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        assignments: Sequence[tuple[int, Sequence[int]]] = (),
        configs: Sequence[tuple[str, str | None]] = (),
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = assignments
        self.configs = configs


class CreatedTopic:
    """What became of a topic to create; on an error the counts are -1 and `config` is None."""

    __slots__ = ("config", "name", "num_partitions", "refusal", "replication_factor", "topic_id")

    def __init__(
        self,
        name: str,
        refusal: Refusal = ACCEPTED,
        topic_id: bytes = NO_TOPIC_ID,
        num_partitions: int = -1,
        replication_factor: int = -1,
        config: TopicConfig | None = None,
    ) -> None:
        self.name = name
        self.refusal = refusal
        self.topic_id = topic_id
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.config = config

    @property
    def error(self) -> ErrorCode:
        """NONE if it was created."""
        return self.refusal.error

    @property
    def message(self) -> str | None:
        """Why it was not."""
        return self.refusal.message


class TopicReference:
    """A topic by name or by id; one of the two is expected."""

    __slots__ = ("name", "topic_id")

    def __init__(self, name: str | None, topic_id: bytes = NO_TOPIC_ID) -> None:
        self.name = name
        self.topic_id = topic_id


class DeletedTopic:
    """What became of a topic to delete."""

    __slots__ = ("name", "refusal", "topic_id")

    def __init__(
        self, name: str | None, topic_id: bytes = NO_TOPIC_ID, refusal: Refusal = ACCEPTED
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.refusal = refusal

    @property
    def error(self) -> ErrorCode:
        """NONE if it was deleted."""
        return self.refusal.error

    @property
    def message(self) -> str | None:
        """Why it was not."""
        return self.refusal.message


class NewPartitions:
    """A topic and the partition count it should grow to; `assignments` are brokers of each."""

    __slots__ = ("assignments", "name", "total_count")

    def __init__(
        self, name: str, total_count: int, assignments: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.name = name
        self.total_count = total_count
        self.assignments = assignments


class ConfigAlteration:
    """A resource whose configs shall change: (key, operation, value) by AlterConfigOp's codes.

    `replace` takes away first whatever is set.
    """

    __slots__ = ("changes", "name", "replace", "resource_type")

    def __init__(
        self,
        resource_type: int,
        name: str,
        changes: Sequence[tuple[str, int, str | None]],
        replace: bool = False,
    ) -> None:
        self.resource_type = resource_type
        self.name = name
        self.changes = changes
        self.replace = replace
