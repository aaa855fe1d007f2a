"""Requests as rows of a table: what stands in the console's timeline, without their fields.

The admin API asks for the rows behind a cursor; the request of a row is found again by its number,
and the request that wrote a record by the record's place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.request_lines import about, topic_names
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.produce import ProduceRequest, ProduceResponse
from mockbroker_protocol.records.batch import iterate_batches
from mockbroker_protocol.subjects import errors_in, subjects_of, topic_ref

if TYPE_CHECKING:
    from mockbroker.journal.request import RequestServed
    from mockbroker.journal.ring import Journal


class Row(NamedTuple):
    """One request. `number` counts from 1; times are on the broker's clock, sizes on the wire.

    `about` names partitions with offsets and counts of records, `errors` are Kafka's codes.
    """

    number: int
    api: str
    version: int
    client_id: str
    broker: int
    connection: int
    topics: list[str]
    groups: list[str]
    transactional_ids: list[str]
    about: str
    request_bytes: int
    response_bytes: int
    arrived_ms: float
    completed_ms: float
    cause: str
    answered: bool
    errors: list[int]
    fault: str | None


def row_of(number: int, served: RequestServed, journal: Journal) -> Row:
    """The row of a request."""
    request, response = served.request, served.response
    topics: list[str] = []
    groups: list[str] = []
    transactional_ids: list[str] = []
    text = ""
    if request is not None:
        subjects = subjects_of(request)
        topics = list(dict.fromkeys(topic_names(subjects, journal)))
        groups, transactional_ids = list(subjects.groups), list(subjects.transactional_ids)
        text = about(request, response, subjects, journal)
    return Row(
        number,
        served.api_name,
        served.api_version,
        served.client_id,
        served.broker_id,
        served.connection_id,
        topics,
        groups,
        transactional_ids,
        text,
        served.request_bytes + 4,
        served.response_bytes,
        round(served.arrived_ms, 3),
        round(served.completed_ms, 3),
        served.cause,
        served.answered,
        sorted(set(errors_in(response)) - {0}),
        served.fault,
    )


def numbered(journal: Journal, since: int = 0) -> list[tuple[int, RequestServed]]:
    """The requests that are still kept behind a cursor, with their numbers, oldest first."""
    kept = list(journal.requests(since))
    return list(enumerate(kept, journal.cursor() - len(kept) + 1))


def find(journal: Journal, number: int) -> RequestServed | None:
    """The request of that number; None when it is not kept (any more)."""
    first = next(iter(numbered(journal, number - 1)), None)
    return first[1] if first is not None and first[0] == number else None


def writer_of(journal: Journal, topic: str, partition: int, offset: int) -> int | None:
    """The number of the Produce that wrote a record; None when it is not kept (any more).

    The last one that tells so: a topic may have been made anew.
    """
    for number, served in reversed(numbered(journal)):
        if served.api_key == ApiKey.PRODUCE and offset in _written(
            served, journal, topic, partition
        ):
            return number
    return None


def _written(served: RequestServed, journal: Journal, topic: str, partition: int) -> range:
    """The offsets that a Produce wrote of a partition."""
    request, response = served.request, served.response
    if not isinstance(request, ProduceRequest) or not isinstance(response, ProduceResponse):
        return range(0)
    named = subjects_of(request)
    if topic not in topic_names(named, journal):
        return range(0)
    base = next(
        (
            data.base_offset
            for one in response.responses
            if _name(one, journal) == topic
            for data in one.partition_responses
            if data.index == partition and not data.error_code
        ),
        -1,
    )
    count = sum(
        _record_count(bytes(asked.records or b""))
        for one in request.topic_data
        if _name(one, journal) == topic
        for asked in one.partition_data
        if asked.index == partition and not isinstance(asked.records, list)
    )
    return range(base, base + count) if base >= 0 else range(0)


def _name(topic: object, journal: Journal) -> str | None:
    ref = topic_ref(topic)
    return ref.name or (journal.topic_name(ref.topic_id) if ref.topic_id is not None else None)


def _record_count(records: bytes) -> int:
    try:
        return sum(header.record_count for _, header in iterate_batches(records))
    except ProtocolError:
        return 0
