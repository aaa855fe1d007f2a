"""What tests of the journal's process hand it, and what it asks."""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)

if TYPE_CHECKING:
    from tests.support.core import Core, CoreClient


def poll(core: Core, client: CoreClient, topic: str) -> None:
    topic_id = core.cluster.metadata.topics[topic].id
    asked = [FetchRequestTopic("", topic_id, [FetchRequestPartition(0)])]
    client.call(FetchRequest(-1, 0, 1, 1000, topics=asked), 13, FetchResponse)


def packed(message: Any) -> bytes:
    return marshal.dumps(message)


def nobody(_topic_id: bytes) -> None:
    """Knows no topics."""
