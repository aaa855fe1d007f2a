"""What a condition sees of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.faults.request_view import VARIABLES, RequestRecord, RequestView
from mockbroker.journal import RequestServed
from mockbroker_protocol.messages.group_membership import HeartbeatRequest
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.legacy import build_message_set
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.subjects import Subjects, subjects_of

if TYPE_CHECKING:
    from mockbroker_protocol.primitives import Buffer

TOPIC_ID = bytes(15) + b"\1"


def view_of(body: object, api_key: int = 0) -> RequestView:
    asking = RequestServed(api_key, 4, 1, "app", 7)
    return RequestView(asking, body, lambda: subjects_of(body), {TOPIC_ID: "orders"}.get)


def produce(*parts: Buffer | list[Buffer] | None) -> ProduceRequest:
    partitions = [ProduceRequestPartition(at, part) for at, part in enumerate(parts)]
    topic = ProduceRequestTopic("", TOPIC_ID, partitions)
    return ProduceRequest(None, 1, 1000, [topic])


def test_records_of_every_format_are_read_and_broken_ones_left_out() -> None:
    one = Record(0, 5, b"k", b"v", [("h", None)])
    new, old = build_batch([one]), build_message_set([Record(0, 5, b"k", b"v")], 1)
    found = view_of(produce(new, [new[:20], new[20:]], old, new[:-1] + b"!!", b"x" * 90, None))
    assert found.records[:3] == [
        RequestRecord("orders", 0, b"k", b"v", [("h", None)], 5),
        RequestRecord("orders", 1, b"k", b"v", [("h", None)], 5),
        RequestRecord("orders", 2, b"k", b"v", [], 5),
    ]
    assert {record.partition for record in found.records} <= {0, 1, 2, 3}
    assert found.records is found.records
    assert found.topics == ["orders"]


def test_other_requests_have_no_records() -> None:
    found = view_of(HeartbeatRequest("g", 1, "m"), 12)
    assert (found.records, found.groups, found.topics) == ([], ["g"], [])
    assert repr(found) == "<RequestView Heartbeat v4 of 'app'>"


def test_a_request_of_a_controllers_listener_has_a_name_too() -> None:
    assert view_of(None, 62).api == "BrokerRegistration"


def test_nothing_is_worked_out_before_it_is_asked() -> None:
    calls = []

    def subjects() -> Subjects:
        calls.append(1)
        return Subjects([], [], [])

    found = RequestView(RequestServed(12, 4, 1, "app", 7), None, subjects, lambda _id: None)
    assert (found.api, found.version, found.client, found.connection) == ("Heartbeat", 4, "app", 7)
    assert calls == []
    assert all(hasattr(found, name) for name in VARIABLES)
    assert calls
