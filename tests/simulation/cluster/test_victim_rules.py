"""What comes of a request that met a rule is held against the rule."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.headers import frame_response
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from mockbroker_protocol.plan import encode
from simulation.cluster.victim_rules import (
    CHANGED,
    CUT,
    ENDS,
    NOTHING,
    PARTLY,
    REFUSED,
    SAME,
    SHIFTED,
    THROTTLED,
    Form,
    Meeting,
    Rule,
)

pytestmark = pytest.mark.sim


def answer(*errors: int, throttle_ms: int = 0, correlation_id: int = 7) -> bytes:
    topics = [
        ListOffsetsTopicResponse("x", [ListOffsetsPartitionResponse(0, error)]) for error in errors
    ]
    body = encode(ListOffsetsResponse(throttle_ms, topics), 5)
    return b"".join(frame_response(ApiKey.LIST_OFFSETS, 5, correlation_id, body))


BEFORE = answer(3, 3)


def no_rule(_: Random) -> Rule:
    return {}


def wrong(
    outcome: int,
    data: bytes,
    rule: Rule | None = None,
    *,
    closed: bool = False,
    passed_ms: float = 0.0,
    ends: bool = False,
) -> str | None:
    form = Form(no_rule, outcome, late_ms=10.0 if passed_ms else 0.0, ends=ends)
    meeting = Meeting(form, rule or {}, 5, BEFORE, 0.0, 1)
    return meeting.wrong(data, closed=closed, passed_ms=passed_ms, hits=1)


def test_what_comes_as_it_must_is_right() -> None:
    error: Rule = {"error": "UNKNOWN_SERVER_ERROR"}
    other = BEFORE[:9] + bytes((BEFORE[9] ^ 1,)) + BEFORE[10:]
    assert wrong(SAME, BEFORE) is None
    assert wrong(SAME, BEFORE, closed=True, ends=True) is None
    assert wrong(NOTHING, b"") is None
    assert wrong(ENDS, b"", closed=True) is None
    assert wrong(CUT, BEFORE[:5], {"truncate_at": 5}, closed=True) is None
    assert wrong(CHANGED, other, {"corrupt_at": 9}) is None
    assert wrong(SHIFTED, answer(3, 3, correlation_id=9), {"correlation_shift": 2}) is None
    assert wrong(THROTTLED, answer(3, throttle_ms=5), {"throttle_ms": 5}) is None
    assert wrong(REFUSED, answer(-1, -1), error) is None
    assert wrong(PARTLY, answer(3, -1), error) is None


def test_what_comes_otherwise_is_told() -> None:
    error: Rule = {"error": -1}
    assert wrong(SAME, answer(3)) == "another answer came"
    assert wrong(SAME, BEFORE, closed=True) == "the connection is closed"
    assert wrong(SAME, BEFORE, passed_ms=5.0) == "it came after 5.0 ms"
    assert wrong(NOTHING, b"x") == "1 bytes came"
    assert wrong(NOTHING, b"", closed=True) == "the connection is closed"
    assert wrong(ENDS, b"") == "the connection is open"
    assert wrong(CUT, BEFORE, {"truncate_at": 5}, closed=True) == "another part came"
    assert wrong(CHANGED, BEFORE, {"corrupt_at": 9}) == "bytes [] are others"
    assert wrong(SHIFTED, BEFORE, {"correlation_shift": 2}) == "it is the answer to 7"
    assert wrong(THROTTLED, BEFORE, {"throttle_ms": 5}) == "it tells to wait 0 ms"
    assert wrong(REFUSED, answer(-1, 3), error) == "it tells of [-1, 3]"
    assert wrong(PARTLY, answer(-1, -1), error) == "it tells of [-1, -1]"
    assert Meeting(Form(no_rule, SAME), {}, 5, BEFORE, 0.0, 1).wrong(
        BEFORE, closed=False, passed_ms=0.0, hits=2
    ) == "2 hits"  # fmt: skip


def test_where_nothing_comes_nobody_waits_long() -> None:
    assert Form(no_rule, NOTHING).waits_ms < Form(no_rule, SAME).waits_ms
