"""Conditions as text: what they may ask, what they refuse, and how much work they may make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.faults import expression
from mockbroker.faults.expression import MAX_STEPS, Expression, ExpressionError
from mockbroker.faults.request_view import RequestView
from mockbroker.journal import RequestServed
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.subjects import subjects_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def view(values: Sequence[bytes | None] = (b'{"id": 7, "tags": ["a"]}', None)) -> RequestView:
    records = [
        Record(at, 5, str(at).encode(), value, [("h", b"x")]) for at, value in enumerate(values)
    ]
    data = build_batch(records)
    partitions = [ProduceRequestPartition(2, data)]
    body = ProduceRequest(
        None, -1, 1000, [ProduceRequestTopic("orders", partition_data=partitions)]
    )
    asking = RequestServed(0, 9, 1, "billing-1", 1)
    asking.listener = "PLAINTEXT"
    return RequestView(asking, body, lambda: subjects_of(body), lambda _id: None)


@pytest.mark.parametrize(
    "source",
    [
        "api == 'Produce' and version >= 9 and client != 'x'",
        "glob(client, 'billing-*') and not glob(client, 'x*')",
        "'orders' in topics and len(topics) == 1 and groups == []",
        "body.acks == -1",
        "body.topic_data[0].partition_data[0].index == 2",
        "body.topic_data[9] is None",
        "any(record.key == '1' for record in records)",
        "all(r.topic == 'orders' and r.partition == 2 for r in records)",
        "any(json(r.value)['id'] == 7 for r in records if r.value is not None)",
        "'a' in json(records[0].value)['tags'] and json(records[1].value) is None",
        "json(records[0].value)['nothing']['deeper'] is None",
        "records[0].headers[0][0] == 'h' and records[0].headers[0][1] == 'x'",
        "records[0].key in ['0', '5'] and b'0' in records[0].key",
        "len([p for t in body.topic_data for p in t.partition_data]) == 1",
        "1 < version - 1 < 10 and version % 2 == 1 and version * 2 + 1 == 19",
        "(1 if version > 100 else 2) == 2 and broker == -1 and connection == 1",
        "listener == 'PLAINTEXT' and transactional_ids == []",
    ],
)
def test_what_a_condition_may_ask(source: str) -> None:
    assert Expression(source)(view())
    assert not Expression(f"not ({source})")(view())


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("clint == 'x'", "there is no 'clint'; allowed: client"),
        ("__import__('os')", "there is no function __import__; allowed: any, all"),
        ("body.acks.__class__", "int has no fields, so no '__class__'"),
        ("body.ack == 1", "ProduceRequest has no 'ack'; allowed: acks"),
        ("records[0].count == 1", "RequestRecord has no 'count'"),
        ("().__class__.__bases__", "list has no fields"),
        ("f'{body}'", "is not part of this language"),
        ("lambda: 1", "is not part of this language"),
        ("[x for x, y in topics]", "is not part of this language"),
        ("(x := 1)", "is not part of this language"),
        ("2 ** 9", "is not part of this language"),
        ("'a' * 9", "'a' is no number"),
        ("1 % 0", "by zero"),
        ("client < 5", "str and int have no order"),
        ("topics['x']", "'x' is no index"),
        ("any(5)", "int is no list"),
        ("glob(5, 'x')", "glob takes a text and a pattern"),
        ("len(topics, 1)", "len takes 1 value"),
        ("body ==", "cannot be read"),
        ("(" * 300 + ")" * 300, "cannot be read"),
        ("any(any(t for t in topics) for t in topics)", "'t' means two things"),
        ("1" + "+1" * 200, "parts"),
        ("'" + "a" * 1000 + "'", "longer than 1000 characters"),
        (str(1 << 70), "is not part of this language"),
    ],
)
def test_what_it_refuses(source: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(source)(view())
    assert problem in str(caught.value)


def test_its_work_is_bounded() -> None:
    many = view([b"x"] * 200)
    assert Expression("all(r.value == 'x' for r in records)")(many)
    with pytest.raises(ExpressionError, match=f"more than {MAX_STEPS} steps"):
        Expression("any(a.key == b.value for a in records for b in records)")(many)


def test_long_texts_cost_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression, "MAX_STEPS", 1_000)
    large = view([b"[" + b"1," * 40_000 + b"1]"])
    for source in ("json(records[0].value)[0] == 1", "'2' in records[0].value"):
        with pytest.raises(ExpressionError, match="steps"):
            Expression(source)(large)
    with pytest.raises(ExpressionError, match="steps"):
        Expression("glob(records[0].value, '*2*')")(large)


def test_it_shows_its_text() -> None:
    assert repr(Expression("version == 1")) == "Expression('version == 1')"
