"""What a fetch session saves on the wire, in bytes: KIP-227's promise as two numbers a fetch.

A session keeps a `WireSize`. `FetchManager` takes the request's saving from it when the session has
accepted a poll, the incremental context that of the answer when it makes one. Fetches of other
kinds save nothing, nor does a poll that is refused (70, 71, 106).

    on the request    the same request with every partition of the session in its topic list, under
                      the values that the session has for it now, and nothing forgotten, less the
                      request that came
    on the response   the same answer with every partition of the session in its topic list, those
                      that were not told without records, error and aborted transactions, less the
                      answer that went

Both lists name each topic once, which is the least that they can cost. All sizes are those of the
version of the poll. Records are in both answers alike, so they cancel out, and so do all fields
outside the topic lists. Directory ids (v17) and unknown tagged fields count on neither side. A
saving may be negative: to forget costs bytes, and an answer in the order of service may name a
topic more than once.

Invariant: the sums change where the session changes, so that a poll costs what it names and tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.replica.fetch_params import UNKNOWN_HIGH_WATERMARK
from mockbroker_protocol.versions import FETCH_FLEXIBLE, FETCH_HIGH_WATERMARK, FETCH_TOPIC_IDS

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

    from mockbroker_protocol.messages.fetch import FetchRequest

HIGH_WATERMARK_BYTES: Final = 10
"""The tagged field of KIP-1166: tag, size, value."""

FORGOTTEN_PARTITION_BYTES: Final = 4
SHORT: Final = 126
"""A string or array up to this length has it in one byte, in a flexible version."""

_UNMEASURED: Final = -1


class ListedTopic(Protocol):
    """A topic in a request's list, in its list of forgotten ones, or in an answer."""

    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> Sized: ...


class WireSize:
    """What all partitions of one session would cost, beyond an empty topic list.

    `measure` gives `request_bytes` and `response_bytes` for a version; they stay until the session
    changes, and are 0 then. `high_watermarks` counts the partitions whose reader told one
    (KIP-1166); the long ones are bytes of lengths beyond one byte each, in flexible versions.
    """

    __slots__ = (
        "_long_counts",
        "_long_names",
        "_name_bytes",
        "_quiet_partition_bytes",
        "_request_partition_bytes",
        "_topic_bytes",
        "high_watermarks",
        "partitions",
        "request_bytes",
        "response_bytes",
        "topics",
        "version",
    )

    def __init__(self) -> None:
        self.topics = 0
        self.partitions = 0
        self.high_watermarks = 0
        self._name_bytes = 0
        self._long_names = 0
        self._long_counts = 0
        self._topic_bytes = 0
        self._request_partition_bytes = 0
        self._quiet_partition_bytes = 0
        self.version = _UNMEASURED
        self.request_bytes = 0
        self.response_bytes = 0

    def resize_topic(self, key: str | bytes, before: int, after: int) -> None:
        """A topic has `after` partitions instead of `before`; with none it is not listed.

        `key` is its name, or its id in a session that goes by ids.
        """
        if before == after:
            return
        self._end_measure()
        self.partitions += after - before
        self._long_counts += _beyond_one_byte(after) - _beyond_one_byte(before)
        if before and after:
            return
        sign = 1 if after else -1
        self.topics += sign
        if isinstance(key, str):
            size = _utf8_bytes(key)
            self._name_bytes += sign * size
            self._long_names += sign * _beyond_one_byte(size)

    def retag(self, before: int, after: int) -> None:
        """A reader tells another high watermark; UNKNOWN_HIGH_WATERMARK is: none."""
        change = (after != UNKNOWN_HIGH_WATERMARK) - (before != UNKNOWN_HIGH_WATERMARK)
        if change:
            self._end_measure()
            self.high_watermarks += change

    def _end_measure(self) -> None:
        self.version = _UNMEASURED
        self.request_bytes = self.response_bytes = 0

    def measure(self, version: int) -> None:
        """Fill `request_bytes` and `response_bytes` for this version of Fetch."""
        by_name = version < FETCH_TOPIC_IDS
        if version >= FETCH_FLEXIBLE:
            # Lengths of one byte each, and the tags.
            self._topic_bytes = 3 if by_name else 18
            self._request_partition_bytes = 33
            self._quiet_partition_bytes = 37
            framing = self._long_counts + _beyond_one_byte(self.topics)
            if by_name:
                framing += self._long_names
        else:
            self._topic_bytes = 6
            self._request_partition_bytes = 28 if version >= 9 else 24  # v9: the leader epoch
            self._quiet_partition_bytes = 42 if version >= 11 else 38  # v11: preferred replica
            framing = 0
        framing += self.topics * self._topic_bytes
        if by_name:
            framing += self._name_bytes
        self.request_bytes = framing + self.partitions * self._request_partition_bytes
        if version >= FETCH_HIGH_WATERMARK:
            self.request_bytes += self.high_watermarks * HIGH_WATERMARK_BYTES
        self.response_bytes = framing + self.partitions * self._quiet_partition_bytes
        self.version = version

    def requested_bytes(self, request: FetchRequest) -> int:
        """What the topic lists of this request cost, beyond empty ones, in the version measured."""
        topics = request.topics
        size = self._list_bytes(topics, self._request_partition_bytes) if topics else 0
        if self.version >= FETCH_HIGH_WATERMARK:
            for topic in topics:
                for partition in topic.partitions:
                    if partition.high_watermark != UNKNOWN_HIGH_WATERMARK:
                        size += HIGH_WATERMARK_BYTES
        forgotten = request.forgotten_topics_data
        if forgotten:
            size += self._list_bytes(forgotten, FORGOTTEN_PARTITION_BYTES)
        return size

    def listed_bytes(self, topics: Sequence[ListedTopic]) -> int:
        """What the topic list of this answer costs beyond an empty one, in the version measured.

        Each partition counts as a quiet one: what it has beyond that is in the full answer too.
        """
        return self._list_bytes(topics, self._quiet_partition_bytes)

    def _list_bytes(self, topics: Sequence[ListedTopic], partition_bytes: int) -> int:
        version = self.version
        topic_bytes = self._topic_bytes
        flexible = version >= FETCH_FLEXIBLE
        size = 0
        for topic in topics:
            count = len(topic.partitions)
            size += topic_bytes + count * partition_bytes
            if count > SHORT and flexible:
                size += _beyond_one_byte(count)
            if version < FETCH_TOPIC_IDS:
                name_bytes = _utf8_bytes(topic.topic)
                size += name_bytes
                if name_bytes > SHORT and flexible:
                    size += _beyond_one_byte(name_bytes)
        if len(topics) > SHORT and flexible:
            size += _beyond_one_byte(len(topics))
        return size


def _beyond_one_byte(length: int) -> int:
    """What a compact length takes more than one byte."""
    return 0 if length <= SHORT else ((length + 1).bit_length() - 1) // 7


def _utf8_bytes(text: str) -> int:
    """How long a string is on the wire."""
    return len(text) if text.isascii() else len(text.encode())
