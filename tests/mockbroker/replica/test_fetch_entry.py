"""An entry holds the values of the last request that named it."""

from __future__ import annotations

from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker_protocol.messages.fetch import FetchRequestPartition

ZERO = bytes(16)


def values(entry: FetchEntry) -> tuple[int, ...]:
    return (
        entry.current_leader_epoch,
        entry.fetch_offset,
        entry.last_fetched_epoch,
        entry.log_start_offset,
        entry.max_bytes,
        entry.high_watermark,
    )


def test_a_later_request_replaces_every_value_but_the_identity() -> None:
    topic = FetchTopic("t", ZERO)
    entry = FetchEntry(topic, FetchRequestPartition(4, 1, 2, 3, 5, 6, ZERO, 7))
    assert values(entry) == (1, 2, 3, 5, 6, 7)
    entry.update(FetchRequestPartition(9, 11, 12, 13, 15, 16, ZERO, 17))
    assert values(entry) == (11, 12, 13, 15, 16, 17)
    assert (entry.topic, entry.index, entry.partition) == (topic, 4, None)
