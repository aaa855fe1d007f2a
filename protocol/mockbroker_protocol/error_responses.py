"""The error response of each API, in the shape that the API gives it.

Made from the request (Kafka: AbstractRequest.getErrorResponse): each topic, partition, member or
key that it names is answered with the error, or the answer as a whole. Called by fault rules, and
by the checks of an authorizer, which refuse some topics of a request only: `split_request` takes
them out, the rest is processed, and `merge_responses` puts both answers together.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast

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
    from collections.abc import Callable, Hashable, Iterator

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
        fill_values(response, version)
        response.error_code = code  # type: ignore[attr-defined]  # of the class, as seen
        return response
    _fill(response, request, version, code)
    return response


def has_error(response: object, code: int) -> bool:
    """Whether an answer has this error anywhere."""
    return code in errors_in(response)


class _Plan(NamedTuple):
    """What is told of one struct of a request in one of the answer, worked out once for both."""

    values: tuple[tuple[str, object], ...]
    """What stands beside the error."""
    errors: tuple[str, ...]
    told: tuple[tuple[str, type], ...]
    """Lists whose elements have errors."""
    repeated: tuple[tuple[str, type], ...]
    """What an error is about, such as the entity of a quota, is told as it was asked."""
    copied: tuple[_Copied, ...]
    itself: str | None
    """The field for what is no struct: a name, an index."""


class _Copied(NamedTuple):
    """A field, what it takes, and where that may stand in the request."""

    name: str
    takes: type
    sources: tuple[str, ...]


@cache
def _plan(target: type, source: type, version: int) -> _Plan:
    fields = [field for field in fields_of(target) if field.present(version)]
    rest = [field for field in fields if not field.name.endswith("error_code")]
    lists = [
        (field.name, field.type.struct)
        for field in rest
        if field.type.struct is not None and field.type.kind == "array"
    ]
    plain = [field for field in rest if field.type.struct is None]
    is_struct = is_declared(source)
    return _Plan(
        values=_values(target, version),
        errors=tuple(field.name for field in fields if field.name.endswith("error_code")),
        told=tuple((name, inner) for name, inner in lists if tells_errors(inner)),
        repeated=tuple((name, inner) for name, inner in lists if not tells_errors(inner)),
        copied=tuple(
            copied
            for field in plain
            if is_struct and field.name not in NO_VALUES
            for copied in _copied(field, source)
        ),
        itself=next((f.name for f in plain if not is_struct and _takes(f) is source), None),
    )


@cache
def _copies(target: type, source: type) -> tuple[_Copied, ...]:
    """All that the fields of a struct can take from another."""
    return tuple(copied for field in fields_of(target) for copied in _copied(field, source))


@cache
def _values(target: type, version: int) -> tuple[tuple[str, object], ...]:
    return tuple(
        (field.name, NO_VALUES[field.name])
        for field in fields_of(target)
        if field.name in NO_VALUES and field.present(version) and field.type.kind == "fixed"
    )


def _copied(field: Field, source: type) -> Iterator[_Copied]:
    takes = _takes(field)
    there = schema_of(source).field_names
    names = _NAMES.get(field.name, (field.name,))
    sources = tuple(name for name in names if name in there)
    if takes is not None and sources:
        yield _Copied(field.name, takes, sources)


def _takes(field: Field) -> type | None:
    """Of which type a value of the request may stand in a field of the answer."""
    if field.type.kind == "string":
        return str
    if field.type.kind == "fixed" and field.name != "throttle_time_ms":
        return bytes if field.type.code == "16s" else int
    return None


def _fill(target: object, source: object, version: int, code: int) -> None:
    plan = _plan(cast("type", type(target)), cast("type", type(source)), version)
    for name, value in plan.values:
        setattr(target, name, value)
    for name in plan.errors:
        setattr(target, name, code)
    _copy(plan.copied, target, source)
    for name, inner in plan.told:
        items = []
        for of_item in _list_behind(name, source):
            item = inner()
            _fill(item, of_item, version, code)
            items.append(item)
        setattr(target, name, items)
    for name, inner in plan.repeated:
        setattr(target, name, [_shape(inner, one) for one in _same_list(name, source)])
    if plan.itself is not None:
        setattr(target, plan.itself, source)


def fill_values(target: object, version: int) -> None:
    """Put what stands beside an error into a struct."""
    for name, value in _values(cast("type", type(target)), version):
        setattr(target, name, value)


def _copy(copied: tuple[_Copied, ...], target: object, source: object) -> None:
    for name, takes, sources in copied:
        for one in sources:
            value: object = getattr(source, one)
            if isinstance(value, takes):
                setattr(target, name, value)
                break


def _same_list(name: str, source: object) -> list[object]:
    """A list of structs of the request, by the name that it has in the answer too."""
    value: object = getattr(source, name, None)
    if isinstance(value, list) and all(is_declared(type(one)) for one in value):
        return value
    return []


def _shape(inner: type, source: object) -> object:
    item = inner()
    _copy(_copies(inner, cast("type", type(source))), item, source)
    return item


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
        ours: list[object] = []
        others: list[object] = []
        for one in partitions:
            (ours if selects(ref, partition_index(one)) else others).append(one)
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
    known: dict[Hashable, object] = {}
    for item in mine:
        known.setdefault(_identity(item), item)
    for item in theirs:
        identity = _identity(item)
        same = None if identity is None else known.get(identity)
        if same is None:
            merged.append(item)
            known.setdefault(identity, item)
        else:
            merge_responses(same, item)
    return merged


_IDENTITY: Final = ("name", "topic", "topic_id", "group_id", "transactional_id")


def _identity(item: object) -> Hashable:
    """Equal for parts of two answers that are about the same; None: each is for itself."""
    if not is_declared(type(item)):
        return None
    if partition_list(item) is None and not hasattr(item, "transactional_id"):
        return None
    return type(item), *(getattr(item, key, None) for key in _IDENTITY)
