"""HTTP by the standard library."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from mockbroker.admin.client import AdminApiError, AdminClient, segment

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_lists_are_read_page_by_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockbroker.admin.client._PAGE", 2)
    client = AdminClient(api.url, None)
    for name in ("p.1", "p.2", "p.3"):
        client.send("POST", "/v1/topics", {"name": name})
    found = [topic["name"] for topic in client.pages("/v1/topics", "topics", prefix="p.")]
    assert found == ["p.1", "p.2", "p.3"]


def test_who_does_not_answer_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(AdminApiError, match=rf"http://127.0.0.1:{port} does not answer"):
        AdminClient(f"127.0.0.1:{port}", None).get("/v1/clock")


@pytest.mark.parametrize("url", ["", "127.0.0.1", "ftp://a:1", "http://a:b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(AdminApiError, match="--admin"):
        AdminClient(url, None)


def test_a_stream_gives_events(api: Api) -> None:
    client = AdminClient(api.url, None)
    client.send("POST", "/v1/topics", {"name": "streamed"})
    events = client.stream("/v1/events", kinds="topic,nonsense")
    with pytest.raises(AdminApiError, match="nonsense"):
        next(events)


def test_a_name_is_one_segment() -> None:
    assert segment("a/b c") == "a%2Fb%20c"
