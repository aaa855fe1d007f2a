"""Bytes that are wrong on purpose: a flipped byte in an answer, a batch whose checksum is false.

Called by `interceptor`; what the broker keeps is never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.subjects import topic_ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker_protocol.messages.fetch import FetchResponse
    from mockbroker_protocol.subjects import TopicRef

_MAGIC_AT: Final = 16
_CRC_AT: Final = {0: 12, 1: 12, 2: 17}
"""Where the checksum of a batch, or of a message of old, begins."""


def corrupt(data: bytearray, position: int) -> None:
    """Flip all bits of one byte; past the end the last one, negative: from the end."""
    if not data:
        return
    index = position if position >= 0 else len(data) + position
    data[max(0, min(index, len(data) - 1))] ^= 0xFF


def poison(response: FetchResponse, selects: Callable[[TopicRef, int | None], bool]) -> bool:
    """Make the checksum of each selected partition's first batch false; False: there is none."""
    done = False
    for topic in response.responses:
        ref = topic_ref(topic)
        for data in topic.partitions:
            if not data.records or not selects(ref, data.partition_index):
                continue
            chunks = data.records if isinstance(data.records, list) else [data.records]
            records = bytearray(b"".join(chunks))
            if len(records) > _MAGIC_AT:
                corrupt(records, _CRC_AT.get(records[_MAGIC_AT], _CRC_AT[2]))
                data.records = bytes(records)
                done = True
    return done
