"""The plans beside kio, an independent codec that is generated from Kafka's schemas."""

from __future__ import annotations

import importlib
import io
import re
from typing import Any

from hypothesis import assume, given, reject
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import OutOfBoundValue

from mockbroker_protocol.plan import encode
from mockbroker_protocol.schema import schema_of
from tests.support.messages import message_classes, strategy_for


def kio_class(cls: type, version: int) -> Any:
    """The same message in kio; None when it has no such API or version."""
    named = re.fullmatch(r"(.*)(Request|Response)", cls.__name__)
    if named is None:
        return None
    folder = re.sub(r"(?<!^)(?=[A-Z])", "_", named[1]).lower()
    name = f"kio.schema.{folder}.v{version}.{named[2].lower()}"
    try:
        return getattr(importlib.import_module(name), cls.__name__, None)
    except ModuleNotFoundError:
        return None


SHARED = [
    (cls, version)
    for cls in message_classes()
    for version in range(schema_of(cls).min_version, schema_of(cls).max_version + 1)
    if re.search("Request$|Response$", cls.__name__)
]


@given(st.data(), st.sampled_from(SHARED))
def test_kio_reads_what_we_write_and_writes_the_same(
    data: st.DataObject, message: tuple[type, int]
) -> None:
    cls, version = message
    theirs = kio_class(cls, version)
    assume(theirs is not None)
    raw = b"".join(encode(data.draw(strategy_for(cls, version, unknown_tags=False)), version))
    try:
        received, size = entity_reader(theirs)(raw, 0)
    except (ValueError, OutOfBoundValue):
        reject()  # kio refuses values: unknown error codes, times out of range
    assert size == len(raw)
    written = io.BytesIO()
    entity_writer(theirs)(written, received)
    assert written.getvalue() == raw


def test_most_versions_are_known_to_kio() -> None:
    missing = [(cls.__name__, v) for cls, v in SHARED if kio_class(cls, v) is None]
    assert len(missing) < len(SHARED) / 10
