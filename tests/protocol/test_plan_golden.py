"""Every declared message against bytes and field values from Apache Kafka itself."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from mockbroker_protocol import plan
from mockbroker_protocol.messages import cooperation
from mockbroker_protocol.schema import is_declared
from mockbroker_protocol.schema_fields import fields_of
from tests.support.messages import message_classes

CLASSES = {cls.__name__: cls for cls in message_classes()}
LINES = [
    line.split(" ", 3)
    for line in (Path(__file__).parents[1] / "golden" / "messages.txt")
    .read_text("utf-8")
    .splitlines()
    if not line.startswith("#")
]

RECORDS = ("records", "unalignedRecords")


def test_every_message_has_a_golden_line() -> None:
    # But for the APIs that Kafka does not have.
    declared = {name for name, cls in CLASSES.items() if cls.__module__ != cooperation.__name__}
    assert {name for name, *_ in LINES} == declared


@pytest.mark.parametrize(
    ("name", "number", "body", "fields"), LINES, ids=[f"{line[0]}-{line[1]}" for line in LINES]
)
def test_bytes_mean_what_kafka_says(name: str, number: str, body: str, fields: str) -> None:
    version, raw = int(number), bytes.fromhex(body.strip("-"))
    message: object
    message, end = plan.decode(CLASSES[name], version, raw)
    assert end == len(raw)
    assert as_json(message, version) == lower_keys(json.loads(fields))
    assert b"".join(plan.encode(message, version)) == raw


def as_json(value: object, version: int) -> object:
    """As Kafka's JsonConverter has it, but for the capitals in the keys."""
    if is_declared(type(value)):
        default = type(value)()
        return {
            field.name.replace("_", ""): as_json(getattr(value, field.name), version)
            for field in fields_of(type(value))
            if field.present(version)
            and field.type.kind != "records"
            # A tagged field that holds its default is neither in the bytes nor in the JSON.
            and not (
                field.is_tagged(version)
                and as_json(getattr(value, field.name), version)
                == as_json(getattr(default, field.name), version)
            )
        }
    if isinstance(value, list):
        return [as_json(each, version) for each in value]
    if isinstance(value, bytes):
        # Uuids go without padding, in the alphabet that suits an URL.
        plain = base64.b64encode(value).decode()
        return base64.urlsafe_b64encode(value).decode().rstrip("=") if len(value) == 16 else plain
    return value


def lower_keys(value: object) -> object:
    """JSON with keys in small letters; records, which the converter shows empty, are left out."""
    if isinstance(value, dict):
        return {key.lower(): lower_keys(each) for key, each in value.items() if key not in RECORDS}
    return [lower_keys(each) for each in value] if isinstance(value, list) else value
