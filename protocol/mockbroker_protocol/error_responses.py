"""The error response of each API, in the shape that the API gives it.

Made from the request (Kafka: AbstractRequest.getErrorResponse): each topic, partition, member or
key that it names is answered with the error, or the answer as a whole. Called by fault rules, and
by the checks of an authorizer, which refuse some topics of a request only: `split_request` takes
them out, the rest is processed, and `merge_responses` puts both answers together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.schema import is_declared, schema_of
from mockbroker_protocol.schema_fields import fields_of
from mockbroker_protocol.shapes import tells_errors
from mockbroker_protocol.subjects import (
    TopicRef,
    errors_in,
    is_topic_list,
    partition_index,
    partition_list,
    topic_ref,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker_protocol.schema_fields import Field

    Selects = Callable[[TopicRef, int | None], bool]
    """Whether a topic (None) or one of its partitions is meant."""

_SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "responses": ("topic_data", "topics", "topic_names", "resources"),
    "partition_responses": ("partition_data",),
    "partitions": ("partitions", "partition_indexes"),
    "results": ("topics", "groups_names", "resources", "dirs.topics", "creations", "users"),
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
    "user": ("user", "name"),
}
"""What a field of an answer is called in the request."""

NO_VALUES: Final[dict[str, object]] = dict.fromkeys(
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


def error_response(request: object, version: int, code: int, level: str | None) -> object:
    """The answer to a request that is not processed."""
    cls: type[object] = response_class(cast("int", request.API_KEY))  # type: ignore[attr-defined]
    response = cls()
    top = any(f.name == "error_code" and f.present(version) for f in fields_of(cls))
    if top and level != "partition":
        _fill_values(response, version)
        response.error_code = code  # type: ignore[attr-defined]  # of the class, as seen
        return response
    _fill(response, request, version, code)
    return response


def has_error(response: object, code: int) -> bool:
    """Whether an answer has this error anywhere."""
    return code in errors_in(response)


def _fill(target: object, source: object, version: int, code: int) -> None:
    _fill_values(target, version)
    identified = False
    for field in fields_of(type(target)):
        if not field.present(version):
            continue
        if field.name.endswith("error_code"):
            setattr(target, field.name, code)
            continue
        inner = field.type.struct
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
        elif field.name not in NO_VALUES:
            _copy(field, target, source)


def _fill_values(target: object, version: int) -> None:
    for field in fields_of(type(target)):
        if field.name in NO_VALUES and field.present(version) and field.type.kind == "fixed":
            setattr(target, field.name, NO_VALUES[field.name])


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
    for field in fields_of(inner):
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


def split_request(request: object, selects: Selects) -> tuple[object, bool]:
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
            parts = [(item, *split_request(item, selects)) for item in value]
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
            (taken if selects(TopicRef(topic, None, None), None) else kept).append(topic)
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


def _shallow(message: object) -> object:
    copy: object = type(message)()
    for name in schema_of(type(message)).field_names:
        setattr(copy, name, getattr(message, name))
    return copy


def merge_responses(response: object, refused: object) -> object:
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
            merge_responses(same, item)
    return merged


def _same(one: object, other: object) -> bool:
    if not is_declared(type(one)) or type(one) is not type(other):
        return False
    if partition_list(one) is None and not hasattr(one, "transactional_id"):
        return False
    keys = ("name", "topic", "topic_id", "group_id", "transactional_id")
    return all(getattr(one, key, None) == getattr(other, key, None) for key in keys)
