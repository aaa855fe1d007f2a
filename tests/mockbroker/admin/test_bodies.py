"""Bodies that are too large, too many values, or no text: refused before they are read."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.admin import bodies
from mockbroker.admin.bodies import BoundedBodies, unfit
from mockbroker.admin.limits import MAX_ELEMENTS, Limits
from tests.mockbroker.admin.conftest import Api

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Message, Receive, Scope, Send

RECORDS = "/v1/topics/orders/records"
JSON = {"Content-Type": "application/json"}
LONE = rb'{"records": [{"value": "\ud800"}]}'


@pytest.fixture(scope="module")
def small() -> Iterator[Api]:
    with MockBroker(topics=["orders"], admin_port=0, admin_max_request_bytes=1000) as broker:
        yield Api(broker)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_the_limit_is_413_and_changes_nothing(small: Api, chunked: bool) -> None:
    body = json.dumps({"records": [{"value": "x" * 1000}]}).encode()
    connection = http.client.HTTPConnection(small.address, timeout=20)
    connection.request(
        "POST",
        RECORDS,
        iter([body[:500], body[500:]]) if chunked else body,
        JSON,
        encode_chunked=chunked,
    )
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["detail"]) == (
        413, "the body is too large; allowed: 1000 bytes"
    )  # fmt: skip
    connection.close()
    assert small.broker.topic("orders").records() == []
    assert small("POST", RECORDS, {"records": [{"value": "x" * 900}]}).status == 201
    small.broker.reset()


def test_a_snapshots_file_has_a_limit_of_its_own(small: Api) -> None:
    file = small("POST", "/v1/snapshot-file/restore", raw=b"P" * 5000, headers=OCTETS)
    assert file.status == 422


OCTETS = {"Content-Type": "application/octet-stream"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (RECORDS, LONE),
        (RECORDS, rb'{"records": [{"value": {"\uDC00": 1}}]}'),
        (RECORDS, rb'{"records": [{"headers": {"\ud83d \ude00": "v"}}]}'),
        (RECORDS, rb'{"records": [{"value": "' + b"\xed\xa0\x80" + rb'"}]}'),
        (RECORDS, LONE.decode().encode("utf-16-le")),
        (RECORDS, LONE.decode().encode("utf-16")),
        ("/v1/topics", rb'{"name": "\udfff"}'),
        ("/v1/faults", rb'{"rules": [{"api": "Fetch", "client": "\ud800", "error": 5}]}'),
        ("/v1/groups/g/offsets", rb'{"offsets": [{"topic": "\ud800"}]}'),
    ],
)
def test_half_of_a_surrogate_pair_is_422_and_no_500(api: Api, path: str, body: bytes) -> None:
    method = "PUT" if path.startswith("/v1/groups") else "POST"
    answer = api(method, path, raw=body, headers=JSON)
    assert (answer.status, answer.kind) == (422, "application/problem+json"), answer


@pytest.mark.parametrize("text", ["\U0001f600", "\\ud800", "é", "\ufffd"])
def test_text_that_only_looks_like_it_is_put(api: Api, text: str) -> None:
    for ascii_only in (True, False):
        body = json.dumps({"records": [{"value": text}]}, ensure_ascii=ascii_only).encode()
        assert api("POST", RECORDS, raw=body, headers=JSON).status == 201
    found = api("GET", RECORDS).body["records"]
    assert [one["value"] for one in found] == [text, text]


def test_half_of_a_pair_in_a_path_or_a_parameter_is_another_name(api: Api) -> None:
    for half in ("%ED%A0%80", "%ED%BF%BF"):
        assert api("GET", f"/v1/topics/{half}").status == 404
        assert api("GET", f"/v1/topics?prefix={half}").body["topics"] == []
        assert api("GET", f"/v1/topics?{half}=1").status == 422


def test_values_are_counted_and_not_what_stands_in_texts() -> None:
    assert unfit(b"[" + b"0," * MAX_ELEMENTS + b"0]") == (
        413, f"body: more than {MAX_ELEMENTS} values; send them in parts"
    )  # fmt: skip
    text = ('a,[{"\\' * MAX_ELEMENTS)[: 4 * MAX_ELEMENTS]
    assert unfit(json.dumps([text, text]).encode()) is None
    assert unfit(b'"' + b"\\" * 500_000 + b"," * MAX_ELEMENTS + b"[") is not None


def test_what_is_nested_too_deep_is_no_defect(api: Api) -> None:
    for body in (b"[" * 100_000, LONE[:-2] + b"," + b"[" * 100_000, b"1" * 10_000):
        assert api("POST", RECORDS, raw=body, headers=JSON).status in (400, 422)


async def test_bodies_that_are_held_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_FILE_BYTES", 1000)
    answers: list[int] = []
    bounded = BoundedBodies(_accepted, Limits())

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answers.append(message["status"])

    first = _Sender(bounded, send, 600)
    second = _Sender(bounded, send, 600)
    await asyncio.sleep(0)
    assert bounded.held_bytes <= 1200
    await second.ended
    assert answers == [503]
    first.finish()
    await first.ended
    assert (answers, bounded.held_bytes) == ([503, 204], 0)


class _Sender:
    """A request whose body is half sent."""

    def __init__(self, app: BoundedBodies, send: Send, size: int) -> None:
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._messages.put_nowait({"type": "http.request", "body": b"1" * size, "more_body": True})
        scope = {
            "type": "http", "method": "POST", "path": "/",
            "headers": [(b"transfer-encoding", b"chunked")],
        }  # fmt: skip
        self.ended = asyncio.ensure_future(app(scope, self._messages.get, send))

    def finish(self) -> None:
        self._messages.put_nowait({"type": "http.request", "body": b"", "more_body": False})


async def _accepted(_scope: Scope, receive: Receive, send: Send) -> None:
    assert len((await receive())["body"]) == 600
    await send({"type": "http.response.start", "status": 204, "headers": []})


async def test_nobody_is_answered_who_has_gone() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        raise AssertionError

    scope = {"type": "http", "path": "/", "headers": [(b"content-length", b"9")]}
    bounded = BoundedBodies(_accepted, Limits())
    await bounded(scope, receive, send)
    assert bounded.held_bytes == 0
