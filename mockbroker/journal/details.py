"""The parts of a request's line that its messages tell: topics, fetch, produce, group, txn, body.

Called by `request.RequestServed.line` with both messages decoded. Lists are bounded by MAX_LISTED;
what is left out is counted. docs/journal.md explains the fields.
"""

from __future__ import annotations

from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, cast

from mockbroker.journal.bodies import MAX_LISTED, body_of
from mockbroker.journal.keys import keys_of
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker_protocol.messages.produce import ProduceRequest, ProduceResponse
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.records.batch import iterate_batches
from mockbroker_protocol.subjects import (
    errors_in,
    named_topic,
    partition_index,
    partition_list,
    subjects_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mockbroker_protocol.messages.fetch import FetchRequestPartition, FetchResponsePartition
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.subjects import TopicRef

    TopicName = Callable[[bytes], str | None]

_NO_HIGH_WATERMARK: Final = 2**63 - 1
"""What a fetch of v18 says of a partition whose high watermark it does not know (KIP-1166)."""

Line = dict[str, object]
_EXTENSION: Final = "mockbroker.coop.journal_details"
"""The module that reads the tagged fields that are no Kafka's."""
Key = tuple[str | None, bytes | None, int]


def details_of(request: object, response: object | None, topic_name: TopicName) -> Line:
    """The topics of a request, and the objects that apply to its API."""
    subjects = subjects_of(request)
    found: Line = {"topics": names_of(subjects.topics, topic_name)[:MAX_LISTED]}
    if isinstance(request, FetchRequest):
        answer = response if isinstance(response, FetchResponse) else None
        found["fetch"] = _fetch(request, answer, topic_name)
    elif isinstance(request, ProduceRequest):
        produced = response if isinstance(response, ProduceResponse) else None
        found["produce"] = _produce(request, produced, topic_name)
    if subjects.groups:
        found["group"] = _group(request, response, subjects.groups, topic_name)
    if subjects.transactional_ids:
        found["txn"] = _transaction(request, response, subjects.transactional_ids)
    if found.keys() == {"topics"}:
        found["body"] = body_of(request, response)
    return found


def names_of(topics: Sequence[TopicRef], topic_name: TopicName) -> list[str]:
    """Topics by name, or by id where no name is known; each once."""
    return list(dict.fromkeys(_known_name(t, topic_name) or _id_text(t) or "" for t in topics))


def _known_name(topic: TopicRef, topic_name: TopicName) -> str | None:
    if topic.name or topic.topic_id is None:
        return topic.name
    return topic_name(topic.topic_id)


def _id_text(topic: TopicRef) -> str | None:
    return None if topic.topic_id is None else uuid_text(topic.topic_id)


class Extension(Protocol):
    """What that module has; each part of a line is of these tagged fields."""

    def of_fetch(self, request: FetchRequest) -> Line: ...
    def of_partition(self, asked: Mapping[int, bytes], told: Mapping[int, bytes]) -> Line: ...
    def of_commit(self, asked: Mapping[int, bytes], told: Mapping[int, bytes]) -> Line: ...


# -- fetch ----------------------------------------------------------------------------------


def _fetch(request: FetchRequest, response: FetchResponse | None, topic_name: TopicName) -> Line:
    """All but what the session spared the wire, which only the request's record tells."""
    asked: dict[Key, tuple[TopicRef, FetchRequestPartition]] = {}
    extension = _extension() if request.unknown_tags else None
    for topic in request.topics:
        ref = named_topic(topic)
        for partition in topic.partitions:
            asked[ref.name, ref.topic_id, partition.partition] = ref, partition
    answered = list(_answered(response))
    listed = [
        _fetch_partition(ref, position, asked.get(key, (ref, None))[1], data, topic_name)
        for position, (key, ref, data) in enumerate(answered[:MAX_LISTED])
    ]
    told = {key for key, _, _ in answered}
    silent = [entry for key, entry in asked.items() if key not in told]
    for ref, partition in silent[: MAX_LISTED - len(listed)]:
        listed.append(_fetch_partition(ref, None, partition, None, topic_name))
    sizes = [_size(data.records) for _, _, data in answered]
    state = request.replica_state
    return {
        "class": None,
        "session_id": request.session_id,
        "session_epoch": request.session_epoch,
        "answered_session_id": None if response is None else response.session_id,
        "max_wait_ms": request.max_wait_ms,
        "min_bytes": request.min_bytes,
        "max_bytes": request.max_bytes,
        "isolation_level": request.isolation_level,
        "replica_id": request.replica_id if state is None else state.replica_id,
        "partitions_requested": len(asked),
        "partitions_forgotten": sum(len(gone.partitions) for gone in request.forgotten_topics_data),
        "partitions_answered": len(answered),
        "records_bytes": sum(sizes),
        "first_batch_overrun_bytes": _overrun(request, asked, answered),
        "high_watermarks_known": sum(
            partition.high_watermark != _NO_HIGH_WATERMARK for _, partition in asked.values()
        ),
        "high_watermarks_told": sum(data.high_watermark >= 0 for _, _, data in answered),
        "partitions": listed,
        "partitions_left_out": len(answered) + len(silent) - len(listed),
        **({} if extension is None else extension.of_fetch(request)),
    }


def _answered(
    response: FetchResponse | None,
) -> Iterator[tuple[Key, TopicRef, FetchResponsePartition]]:
    for topic in () if response is None else response.responses:
        ref = named_topic(topic)
        for data in topic.partitions:
            yield (ref.name, ref.topic_id, data.partition_index), ref, data


def _fetch_partition(
    topic: TopicRef,
    position: int | None,
    asked: FetchRequestPartition | None,
    data: FetchResponsePartition | None,
    topic_name: TopicName,
) -> Line:
    line: Line = {
        "topic": _known_name(topic, topic_name),
        "topic_id": _id_text(topic),
        "partition": asked.partition if asked is not None else -1,
        "position": position,
        "fetch_offset": None,
        "max_bytes": None,
        "high_watermark_known": None,
    }
    if asked is not None:
        line["fetch_offset"] = asked.fetch_offset
        line["max_bytes"] = asked.partition_max_bytes
        if asked.high_watermark != _NO_HIGH_WATERMARK:
            line["high_watermark_known"] = asked.high_watermark
    if data is not None:
        line["partition"] = data.partition_index
        line["bytes"] = _size(data.records)
        line["error"] = data.error_code
        line["high_watermark"] = data.high_watermark
        line["last_stable_offset"] = data.last_stable_offset
        line["log_start_offset"] = data.log_start_offset
    said = None if asked is None else asked.unknown_tags
    told = None if data is None else data.unknown_tags
    if said or told:
        line |= _extension().of_partition(said or {}, told or {})
    return line


def _size(records: Buffer | list[Buffer] | None) -> int:
    if records is None:
        return 0
    return sum(map(len, records)) if isinstance(records, list) else len(records)


def _overrun(
    request: FetchRequest,
    asked: dict[Key, tuple[TopicRef, FetchRequestPartition]],
    answered: list[tuple[Key, TopicRef, FetchResponsePartition]],
) -> int:
    """By how much the first batch given went beyond a limit: only the first one may (KIP-74)."""
    for key, _, data in answered:
        size = _size(data.records)
        if size:
            limit = request.max_bytes
            if key in asked:
                limit = min(limit, asked[key][1].partition_max_bytes)
            return max(0, size - limit)
    return 0


# -- produce --------------------------------------------------------------------------------


def _produce(
    request: ProduceRequest, response: ProduceResponse | None, topic_name: TopicName
) -> Line:
    outcomes = {
        (ref.name, ref.topic_id, data.index): data
        for topic in (() if response is None else response.responses)
        for ref in (named_topic(topic),)
        for data in topic.partition_responses
    }
    listed: list[Line] = []
    count = records = 0
    for topic in request.topic_data:
        ref = named_topic(topic)
        for asked in topic.partition_data:
            count += 1
            line = _batches(asked.records)
            records += int(str(line["records"]))
            if len(listed) < MAX_LISTED:
                outcome = outcomes.get((ref.name, ref.topic_id, asked.index))
                line["topic"] = _known_name(ref, topic_name)
                line["topic_id"] = _id_text(ref)
                line["partition"] = asked.index
                line["error"] = 0 if outcome is None else outcome.error_code
                line["offset"] = None if outcome is None else outcome.base_offset
                listed.append(line)
    return {
        "transactional_id": request.transactional_id,
        "acks": request.acks,
        "timeout_ms": request.timeout_ms,
        "records": records,
        "partitions_requested": count,
        "partitions": listed,
        "partitions_left_out": count - len(listed),
    }


def _batches(records: Buffer | list[Buffer] | None) -> Line:
    """What the batches of one partition say of themselves; message sets of old say little."""
    data = b"".join(records) if isinstance(records, list) else records or b""
    line: Line = {
        "bytes": len(data),
        "records": 0,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "transactional": False,
        "crc": None,
    }
    count = 0
    try:
        for pos, header in iterate_batches(data):
            if not count:
                line["producer_id"] = header.producer_id
                line["producer_epoch"] = header.producer_epoch
                line["base_sequence"] = header.base_sequence
                line["transactional"] = header.is_transactional
                line["crc"] = header.crc
                line |= keys_of(data, pos, header)
            count += header.record_count
    except ProtocolError:
        pass
    line["records"] = count
    return line


# -- groups and transactions ----------------------------------------------------------------


def _group(
    request: object, response: object | None, groups: list[str], topic_name: TopicName
) -> Line:
    members = _first_list(response, "members") or _first_list(request, "members")
    line: Line = {
        "group": groups[0],
        "member": _told(request, "member_id")
        or _told(response, "member_id")
        or (_told(members[0], "member_id") if members else None),
        "instance": _told(request, "group_instance_id"),
        "generation": _generation(request),
        "answered_generation": _first_told(response, "generation_id", "member_epoch"),
        "leader": _told(response, "leader"),
        "members": len(members),
        "protocol": _first_told(response, "protocol_name"),
        "error": _first_error(response),
    }
    if getattr(request, "API_KEY", None) in _COMMITS:
        line["offsets"] = _offsets(request, response, topic_name)
    return line


def _generation(request: object) -> object | None:
    """A generation, or the epoch of a member; of a heartbeat one below 0 says that it leaves."""
    if getattr(request, "API_KEY", None) == ApiKey.CONSUMER_GROUP_HEARTBEAT:
        return _told(request, "member_epoch")
    return _first_told(request, "generation_id", "generation_id_or_member_epoch")


_COMMITS: Final = frozenset({ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT})


def _offsets(request: object, response: object | None, topic_name: TopicName) -> list[Line]:
    answers = {
        (ref.name, ref.topic_id, partition_index(partition)): partition
        for ref, partition in _partitions(response)
    }
    listed: list[Line] = []
    for ref, partition in islice(_partitions(request), MAX_LISTED):
        index = partition_index(partition)
        answer = answers.get((ref.name, ref.topic_id, index))
        line: Line = {
            "topic": _known_name(ref, topic_name),
            "partition": index,
            "offset": getattr(partition, "committed_offset", None),
            "error": None if answer is None else getattr(answer, "error_code", 0),
        }
        said = getattr(partition, "unknown_tags", None)
        told = getattr(answer, "unknown_tags", None)
        if said or told:
            line |= _extension().of_commit(said or {}, told or {})
        listed.append(line)
    return listed


def _extension() -> Extension:
    return cast("Extension", import_module(_EXTENSION))


def _partitions(message: object | None) -> Iterator[tuple[TopicRef, object]]:
    for topic in _first_list(message, "topics"):
        field = partition_list(topic)
        for partition in () if field is None else getattr(topic, field):
            yield named_topic(topic), partition


def _transaction(request: object, response: object | None, ids: list[str]) -> Line:
    part = request
    transactions = _first_list(request, "transactions")
    if transactions:
        part = transactions[0]  # AddPartitionsToTxn v4 and later (KIP-890)
    committed = getattr(request, "committed", None)
    outcome = None if committed is None else "commit" if committed else "abort"
    return {
        "transactional_id": ids[0],
        "producer_id": _first_told(part, "producer_id", "v3_and_below_producer_id"),
        "producer_epoch": _first_told(part, "producer_epoch", "v3_and_below_producer_epoch"),
        "answered_producer_id": _told(response, "producer_id"),
        "answered_producer_epoch": _told(response, "producer_epoch"),
        "outcome": outcome,
        "error": _first_error(response),
    }


def _told(message: object | None, field: str) -> object | None:
    value: object = getattr(message, field, None)
    return None if value == "" else value


def _first_told(message: object | None, *fields: str) -> object | None:
    """The first of these fields that the message has; -1 is no value."""
    for field in fields:
        value = _told(message, field)
        if value is not None and value != -1:
            return value
    return None


def _first_list(message: object | None, field: str) -> list[object]:
    value: object = getattr(message, field, None)
    return value if isinstance(value, list) else []


def _first_error(response: object | None) -> int:
    return next((code for code in errors_in(response) if code), 0)
