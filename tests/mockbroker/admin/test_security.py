"""Who may use the admin API."""

from __future__ import annotations

import pytest

from mockbroker import MockBroker
from mockbroker.admin.security import needs_token
from tests.mockbroker.admin.conftest import Api

TOPIC = {"name": "t"}


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1"])
def test_a_page_of_another_origin_may_not_write(api: Api, origin: str) -> None:
    refused = api("POST", "/v1/topics", TOPIC, {"Origin": origin})
    assert refused.status == 403
    assert api("GET", "/v1/topics/t").status == 404


def test_a_page_of_our_own_may(api: Api) -> None:
    assert api("POST", "/v1/topics", TOPIC, {"Origin": api.url}).status == 201


def test_a_browsers_own_word_counts(api: Api) -> None:
    assert api("POST", "/v1/reset", None, {"Sec-Fetch-Site": "cross-site"}).status == 403
    assert api("POST", "/v1/reset", None, {"Sec-Fetch-Site": "same-origin"}).status == 204


def test_a_page_of_another_origin_may_not_read(api: Api) -> None:
    for site in ("cross-site", "same-site"):
        for mode in ("no-cors", "cors"):
            sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "empty"}
            assert api("GET", "/v1/topics", headers=sent).status == 403
    framed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert api("GET", "/v1/topics", headers={**framed, "Sec-Fetch-Dest": "iframe"}).status == 403
    assert api("GET", "/v1/topics", headers={"Origin": "http://evil.example"}).status == 403


def test_a_link_of_another_page_may_be_followed(api: Api) -> None:
    visit = {
        "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"
    }  # fmt: skip
    for path in ("/", "/v1/topics"):
        assert api("GET", path, headers=visit).status == 200
    assert api("POST", "/v1/reset", headers=visit).status == 403


def test_the_console_needs_no_token_and_holds_nothing_of_the_broker() -> None:
    with MockBroker(admin_port=0, admin_token="correct-horse", topics={"secret": 1}) as broker:
        stranger = Api(broker)
        assert stranger("GET", "/").status == 200
        assert stranger("GET", "/console/main.js").status == 200
        assert stranger("POST", "/").status == 401
        assert stranger("GET", "/v1/journal/rows").status == 401
        assert stranger("GET", "/", headers={"Host": "evil.example"}).status == 403


def test_a_form_is_no_write(api: Api) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = api("POST", "/v1/topics", headers={"Content-Type": kind}, raw=b'{"name":"t"}')
        assert answer.status == 415, kind
    assert api("GET", "/v1/topics/t").status == 404


def test_a_foreign_host_name_is_refused_on_loopback(api: Api) -> None:
    assert api("GET", "/v1/topics", headers={"Host": "evil.example"}).status == 403
    for host in ("localhost", "127.0.0.1:1", "[::1]:9644"):
        assert api("GET", "/v1/topics", headers={"Host": host}).status == 200


def test_a_token_is_asked_of_everything_but_health() -> None:
    with MockBroker(admin_port=0, admin_token="correct-horse") as broker:
        api = Api(broker, "correct-horse")
        assert api("GET", "/v1/topics").status == 200
        assert api("GET", "/metrics").status == 200
        for header in ("Bearer wrong-horse", "Basic correct-horse", "Bearer ", "correct-horse"):
            refused = api("POST", "/v1/topics", TOPIC, {"Authorization": header})
            assert refused.status == 401, header
        stranger = Api(broker)
        assert stranger("GET", "/metrics").status == 401
        assert stranger("GET", "/health/ready").status == 200
        assert api("GET", "/v1/topics").body["topics"] == []


@pytest.mark.parametrize(
    ("address", "needed"),
    [("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True), ("::", True)],
)
def test_only_loopback_goes_without_a_token(address: str, needed: bool) -> None:
    assert needs_token(address) is needed
