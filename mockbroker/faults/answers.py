"""Answers that tell an error, in the shape that their API gives it.

`interceptor` calls these; nothing is known here of brokers. Two ways lead to an error:

    refusal()      made from the request, which is then not processed: each topic, partition, member
                   or key that it names is answered with the error, or the answer as a whole
    overwrite()    put into an answer that the broker made, for Fetch and Metadata, whose answers
                   are of no use without the rest, and for errors after processing

A rule about some topics only takes them out of the request (`take_out`), the rest is processed, and
`merge` puts both answers together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from mockbroker.faults.shapes import struct_of, tells_errors
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.schema import is_declared, schema_of
from mockbroker_protocol.subjects import (
    errors_in,
    is_topic_list,
    partition_index,
    partition_list,
    topic_ref,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker_protocol.schema_fields import Field
    from mockbroker_protocol.subjects import TopicRef

    Selects = Callable[[TopicRef, int | None], bool]
    """Whether a rule is about a topic (None) or one of its partitions."""

_SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "responses": ("topic_data", "topics", "topic_names", "resources"),
    "partition_responses": ("partition_data",),
    "partitions": ("partitions", "partition_indexes"),
    "results": ("topics", "groups_names", "resources", "dirs.topics", "creations"),
    "filter_results": ("filters",),
    "groups": ("group_ids",),
    "replica_election_results": ("topic_partitions",),
    "partition_result": ("partitions",),
    "coordinators": ("coordinator_keys",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "results_by_transaction": ("transactions",),
    "topic_results": ("topics",),
    "results_by_partition": ("partitions",),
    "transaction_states": ("transactional_ids",),
}
"""The list of a request behind a list of its answer, where it has another name.

`dirs.topics` is every topic of every one of `dirs`.
"""

_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "partition_index": ("partition_index", "partition", "index"),
    "partition": ("partition", "partition_index", "index"),
    "index": ("index", "partition_index", "partition"),
    "partition_id": ("partition_id", "partition", "partition_index"),
    "name": ("name", "topic", "topic_name"),
    "topic_name": ("topic_name", "topic", "name"),
    "topic": ("topic", "name"),
}
"""What a field of an answer is called in the request."""

_VALUES: Final[dict[str, object]] = dict.fromkeys(
    (
        "base_offset",
        "committed_offset",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "low_watermark",
        "leader_id",
        "node_id",
        "port",
        "offset",
        "timestamp",
        "end_offset",
        "leader_epoch",
        "producer_id",
        "generation_id",
    ),
    -1,
)
"""What stands beside an error where a value would be."""


def refusal(request: object, version: int, code: int, level: str | None) -> object:
    """The answer to a request that is not processed."""
    cls: type[object] = response_class(cast("int", request.API_KEY))  # type: ignore[attr-defined]
    response = cls()
    top = any(f.name == "error_code" and f.present(version) for f in schema_of(cls).fields)
    if top and level != "partition":
        _fill_values(response, version)
        response.error_code = code  # type: ignore[attr-defined]  # of the class, as seen
        return response
    _fill(response, request, version, code)
    return response


def tells(response: object, code: int) -> bool:
    """Whether an answer has this error anywhere."""
    return code in errors_in(response)


def _fill(target: object, source: object, version: int, code: int) -> None:
    _fill_values(target, version)
    identified = False
    for field in schema_of(type(target)).fields:
        if not field.present(version):
            continue
        if field.name.endswith("error_code"):
            setattr(target, field.name, code)
            continue
        inner = struct_of(field.type)
        if inner is not None:
            if field.type.kind == "array" and tells_errors(inner):
                sources = _list_behind(field.name, source)
                items: list[object] = [inner() for _ in sources]
                for item, of_item in zip(items, sources, strict=True):
                    _fill(item, of_item, version, code)
                setattr(target, field.name, items)
            elif field.type.kind == "array":
                # What an error is about, such as the entity of a quota, is told as it was asked.
                told = [_shape(inner, one) for one in _same_list(field.name, source)]
                setattr(target, field.name, told)
        elif not is_declared(type(source)):
            if not identified and _fits(field, source):
                setattr(target, field.name, source)
                identified = True
        elif field.name not in _VALUES:
            _copy(field, target, source)


def _fill_values(target: object, version: int) -> None:
    for field in schema_of(type(target)).fields:
        if field.name in _VALUES and field.present(version) and field.type.kind == "fixed":
            setattr(target, field.name, _VALUES[field.name])


def _copy(field: Field, target: object, source: object) -> None:
    for name in _NAMES.get(field.name, (field.name,)):
        value: object = getattr(source, name, None)
        if value is not None and _fits(field, value):
            setattr(target, field.name, value)
            return


def _same_list(name: str, source: object) -> list[object]:
    """A list of structs of the request, by the name that it has in the answer too."""
    value: object = getattr(source, name, None)
    if isinstance(value, list) and all(is_declared(type(one)) for one in value):
        return value
    return []


def _shape(inner: type[object], source: object) -> object:
    item = inner()
    for field in schema_of(inner).fields:
        _copy(field, item, source)
    return item


def _fits(field: Field, value: object) -> bool:
    """Whether a value of the request may stand in a field of the answer."""
    if field.type.kind == "string":
        return isinstance(value, str)
    if field.type.kind == "fixed":
        wanted = bytes if field.type.code == "16s" else int
        return isinstance(value, wanted) and field.name != "throttle_time_ms"
    return False


def _list_behind(name: str, source: object) -> list[object]:
    for candidate in (name, *_SOURCES.get(name, ())):
        first, _, inner = candidate.partition(".")
        value: object = getattr(source, first, None)
        if isinstance(value, list) and value:
            return [item for one in value for item in getattr(one, inner)] if inner else value
    return []


# -- some topics only -----------------------------------------------------------------------


def take_out(request: object, selects: Selects) -> tuple[object, bool]:
    """A copy of the request with only what is selected, and whether anything is left in it.

    The request itself keeps the rest.
    """
    copy = _shallow(request)
    left = False
    for name in schema_of(type(request)).field_names:
        value: object = getattr(request, name)
        if is_topic_list(name) and isinstance(value, list):
            taken, kept = _divide(value, selects)
            setattr(copy, name, taken)
            setattr(request, name, kept)
            left = left or bool(kept)
        elif isinstance(value, list) and any(is_declared(type(item)) for item in value):
            parts = [(item, *take_out(item, selects)) for item in value]
            setattr(copy, name, [part for _, part, _ in parts])
            rest = [item for item, _, more in parts if more]
            setattr(request, name, rest)
            left = left or bool(rest)
    return copy, left


def _divide(topics: list[object], selects: Selects) -> tuple[list[object], list[object]]:
    taken: list[object] = []
    kept: list[object] = []
    for topic in topics:
        if isinstance(topic, str):
            (taken if selects(_named(topic), None) else kept).append(topic)
            continue
        ref = topic_ref(topic)
        field = partition_list(topic)
        if field is None:
            (taken if selects(ref, None) else kept).append(topic)
            continue
        partitions: list[object] = getattr(topic, field)
        ours = [one for one in partitions if selects(ref, partition_index(one))]
        others = [one for one in partitions if not selects(ref, partition_index(one))]
        if ours:
            part = _shallow(topic)
            setattr(part, field, ours)
            taken.append(part)
        if others:
            setattr(topic, field, others)
            kept.append(topic)
    return taken, kept


def _named(name: str) -> TopicRef:
    from mockbroker_protocol.subjects import TopicRef

    return TopicRef(name, None, None)


def _shallow(message: object) -> object:
    copy: object = type(message)()
    for name in schema_of(type(message)).field_names:
        setattr(copy, name, getattr(message, name))
    return copy


def merge(response: object, refused: object) -> object:
    """Put what was refused into the answer to the rest; topics in both become one."""
    for name in schema_of(type(response)).field_names:
        mine: object = getattr(response, name)
        theirs: object = getattr(refused, name)
        if isinstance(mine, list) and isinstance(theirs, list):
            setattr(response, name, _merge_lists(mine, theirs))
    return response


def _merge_lists(mine: list[object], theirs: list[object]) -> list[object]:
    merged = list(mine)
    for item in theirs:
        same = next((one for one in merged if _same(one, item)), None)
        if same is None:
            merged.append(item)
        else:
            merge(same, item)
    return merged


def _same(one: object, other: object) -> bool:
    if not is_declared(type(one)) or type(one) is not type(other):
        return False
    if partition_list(one) is None and not hasattr(one, "transactional_id"):
        return False
    keys = ("name", "topic", "topic_id", "group_id", "transactional_id")
    return all(getattr(one, key, None) == getattr(other, key, None) for key in keys)


# -- after the fact -------------------------------------------------------------------------


def overwrite(response: object, code: int, level: str | None, selects: Selects) -> object:
    """Put the error into an answer that the broker made."""
    has_top = hasattr(response, "error_code")
    nested = _overwrite_topics(response, code, selects) if level != "top" else False
    if has_top and (level == "top" or (level is None and not nested)):
        response.error_code = code  # type: ignore[attr-defined]  # seen above
        if isinstance(response, FetchResponse):
            response.responses = []
            response.session_id = 0
    elif not nested:
        _overwrite_all(response, code)
    return response


def _overwrite_topics(message: object, code: int, selects: Selects) -> bool:
    done = False
    for name in schema_of(type(message)).field_names:
        value: object = getattr(message, name)
        if not isinstance(value, list):
            continue
        for item in value:
            if not is_declared(type(item)):
                continue
            if is_topic_list(name) and tells_errors(cast("type", type(item))):
                done = _overwrite_topic(item, code, selects) or done
            elif not is_topic_list(name):
                done = _overwrite_topics(item, code, selects) or done
    return done


def _overwrite_topic(topic: object, code: int, selects: Selects) -> bool:
    ref = topic_ref(topic)
    field = partition_list(topic)
    if field is None or hasattr(topic, "error_code"):
        if selects(ref, None):
            _overwrite_one(topic, code)
            return True
        return False
    done = False
    for partition in getattr(topic, field):
        if is_declared(type(partition)) and selects(ref, partition_index(partition)):
            _overwrite_one(partition, code)
            done = True
    return done


def _overwrite_one(target: object, code: int) -> None:
    for field in schema_of(type(target)).fields:
        if field.name.endswith("error_code"):
            setattr(target, field.name, code)
        elif field.name in _VALUES and field.type.kind == "fixed":
            setattr(target, field.name, _VALUES[field.name])
    if isinstance(target, FetchResponsePartition):
        target.records = b""
        target.aborted_transactions = None


def _overwrite_all(message: object, code: int) -> None:
    """Every error field of an answer that has them in lists which are not about topics."""
    for field in schema_of(type(message)).fields:
        value: object = getattr(message, field.name)
        if field.name.endswith("error_code"):
            setattr(message, field.name, code)
        elif isinstance(value, list):
            for item in value:
                if is_declared(type(item)):
                    _overwrite_all(item, code)


def add_missing(
    response: FetchResponse, mentioned: Iterable[TopicRef], code: int, selects: Selects, by_id: bool
) -> None:
    """Tell the error of partitions that an incremental fetch has no news of."""
    told = {
        (topic.topic_id if by_id else topic.topic, data.partition_index)
        for topic in response.responses
        for data in topic.partitions
    }
    for ref in mentioned:
        key = ref.topic_id if by_id else ref.name
        missing = [
            FetchResponsePartition(index, code, -1, -1, -1, None, -1, b"")
            for index in dict.fromkeys(ref.partitions or ())
            if key is not None and (key, index) not in told and selects(ref, index)
        ]
        if missing:
            told.update((key or "", data.partition_index) for data in missing)
            topic_id = ref.topic_id if by_id and ref.topic_id is not None else bytes(16)
            response.responses.append(FetchResponseTopic(ref.name or "", topic_id, missing))
