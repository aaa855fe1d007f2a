"""Where partitions are, as events of a journal that is to be run again.

Called by `journal_files` with the metadata as they are at the start, and with each change of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.journal import TopicPlaced
from mockbroker.journal.events import CREATED, DELETED, GROWN, MOVED
from mockbroker.metadata.changes import (
    LeaderChanged,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
)
from mockbroker_protocol.primitives import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.metadata.changes import Change, PartitionState
    from mockbroker.metadata.store import MetadataStore


def known(metadata: MetadataStore) -> Iterator[TopicPlaced]:
    """All topics that there are."""
    for topic in metadata.topics.values():
        placed = _plain(topic.partitions)
        configs = dict(topic.configs)
        yield TopicPlaced(CREATED, topic.name, uuid_text(topic.id), 0, placed, configs)


def event_of(change: Change) -> TopicPlaced | None:
    """What a change says of where partitions are; None: nothing."""
    match change:
        case TopicCreated(name, topic_id, partitions, configs):
            placed = _plain(partitions)
            return TopicPlaced(CREATED, name, uuid_text(topic_id), 0, placed, dict(configs))
        case PartitionsAdded(name, topic_id, first, partitions):
            return TopicPlaced(GROWN, name, uuid_text(topic_id), first, _plain(partitions), {})
        case LeaderChanged():
            told = _plain([change.state])
            return TopicPlaced(
                MOVED, change.name, uuid_text(change.topic_id), change.index, told, {}
            )
        case TopicDeleted():
            return TopicPlaced(DELETED, change.name, uuid_text(change.topic_id), 0, [], {})
    return None


def _plain(states: Sequence[PartitionState]) -> list[list[object]]:
    return [[it.leader, it.leader_epoch, list(it.replicas), list(it.isr)] for it in states]
