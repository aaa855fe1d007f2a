"""kio as a second opinion: what it reads from our bytes, and what it writes from that again.

kio 0.6 knows Kafka 4.1; `kio_class` is None where it knows no such message or version. It types
more than the wire says (error codes, durations, times) and refuses unknown tags, so `make_kio_safe`
moves values that it would refuse, and `disagreements` compares after undoing its conversions.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import math
import re
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from mockbroker_protocol.plan_decode import default_of
from mockbroker_protocol.schema import ZERO_UUID, is_declared
from mockbroker_protocol.schema_fields import fields_of

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MILLISECOND = dt.timedelta(milliseconds=1)
ERROR_CODES = [int(code) for code in KioErrorCode]
# Up to the year 9999, as far as datetime goes; a timedelta goes further.
MAX_TIMESTAMP = 250_000_000_000_000
MAX_DURATION = 10_000_000_000_000

# Fields that Kafka renamed after 4.1: class, old name, name now.
RENAMED = {
    ("TxnOffsetCommitRequest", "generation_id"): "generation_id_or_member_epoch",
    ("StreamsGroupHeartbeatResponse", "acceptable_recovery_lag"): "acceptable_recovery_lag_legacy",
}


def kio_class(cls: type, version: int) -> Any:
    """Our message class in kio, or None where kio lacks it."""
    kind = EntityType.data
    name = cls.__name__
    for suffix, entity_type in (("Request", EntityType.request), ("Response", EntityType.response)):
        if name.endswith(suffix):
            kind, name = entity_type, name.removesuffix(suffix)
    versions = schema_name_map.get(_snake(name), {})
    path = versions.get(version, {}).get(kind)  # type: ignore[call-overload]
    return None if path is None else resolve_name(path)


def read(kio: Any, body: bytes) -> tuple[Any, int]:
    """kio's reading of a body, and how many bytes it took."""
    value, size = entity_reader(kio)(body, 0)
    return value, size


def write(kio: Any, value: Any) -> bytes:
    """kio's writing of a message."""
    out = io.BytesIO()
    entity_writer(kio)(out, value)
    return out.getvalue()


def make_kio_safe(message: Any, kio: Any) -> None:
    """Change what kio would refuse, or would write otherwise, in place; drops unknown tags."""
    message.unknown_tags = None
    for field, theirs in _field_pairs(type(message), kio):
        value = getattr(message, field.name)
        kafka_type = theirs.metadata.get("kafka_type", "")
        if kafka_type in _SAFE:
            safe = _SAFE[kafka_type]
            plain = isinstance(value, list)
            setattr(message, field.name, [safe(each) for each in value] if plain else safe(value))
        elif isinstance(value, list) and value and is_declared(type(value[0])):
            for each in value:
                make_kio_safe(each, _kio_struct(theirs, kio))
        elif is_declared(type(value)):
            make_kio_safe(value, _kio_struct(theirs, kio))
            # We write a tagged struct that is there; kio leaves out one that is all defaults.
            if field.tag is not None and not field.is_nullable(0) and value == type(value)():
                setattr(message, field.name, None)


def disagreements(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:
    """Where two readings of the same bytes differ."""
    if is_declared(type(ours)):
        for field, their_field in _field_pairs(type(ours), type(theirs)):
            path = f"{where}.{field.name}"
            yield from disagreements(
                getattr(ours, field.name), getattr(theirs, their_field.name), path
            )
    elif isinstance(ours, list) and isinstance(theirs, tuple):
        if len(ours) != len(theirs):
            yield f"{where}: {len(ours)} elements, kio {len(theirs)}"
        for index, (each, other) in enumerate(zip(ours, theirs, strict=False)):
            yield from disagreements(each, other, f"{where}[{index}]")
    elif ours is None and dataclasses.is_dataclass(theirs) and not isinstance(theirs, type):
        if theirs != dataclasses.replace(theirs, **_defaults(theirs)):
            yield f"{where}: absent, kio {theirs}"
    elif _plain(ours) != _plain(theirs):
        yield f"{where}: {ours!r}, kio {theirs!r}"


def default_disagreements(cls: type, kio: Any) -> Iterator[str]:
    """Fields of a message, and of the structs in it, whose default kio has otherwise."""
    for field, theirs in _field_pairs(cls, kio):
        default = theirs.default
        # An absent struct is None here and an instance of defaults there; a time of -1 is None.
        stands_for_none = dataclasses.is_dataclass(default) or default is None
        if default is not dataclasses.MISSING and not stands_for_none:
            ours = default_of(field)
            if _plain(ours) != (list(default) if default == () else _plain(default)):
                yield f"{cls.__name__}.{field.name}: {ours!r}, kio {default!r}"
        element = field.type
        while element.kind == "array":
            element = element.element
        if element.kind == "struct":
            yield from default_disagreements(element.cls, _kio_struct(theirs, kio))


def _defaults(theirs: Any) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(theirs)}


def _plain(value: Any) -> Any:
    if isinstance(value, dt.timedelta):
        return round(value / MILLISECOND)
    if isinstance(value, dt.datetime):
        return round((value - EPOCH) / MILLISECOND)
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, memoryview):
        return bytes(value)
    if value == ZERO_UUID:
        return None
    return value


def _field_pairs(ours: type, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """The fields that both have, by name: kio drops units and capitals' boundaries."""
    named = {_key(field.name): field for field in fields_of(ours)}
    for field in dataclasses.fields(theirs):
        name = RENAMED.get((ours.__name__, field.name), field.name)
        yield named[_key(name)], field


def _key(name: str) -> str:
    return name.removesuffix("_ms").replace("_", "")


def _kio_struct(field: Any, owner: Any) -> Any:
    """The struct class inside an annotation such as `tuple[FetchTopic, ...] | None`."""
    hint = field.type if isinstance(field.type, str) else str(field.type)
    names = re.findall(r"\w+", hint)
    module = resolve_name(owner.__module__)
    return next(
        candidate
        for name in names
        if dataclasses.is_dataclass(candidate := getattr(module, name, None))
    )


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _error_code(value: int) -> int:
    return ERROR_CODES[value % len(ERROR_CODES)]


def _timestamp(value: int) -> int:
    return value % MAX_TIMESTAMP // 1000 * 1000


def _duration(value: int) -> int:
    return value % MAX_DURATION


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


_SAFE: dict[str, Any] = {
    "error_code": _error_code,
    "datetime_i64": _timestamp,
    "timedelta_i64": _duration,
    "float64": _finite,
}
