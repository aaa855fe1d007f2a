"""The journal over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

from mockbroker import MockBroker
from tests.mockbroker.admin.conftest import Api
from tests.mockbroker.admin.routes.test_console import headers_of

if TYPE_CHECKING:
    from pathlib import Path


def ask(api: Api, client_id: str) -> None:
    client = AdminClient(
        {"bootstrap.servers": api.broker.bootstrap_servers, "client.id": client_id}
    )
    client.list_topics("orders", timeout=20)


def test_requests_are_found_by_what_they_are(api: Api) -> None:
    since = api("GET", "/v1/journal").body["next_cursor"]
    ask(api, "first")
    ask(api, "second")
    found = api("GET", f"/v1/journal?since={since}&api=Metadata&client=sec*").body["requests"]
    assert {(one["api"], one["client_id"]) for one in found} == {("Metadata", "second")}
    assert api("GET", f"/v1/journal?since={since}&api=Metadata&error=true").body["requests"] == []
    assert api("GET", f"/v1/journal?since={since}&api=3&topic=orders").body["requests"]
    assert api("GET", f"/v1/journal?since={since}&api=Metadata&error=NONE").body["requests"]
    assert api("GET", f"/v1/journal?since={since}&error=-1").body["requests"] == []


@pytest.mark.parametrize("error", ["NO_LEADER", "7" * 5000])
def test_an_error_that_kafka_lacks_is_refused(api: Api, error: str) -> None:
    problem = api("GET", f"/v1/journal?error={error}")
    assert problem.status == 422
    assert problem.body["detail"].startswith("error: ")


def test_an_api_of_very_many_digits_is_refused(api: Api) -> None:
    assert api("GET", f"/v1/journal?api={'7' * 5000}").status == 422


def test_pages_of_the_journal_continue_where_one_ended(api: Api) -> None:
    since = api("GET", "/v1/journal").body["next_cursor"]
    ask(api, "paged")
    whole = api("GET", f"/v1/journal?since={since}").body["requests"]
    assert api("GET", f"/v1/journal/requests/{whole[-1]['number']}").body["line"] == {
        name: value for name, value in whole[-1].items() if name != "number"
    }
    seen, more = [], True
    while more:
        page = api("GET", f"/v1/journal?since={since}&limit=1").body
        seen += page["requests"]
        since, more = page["next_cursor"], page["more"]
    assert seen == whole
    assert len(whole) > 1


def test_expectations_are_met_or_say_what_came_nearest(api: Api) -> None:
    since = api("GET", "/v1/journal").body["next_cursor"]
    ask(api, "expected")
    body = {"api": "Metadata", "client": "expected", "since": since}
    assert api("POST", "/v1/journal/expect", body).body["met"] is True
    body["topic"] = "payments"
    missed = api("POST", "/v1/journal/expect", {**body, "timeout_ms": 1}).body
    assert missed["met"] is False
    assert "topics are ['orders']" in missed["explanation"]


def test_the_tail_and_the_other_events(api: Api) -> None:
    ask(api, "tail")
    lines = api("GET", "/v1/journal/tail?lines=2").body["lines"]
    assert len(lines) == 2
    kinds = {one["kind"] for one in api("GET", "/v1/journal/events").body["events"]}
    assert {"connection_opened", "connection_closed"} <= kinds


def test_an_unknown_api_is_named(api: Api) -> None:
    status, detail, _ = api.problem("GET", "/v1/journal?api=Fetsch")
    assert status == 422
    assert "Fetsch" in detail


def test_the_cursor_is_where_the_journal_stands(api: Api) -> None:
    cursor = api("GET", "/v1/journal/cursor").body["cursor"]
    assert cursor == api.broker._started().cluster.journal.cursor()
    assert api("GET", f"/v1/journal/tail?since={cursor}").body["lines"] == []


def test_a_report_is_a_text(api: Api) -> None:
    api("POST", "/v1/faults", {"rules": [{"id": "eye", "observe": True, "maybe": True}]})
    text = api("GET", "/v1/report?lines=1").body["text"]
    assert "fault eye (maybe=True, observe=True, id='eye'): 0 hit(s)" in text


def test_the_page_that_analyze_put_beside_the_files(tmp_path: Path) -> None:
    with MockBroker(admin_port=0, journal=tmp_path) as broker:
        api = Api(broker)
        assert api("GET", "/v1/cluster").body["journal_page"] is False
        assert api.problem("GET", "/v1/journal/page")[0] == 404
        (tmp_path / "report.html").write_text("<!doctype html>é", "utf-8")
        assert api("GET", "/v1/cluster").body["journal_page"] is True
        page = api("GET", "/v1/journal/page?client=reader&topic=orders&from=1&to=2.5")
        assert (page.status, page.text) == (200, "<!doctype html>é")
        assert page.kind == "text/html; charset=utf-8"
        # Its scripts are of no origin: what they ask of this API is refused.
        policy = headers_of(api, "/v1/journal/page")["content-security-policy"]
        assert policy.startswith("sandbox allow-scripts allow-popups; default-src 'none';")
        assert api.problem("GET", "/v1/journal/page?file=x")[0] == 422


def test_without_files_there_is_no_page_of_them(api: Api) -> None:
    assert api("GET", "/v1/cluster").body["journal_page"] is False
    assert api.problem("GET", "/v1/journal/page") == (
        404, "there is no page of `analyze` beside the journal's files", None,
    )  # fmt: skip
