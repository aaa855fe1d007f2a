"""One broker with an admin port a module, reset before each test; and plain HTTP to it."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from mockbroker import MockBroker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Answer(NamedTuple):
    """One HTTP answer; `body` is its JSON, or None."""

    status: int
    body: Any
    kind: str
    text: str


class Api:
    """The admin API of one broker."""

    def __init__(self, broker: MockBroker, token: str | None = None) -> None:
        self.broker = broker
        url = broker.admin_url
        assert url is not None
        self.url = url
        self.address = urlsplit(url).netloc
        self._token = token

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection(self.address, timeout=20)
        sent = dict(headers or {})
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        if self._token is not None:
            sent.setdefault("Authorization", f"Bearer {self._token}")
        connection.request(method, path, data, sent)
        answer = connection.getresponse()
        content = answer.read()
        kind = answer.headers.get("Content-Type", "")
        connection.close()
        found = json.loads(content) if content and "json" in kind else None
        return Answer(answer.status, found, kind, content.decode())

    def problem(self, method: str, path: str, body: object = None) -> tuple[int, str, str | None]:
        """Status, detail and field of what must be a problem."""
        answer = self(method, path, body)
        assert answer.kind == "application/problem+json", answer
        assert answer.body["status"] == answer.status
        return answer.status, answer.body["detail"], answer.body.get("field")


@pytest.fixture(scope="module")
def served() -> Iterator[Api]:
    with MockBroker(topics={"orders": 3}, admin_port=0) as broker:
        yield Api(broker)
        broker.reset()  # a rule of the last test that never fired is no mistake here


@pytest.fixture
def api(served: Api) -> Api:
    served.broker.reset()
    served("DELETE", "/v1/snapshots/kept")
    return served
