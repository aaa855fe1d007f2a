"""A rule that could never match is refused when it is made, by the field that prevents it."""

from __future__ import annotations

import pytest

from mockbroker.faults import Fault, FaultError
from mockbroker.faults.checking import check

SERVED = {0: (3, 13), 1: (4, 18), 3: (0, 13), 10: (0, 6), 12: (0, 4), 18: (0, 5), 22: (0, 6)}
BROKERS = {0: None, 1: None}


def refused(**fields: object) -> str:
    with pytest.raises(FaultError) as caught:
        check(Fault.from_dict(fields), SERVED, BROKERS)
    return caught.value.field


def test_what_can_match_passes() -> None:
    for fields in (
        {"drop": True},
        {"topic": "orders", "drop": True},
        {"api": "Fetch", "versions": "1-4", "drop": True},
        {"api": "Fetch", "error": 70, "level": "top"},
        {"api": "FindCoordinator", "group": "g", "error": 15},
        {"api": "InitProducerId", "transactional_id": "t", "error": "PRODUCER_FENCED"},
        {"broker": 1, "refuse": True},
        {"error": "UNKNOWN_SERVER_ERROR"},
    ):
        check(Fault.from_dict(fields), SERVED, BROKERS)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"api": "JoinGroup", "drop": True}, "api"),
        ({"api": "Fetch", "versions": "1-3", "drop": True}, "versions"),
        ({"versions": "1-3", "drop": True}, "versions"),
        ({"broker": 2, "drop": True}, "broker"),
        ({"broker": 2, "refuse": True}, "broker"),
        ({"api": "Heartbeat", "topic": "orders", "drop": True}, "topic"),
        ({"api": ["Fetch", "Heartbeat"], "topic": "orders", "drop": True}, "topic"),
        ({"api": "Metadata", "partition": 0, "drop": True}, "partition"),
        ({"api": "Fetch", "group": "g", "drop": True}, "group"),
        ({"api": "Fetch", "transactional_id": "t", "drop": True}, "transactional_id"),
        ({"api": "Heartbeat", "bad_crc": True}, "bad_crc"),
        ({"bad_crc": True}, "bad_crc"),
        ({"api": "Produce", "evict_session": True}, "evict_session"),
        ({"api": "Fetch", "versions": "4-6", "evict_session": True}, "versions"),
        ({"api": "Produce", "error": 6, "level": "top"}, "level"),
        ({"api": "Heartbeat", "error": 16, "level": "partition"}, "level"),
        ({"api": "Fetch", "error": "NOT_ENOUGH_REPLICAS"}, "error"),
        ({"api": "Produce", "error": "FETCH_SESSION_ID_NOT_FOUND"}, "error"),
        ({"api": "ApiVersions", "versions": 0, "throttle_ms": 5}, "throttle_ms"),
    ],
)
def test_what_cannot_match_is_refused(fields: dict[str, object], field: str) -> None:
    assert refused(**fields) == field
