"""Requests as lines for people: when, who, what, at which offsets, how many records, which outcome.

The journal's view, explanations of what did not come, and the report of a failed test are made of
them. Times are milliseconds since the test began, without what `advance` passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.produce import ProduceRequest, ProduceResponse
from mockbroker_protocol.records.batch import iterate_batches
from mockbroker_protocol.subjects import (
    partition_index,
    partition_list,
    subjects_of,
    topic_ref,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mockbroker.journal.request import RequestServed
    from mockbroker.journal.ring import Journal
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.subjects import Subjects, TopicRef

MAX_PARTITIONS: Final = 4
_IDLE: Final = {
    int(ApiKey.FETCH): "fetches without records",
    int(ApiKey.HEARTBEAT): "heartbeats",
    int(ApiKey.CONSUMER_GROUP_HEARTBEAT): "heartbeats",
}
"""What clients repeat while nothing happens, and what that is called."""
_OFFSET_FIELDS: Final = ("committed_offset", "offset")


def summary(served: RequestServed, journal: Journal) -> str:
    """One request in one line."""
    text = ""
    request = served.request
    if request is not None:
        text = about(request, served.response, subjects_of(request), journal)
        text = f" [{text}]" if text else ""
    codes = served.error_codes
    outcome = error_names(codes) if codes else "ok" if served.answered else "no answer"
    fault = f" fault={served.fault}" if served.fault else ""
    return (
        f"{journal.since_began_ms(served.completed_ms):.0f} ms"
        f" {served.client_id}#{served.connection_id}"
        f" {served.api_name} v{served.api_version}{text} {outcome}{fault}"
    )


def about(request: object, response: object | None, subjects: Subjects, journal: Journal) -> str:
    """What a request is about: names, and partitions with offsets and counts of records."""
    moved = list(_moved(request, response, journal))
    told = {name.rpartition("-")[0] for name, _ in moved}
    names = [name for name in topic_names(subjects, journal) if name not in told]
    names += [*subjects.groups, *subjects.transactional_ids]
    parts = [f"{name} {what}" for name, what in moved[:MAX_PARTITIONS]]
    if len(moved) > MAX_PARTITIONS:
        parts.append(f"{len(moved) - MAX_PARTITIONS} more")
    return ", ".join([*dict.fromkeys(names), *parts])


def tail(journal: Journal, since: int, count: int) -> list[str]:
    """The last `count` lines about requests from a cursor on; what idles is folded into one."""
    lines: list[str] = []
    folded: dict[str, dict[str, int]] = {}
    for served in reversed(list(journal.requests(since))):
        idle = _idle(served)
        if idle is not None:
            who = "followers" if served.connection_id < 0 else served.client_id
            clients = folded.setdefault(idle, {})
            clients[who] = clients.get(who, 0) + 1
            continue
        lines += _fold(folded)
        if len(lines) >= count:
            break
        lines.append(summary(served, journal))
    else:
        lines += _fold(folded)
    return lines[count - 1 :: -1] if len(lines) >= count else lines[::-1]


def _fold(folded: dict[str, dict[str, int]]) -> list[str]:
    """A line for what idled between two others; it is forgotten then."""
    if not folded:
        return []
    parts = [
        f"{sum(clients.values())} {idle} ({', '.join(sorted(clients))})"
        for idle, clients in folded.items()
    ]
    folded.clear()
    return [f"   … {', '.join(parts)}"]


def _idle(served: RequestServed) -> str | None:
    """What a request that says nothing is called; None when it says something."""
    idle = _IDLE.get(served.api_key)
    if idle is None or served.fault is not None or not served.answered:
        return None
    response = served.response
    if response is None or served.error_codes:
        return None
    if isinstance(response, FetchResponse) and any(
        data.records for topic in response.responses for data in topic.partitions
    ):
        return "fetches of followers" if served.connection_id < 0 else None
    return idle


def _moved(request: object, response: object, journal: Journal) -> Iterator[tuple[str, str]]:
    """Partitions, as TOPIC-INDEX, and what became of their records or offsets."""
    if isinstance(request, ProduceRequest):
        yield from _produced(request, response, journal)
    elif isinstance(response, FetchResponse):
        for topic in response.responses:
            for data in topic.partitions:
                count, base_offset = _records(data.records)
                if count:
                    name = _name(topic_ref(topic), data.partition_index, journal)
                    yield name, f"{count} record(s) from {base_offset}"
    else:
        yield from _offsets(request, response, journal)


def _produced(
    request: ProduceRequest, response: object, journal: Journal
) -> Iterator[tuple[str, str]]:
    offsets = {
        _name(topic_ref(topic), data.index, journal): data.base_offset
        for topic in (response.responses if isinstance(response, ProduceResponse) else ())
        for data in topic.partition_responses
    }
    for topic in request.topic_data:
        for asked in topic.partition_data:
            name = _name(topic_ref(topic), asked.index, journal)
            offset = offsets.get(name, -1)
            where = f" at {offset}" if offset >= 0 else ""
            yield name, f"{_records(asked.records)[0]} record(s){where}"


def _offsets(request: object, response: object, journal: Journal) -> Iterator[tuple[str, str]]:
    """Offsets that a request commits or an answer tells."""
    for message in (request, response):
        for topic in _topics(message):
            field = partition_list(topic)
            for partition in () if field is None else getattr(topic, field):
                offset = next(
                    (
                        value
                        for name in _OFFSET_FIELDS
                        if (value := getattr(partition, name, None)) is not None
                    ),
                    None,
                )
                if isinstance(offset, int) and offset >= 0:
                    yield (
                        _name(topic_ref(topic), partition_index(partition), journal),
                        f"offset {offset}",
                    )


def _topics(message: object) -> Iterator[object]:
    for holder in (message, *(getattr(message, "groups", None) or ())):
        topics = getattr(holder, "topics", None)
        if isinstance(topics, list):
            yield from (topic for topic in topics if not isinstance(topic, str))


def _records(records: Buffer | list[Buffer] | None) -> tuple[int, int]:
    """How many records there are, and the offset of the first batch."""
    data = b"".join(records) if isinstance(records, list) else records or b""
    count, base_offset = 0, -1
    try:
        for _, header in iterate_batches(bytes(data)):
            if base_offset < 0:
                base_offset = header.base_offset
            count += header.record_count
    except ProtocolError:
        pass
    return count, base_offset


def _name(ref: TopicRef, index: int, journal: Journal) -> str:
    name = ref.name or (journal.topic_name(ref.topic_id) if ref.topic_id is not None else None)
    return f"{name or '?'}-{index}"


def topic_names(subjects: Subjects, journal: Journal) -> list[str]:
    """The names of the topics that a message is about."""
    names = []
    for topic in subjects.topics:
        name = topic.name
        if not name and topic.topic_id is not None:
            name = journal.topic_name(topic.topic_id)
        if name:
            names.append(name)
    return names


def error_names(codes: Iterable[int]) -> str:
    """Kafka's names of error codes, one behind the other."""
    return (
        ", ".join(
            ErrorCode(code).name if code in ErrorCode.__members__.values() else str(code)
            for code in codes
        )
        or "none"
    )
