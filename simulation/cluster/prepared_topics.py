"""What a test wants a broker to hold before its first client: topics and records, as tables.

Each form in which a record may be written has the record that it is. Tables that make no sense are
refused, by the key that is wrong.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.state.preparation import Preparation, PreparationError
from mockbroker.state.seeds import RowFields, SeedError, record_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    Headers = tuple[tuple[str, bytes | None], ...]

NOON_MS: Final = 1_700_000_000_000
TABLE: Final = {"id": 7, "name": "ä"}
TEXT: Final = json.dumps(TABLE, ensure_ascii=False).encode()


class Form(NamedTuple):
    """How a record is written, and what it is. `timestamp`, `partition` None: as it comes."""

    written: object
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None
    partition: int | None = None


FORMS: Final[Sequence[Form]] = (
    Form("one", None, b"one"),
    Form(5, None, b"5"),
    Form({"key": "7", "value": "two"}, b"7", b"two"),
    Form({"key": TABLE, "value": TABLE}, TEXT, TEXT),
    Form({"key": "7", "value": None}, b"7", None),
    Form({"key": b"7", "value": b"\xff"}, b"7", b"\xff"),
    Form({"value": "h", "headers": {"a": "1", "b": None}}, None, b"h", (("a", b"1"), ("b", None))),
    Form({"value": "h", "headers": '{"a": 1}'}, None, b"h", (("a", b"1"),)),
    Form({"value": "h", "headers": [{"name": "a", "value": "x"}, {"name": "b"}]},
         None, b"h", (("a", b"x"), ("b", None))),
    Form({"value": "t", "timestamp": NOON_MS}, None, b"t", (), NOON_MS),
    Form({"value": "t", "timestamp": str(NOON_MS)}, None, b"t", (), NOON_MS),
    Form({"value": "t", "timestamp": "2023-11-14T22:13:20"}, None, b"t", (), NOON_MS),
    Form({"value": "t", "timestamp": "2023-11-14T23:13:20+01:00"}, None, b"t", (), NOON_MS),
    Form({"value": "t", "timestamp": ""}, None, b"t"),
    Form({"value": "p", "partition": 1}, None, b"p", (), None, 1),
    Form({"value": "p", "partition": "0"}, None, b"p", (), None, 0),
    Form({"value": "p", "partition": ""}, None, b"p"),
)  # fmt: skip

WRONG_TOPICS: Final[Sequence[tuple[Mapping[str, object], str]]] = (
    ({"partition": 1}, "t.partition"),
    ({"config": 7}, "t.config"),
    ({"partitions": 0}, "t.partitions"),
    ({"partitions": True}, "t.partitions"),
    ({"replication-factor": "3"}, "t.replication-factor"),
    ({"records": "one"}, "t.records"),
    ({"records": [{"topic": "other"}]}, "t.records[0].topic"),
    ({"seed": 7}, "t.seed"),
    ({"seed": {"format": "csv"}}, "t.seed"),
    ({"seed": {"file": "x.csv", "kind": "y"}}, "t.seed.kind"),
    ({"seed": {"file": "x.csv", "key": 7}}, "t.seed.key"),
    ({"seed": {"file": "x.csv", "envelope": "yes"}}, "t.seed.envelope"),
    ({"seed": "rows.of-no-format"}, "t.seed"),
)
WRONG_RECORDS: Final[Sequence[tuple[object, str]]] = (
    ("one", "r"),
    ({"topic": "t", "values": 1}, "r.values"),
    ({"value": 1}, "r.topic"),
    ({"topic": "", "value": 1}, "r.topic"),
    ({"topic": "t", "headers": 7}, "r"),
    ({"topic": "t", "headers": "{"}, "r"),
    ({"topic": "t", "headers": [7]}, "r"),
    ({"topic": "t", "timestamp": "noon"}, "r"),
    ({"topic": "t", "timestamp": True}, "r"),
    ({"topic": "t", "partition": "one"}, "r"),
    ({"topic": "t", "partition": True}, "r"),
)
ROWS: Final[Sequence[tuple[object, RowFields, bytes | None, bytes | None]]] = (
    (TABLE, RowFields(), None, TEXT),
    (TABLE, RowFields(key="id"), b"7", TEXT),
    (TABLE, RowFields(key="id", value="name"), b"7", "ä".encode()),
    ({"key": "k", "value": [1]}, RowFields(envelope=True), b"k", b"[1]"),
    ({"value": {1, 2}}, RowFields(value="value"), None, b'"{1, 2}"'),
)
"""Rows of a file, which fields are what, and the key and the value that come of it."""
WRONG_ROWS: Final[Sequence[tuple[object, RowFields]]] = (
    ("one", RowFields(key="id")),
    (TABLE, RowFields(key="number")),
)


def prepared(
    name: str, partitions: int, forms: Sequence[Form], configs: Mapping[str, object]
) -> Preparation:
    """A topic with these records: half of them in its table, the others beside it."""
    preparation = Preparation()
    half = len(forms) // 2
    records = [form.written for form in forms[:half]]
    table = {"partitions": partitions, "config": configs, "records": records}
    preparation.add_topic(f"topics.{name}", name, table, "")
    for at, form in enumerate(forms[half:]):
        fields = form.written if isinstance(form.written, dict) else {"value": form.written}
        preparation.add_record(f"records[{at}]", {"topic": name, **fields})
    return preparation


def wrong_tables(rng: Random, count: int) -> Iterator[str]:
    """Tables that make no sense and are taken, or refused by another key."""
    for table, key in rng.sample(WRONG_TOPICS, count):
        try:
            Preparation().add_topic("t", "t", table, "")
        except PreparationError as error:
            if error.key != key:
                yield f"a topic of {table} is refused by {error}"
        else:
            yield f"a topic of {table} is taken"
    for record, key in rng.sample(WRONG_RECORDS, count):
        try:
            Preparation().add_record("r", record)
        except PreparationError as error:
            if error.key != key:
                yield f"a record of {record} is refused by {error}"
        else:
            yield f"a record of {record} is taken"


def wrong_rows() -> Iterator[str]:
    """Rows of files that are read as other records than they are."""
    for row, fields, key, value in ROWS:
        found = record_of(row, fields, "row 1")
        if (found.key, found.value) != (key, value):
            yield f"{row} is read as {found}"
    for wrong, fields in WRONG_ROWS:
        try:
            found = record_of(wrong, fields, "row 1")
        except SeedError:
            continue
        yield f"{wrong} is read as {found}"
