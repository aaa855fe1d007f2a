"""The client's half of a fetch session, as Java's FetchSessionHandler keeps it (KIP-227).

A consumer asks `build` what to send for the partitions that it wants now, and gives every answer
to `accept`, every loss to `lost`. The handler also keeps the client's view: what it was last told
of each partition. That an incremental session keeps this view equal to what a full fetch would
tell is the KIP's claim, and `checkers` holds it.

A view is `tainted` once an answer was lost and the session goes on: what was told in it is not
told again. A full answer makes it whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker_protocol.messages.fetch import FetchResponse, FetchResponsePartition
    from simulation.stage import Wire

SessionKey: TypeAlias = tuple[str | bytes, int]
"""A topic's name or id, as the session goes, and the partition's index."""

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
UNKNOWN_HIGH_WATERMARK = 2**63 - 1


class RequestedPartition(NamedTuple):
    """What is asked of a partition."""

    offset: int
    max_bytes: int
    leader_epoch: int
    last_fetched_epoch: int = -1
    high_watermark: int = UNKNOWN_HIGH_WATERMARK


class AnsweredPartition(NamedTuple):
    """What the client was last told of a partition."""

    error: int
    high_watermark: int
    log_start_offset: int


class FetchBody(NamedTuple):
    """The session's part of a fetch request."""

    session_id: int
    epoch: int
    topics: list[FetchRequestTopic]
    forgotten: list[FetchRequestForgottenTopic]


class FetchSessionHandler:
    """One client's session; `sessionless` never opens one."""

    def __init__(self, *, sessionless: bool = False) -> None:
        self._sessionless = sessionless
        self.session_id = 0
        self.epoch = FINAL_EPOCH if sessionless else INITIAL_EPOCH
        self.by_id = False
        self.asked: dict[SessionKey, RequestedPartition] = {}
        self.view: dict[SessionKey, AnsweredPartition] = {}
        self._doubts: list[tuple[Wire, int]] = []

    @property
    def tainted(self) -> bool:
        """Whether the broker told something on a wire from which it was not read."""
        return any(wire.emitted_bytes > read_bytes for wire, read_bytes in self._doubts)

    def doubt(self, wire: Wire, read_bytes: int) -> None:
        """What comes on this wire after so many bytes will not be taken."""
        self._doubts.append((wire, read_bytes))

    @property
    def is_full(self) -> bool:
        """Whether the next request, or the one that was built, names everything."""
        return self.epoch <= INITIAL_EPOCH

    def build(self, wanted: Mapping[SessionKey, RequestedPartition], *, by_id: bool) -> FetchBody:
        """The request for `wanted`; `by_id` says how its keys name topics."""
        if by_id != self.by_id and not self.is_full:
            self.epoch = INITIAL_EPOCH
        self.by_id = by_id
        if self.is_full:
            self.asked = dict(wanted)
            return FetchBody(self.session_id, self.epoch, topics_of(wanted, by_id), [])
        changed: dict[SessionKey, RequestedPartition] = {}
        for key, asked in wanted.items():
            if self.asked.get(key) != asked:
                self.asked[key] = changed[key] = asked
        forgotten = [key for key in self.asked if key not in wanted]
        for key in forgotten:
            del self.asked[key]
            self.view.pop(key, None)
        return FetchBody(
            self.session_id, self.epoch, topics_of(changed, by_id), forgotten_of(forgotten, by_id)
        )

    def accept(self, response: FetchResponse) -> str | None:
        """Take an answer. Returns what is wrong with it, None when all is well."""
        error = response.error_code
        if error:
            if self._sessionless:
                return f"sessionless fetch answered with error {error}"
            if self.is_full:
                return f"full fetch answered with error {error}"
            if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self.session_id = 0
            self.epoch = INITIAL_EPOCH
            return None
        told = told_by_key(response, by_id=self.by_id)
        if self.is_full:
            return self._accept_full(response, told)
        self.view.update(told)
        strangers = [key for key in told if key not in self.asked]
        if strangers:
            return f"incremental answer holds {strangers}, which its session does not"
        if response.session_id == 0:
            self.session_id = 0
            self.epoch = INITIAL_EPOCH
            return "server closed a session with partitions" if self.asked else None
        if response.session_id != self.session_id:
            return f"answer of session {response.session_id} in session {self.session_id}"
        self.epoch += 1
        return None

    def _accept_full(
        self, response: FetchResponse, told: dict[SessionKey, AnsweredPartition]
    ) -> str | None:
        self.view = told
        self._doubts = []
        if not self._sessionless:
            self.session_id = response.session_id
            self.epoch = 1 if response.session_id else INITIAL_EPOCH
        elif response.session_id:
            return f"sessionless answer opened session {response.session_id}"
        if told.keys() != self.asked.keys():
            return f"full answer holds {list(told)}, asked were {list(self.asked)}"
        return None

    def lost(self) -> None:
        """A request or its answer was lost: begin anew, closing what was (handleError)."""
        if not self._sessionless:
            self.epoch = INITIAL_EPOCH

    def resume(self, wire: Wire) -> None:
        """Go on as if the request on this wire had been accepted, without its answer."""
        if not self.is_full:
            self.epoch += 1
            self.doubt(wire, wire.read_bytes)


def told_of(data: FetchResponsePartition) -> AnsweredPartition:
    """What an answer tells of a partition."""
    return AnsweredPartition(data.error_code, data.high_watermark, data.log_start_offset)


def told_by_key(response: FetchResponse, *, by_id: bool) -> dict[SessionKey, AnsweredPartition]:
    """What an answer tells of each partition."""
    return {
        (topic.topic_id if by_id else topic.topic, data.partition_index): told_of(data)
        for topic in response.responses
        for data in topic.partitions
    }


def bytes_by_key(response: FetchResponse, *, by_id: bool) -> dict[SessionKey, int]:
    """How many record bytes an answer holds of each partition that has any."""
    return {
        (topic.topic_id if by_id else topic.topic, data.partition_index): size
        for topic in response.responses
        for data in topic.partitions
        if (size := size_of(data))
    }


def size_of(data: FetchResponsePartition) -> int:
    """The record bytes of one partition."""
    records = data.records
    if isinstance(records, list):
        return sum(map(len, records))
    return len(records) if records else 0


def topics_of(
    wanted: Mapping[SessionKey, RequestedPartition], by_id: bool
) -> list[FetchRequestTopic]:
    """`wanted` as a request names it; neighbours of one topic share its entry."""
    topics: list[FetchRequestTopic] = []
    last: str | bytes | None = None
    for (topic, index), asked in wanted.items():
        if topic != last:
            last = topic
            name, topic_id = _named(topic)
            topics.append(FetchRequestTopic(name, topic_id, []))
        topics[-1].partitions.append(
            FetchRequestPartition(
                partition=index,
                current_leader_epoch=asked.leader_epoch,
                fetch_offset=asked.offset,
                last_fetched_epoch=asked.last_fetched_epoch,
                high_watermark=asked.high_watermark,
                partition_max_bytes=asked.max_bytes,
            )
        )
    assert all((topic.topic == "") == by_id for topic in topics)
    return topics


def forgotten_of(keys: Iterable[SessionKey], by_id: bool) -> list[FetchRequestForgottenTopic]:
    """Partitions to drop from the session."""
    topics: dict[str | bytes, FetchRequestForgottenTopic] = {}
    for topic, index in keys:
        entry = topics.get(topic)
        if entry is None:
            name, topic_id = _named(topic)
            assert (name == "") == by_id
            entry = topics[topic] = FetchRequestForgottenTopic(name, topic_id, [])
        entry.partitions.append(index)
    return list(topics.values())


def _named(topic: str | bytes) -> tuple[str, bytes]:
    return (topic, ZERO_UUID) if isinstance(topic, str) else ("", topic)
