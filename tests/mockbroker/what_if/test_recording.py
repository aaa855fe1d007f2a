"""What of a journal's lines is kept to be run again."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.what_if.errors import WhatIfError
from mockbroker.what_if.recording import check_run, id_of, recording_of

ID = "7hRXy-wLQkGBh-in1Be46A"


def fetch(seq: int, arrived_ms: float, **changed: Any) -> dict[str, Any]:
    told = {"frame": "AAAA", "error": 0, "told": [[ID, 0, 7, 0]]}
    return {
        "kind": "request",
        "seq": seq,
        "at_ms": arrived_ms + 1,
        "api_key": 1,
        "version": 17,
        "client_id": "app",
        "connection": 3,
        "broker": 1,
        "listener": "PLAINTEXT",
        "principal": "User:a",
        "request_bytes": 60,
        "response_bytes": 100,
        "arrived_ms": arrived_ms,
        "completed_ms": arrived_ms + 1,
        "cause": "immediate",
        "answered": True,
        "fetch": {
            "records_bytes": 70,
            "replica_id": -1,
            "partitions_requested": 1,
            "partitions_answered": 1,
            "answered_session_id": 5,
            "replay": told,
        },
        **changed,
    }


def test_fetches_are_in_the_order_in_which_they_came() -> None:
    lines = [fetch(2, 50.0), fetch(1, 10.0), fetch(3, 90.0, api_key=0)]
    connection = recording_of(1, lines).connections[3]
    assert [poll.arrived_ms for poll in connection.polls] == [10.0, 50.0]
    assert (connection.client_id, connection.principal) == ("app", "User:a")
    assert connection.polls[0].told == [(id_of(ID), 0, 7, 0)]
    assert not connection.is_follower


def test_topics_are_named_by_name_where_fetches_name_them_so() -> None:
    line = fetch(1, 1.0, version=12)
    line["fetch"]["replay"]["told"] = [["orders", 0, None, 1]]
    (poll,) = recording_of(1, [line]).connections[3].polls
    assert poll.told == [("orders", 0, None, 1)]


def test_what_the_end_of_the_broker_answered_is_no_answer() -> None:
    (poll,) = recording_of(1, [fetch(1, 1.0, cause="shutdown")]).connections[3].polls
    assert not poll.answered


def test_the_end_of_a_connection_and_of_all_is_known() -> None:
    closed = {"kind": "connection_closed", "at_ms": 70.0, "connection": 3, "client_id": "app"}
    later = {"kind": "dropped", "at_ms": 80.0, "lines": 4}
    recording = recording_of(1, [fetch(1, 10.0), closed, later])
    assert (recording.connections[3].closed_ms, recording.ends_ms) == (70.0, 80.0)
    assert recording.dropped == 4


def follower(seq: int, replica: int) -> dict[str, Any]:
    line = fetch(seq, 1.0, connection=-replica - 1)
    line["fetch"]["replica_id"] = replica
    return line


def test_followers_are_run_again_where_all_of_them_are_there() -> None:
    topic = {"kind": "topic", "seq": 1, "at_ms": 0.0, "action": "created", "topic": "orders"}
    topic |= {"topic_id": ID, "first": 0, "configs": {}}
    topic["partitions"] = [[1, 0, [1, 2, 3], [1, 2, 3]], [2, 0, [2, 4], [2, 4]]]
    some = recording_of(1, [topic, fetch(2, 1.0), follower(3, 2)])
    assert not some.has_followers
    assert [each.number for each in some.readers()] == [3]
    all_of_them = recording_of(1, [topic, fetch(2, 1.0), follower(3, 2), follower(4, 3)])
    assert all_of_them.has_followers
    assert [each.number for each in all_of_them.readers()] == [3, -3, -4]


def test_a_journal_that_lacks_what_it_takes_names_the_option() -> None:
    check_run({"replay": True}, "journal")
    with pytest.raises(WhatIfError, match=r"^journal has not .*--journal-replay, "):
        check_run({"kind": "run"}, "journal")
