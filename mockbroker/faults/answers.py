"""Errors put into an answer that the broker made, for fault rules.

`interceptor` calls these after a request was processed: for Fetch and Metadata, whose answers are
of no use without the rest, and for rules about what comes after. `error_responses` makes the answer
to a request that is not processed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, cast

from mockbroker_protocol.error_responses import fill_values
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.schema import is_declared, schema_of
from mockbroker_protocol.schema_fields import fields_of
from mockbroker_protocol.shapes import tells_errors
from mockbroker_protocol.subjects import is_topic_list, partition_index, partition_list, topic_ref

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from mockbroker_protocol.error_responses import Selects
    from mockbroker_protocol.subjects import TopicRef

TOLD_AT_ONCE: Final = 1000
"""Partitions of an answer in one slice."""


def overwrite(
    response: object, version: int, code: int, level: str | None, selects: Selects
) -> Generator[None, None, object]:
    """Put the error into an answer that the broker made, where its version has a place for it.

    In slices: an answer may have a hundred thousand partitions.
    """
    has_top = any(
        field.name == "error_code" and field.present(version) for field in fields_of(type(response))
    )
    nested = False
    if level != "top":
        nested = yield from _overwrite_topics(response, version, code, selects)
    if has_top and (level == "top" or (level is None and not nested)):
        response.error_code = code  # type: ignore[attr-defined]  # seen above
        if isinstance(response, FetchResponse):
            response.responses = []
            response.session_id = 0
    elif not nested:
        _overwrite_all(response, version, code)
    return response


def _overwrite_topics(
    message: object, version: int, code: int, selects: Selects
) -> Generator[None, None, bool]:
    done = False
    looked_at = 0
    for name in schema_of(type(message)).field_names:
        value: object = getattr(message, name)
        if not isinstance(value, list):
            continue
        for item in value:
            looked_at += 1
            if not looked_at % TOLD_AT_ONCE:
                yield
            if not is_declared(type(item)):
                continue
            if is_topic_list(name) and tells_errors(cast("type", type(item))):
                done = (yield from _overwrite_topic(item, version, code, selects)) or done
            elif not is_topic_list(name):
                done = (yield from _overwrite_topics(item, version, code, selects)) or done
    return done


def _overwrite_topic(
    topic: object, version: int, code: int, selects: Selects
) -> Generator[None, None, bool]:
    ref = topic_ref(topic)
    field = partition_list(topic)
    if field is None or hasattr(topic, "error_code"):
        if selects(ref, None):
            _overwrite_one(topic, version, code)
            return True
        return False
    done = False
    for looked_at, partition in enumerate(getattr(topic, field), 1):
        if is_declared(type(partition)) and selects(ref, partition_index(partition)):
            _overwrite_one(partition, version, code)
            done = True
        if not looked_at % TOLD_AT_ONCE:
            yield
    return done


def _overwrite_one(target: object, version: int, code: int) -> None:
    for field in _errors(cast("type", type(target)), version):
        setattr(target, field, code)
    fill_values(target, version)
    if isinstance(target, FetchResponsePartition):
        target.records = b""
        target.aborted_transactions = None


@cache
def _errors(cls: type, version: int) -> tuple[str, ...]:
    """Its fields that have an error."""
    return tuple(
        field.name
        for field in fields_of(cls)
        if field.name.endswith("error_code") and field.present(version)
    )


def _overwrite_all(message: object, version: int, code: int) -> None:
    """Every error field of an answer that has them in lists which are not about topics."""
    for field in fields_of(type(message)):
        value: object = getattr(message, field.name)
        if field.name.endswith("error_code") and field.present(version):
            setattr(message, field.name, code)
        elif isinstance(value, list):
            for item in value:
                if is_declared(type(item)):
                    _overwrite_all(item, version, code)


def add_missing(
    response: FetchResponse, mentioned: Iterable[TopicRef], code: int, selects: Selects, by_id: bool
) -> Generator[None, None, None]:
    """Tell the error of partitions that an incremental fetch has no news of, in slices."""
    told = {
        (topic.topic_id if by_id else topic.topic, data.partition_index)
        for topic in response.responses
        for data in topic.partitions
    }
    if len(told) > TOLD_AT_ONCE:
        yield
    for ref in mentioned:
        key = ref.topic_id if by_id else ref.name
        if key is None:
            continue
        missing: list[FetchResponsePartition] = []
        for looked_at, index in enumerate(ref.partitions or (), 1):
            if (key, index) not in told and selects(ref, index):
                told.add((key, index))
                missing.append(FetchResponsePartition(index, code, -1, -1, -1, None, -1, b""))
            if not looked_at % TOLD_AT_ONCE:
                yield
        if missing:
            topic_id = ref.topic_id if by_id and ref.topic_id is not None else bytes(16)
            response.responses.append(FetchResponseTopic(ref.name or "", topic_id, missing))
