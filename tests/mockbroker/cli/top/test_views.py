"""The tables of `mockbroker top`, read from a broker's admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import Fault, MockBroker
from mockbroker.admin.client import AdminClient
from mockbroker.cli.errors import CommandError
from mockbroker.cli.parser import TOP_VIEWS
from mockbroker.cli.top import views
from mockbroker.cli.top.views import VIEWS, View, parse_filter
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.cli.top.views import Row


@pytest.fixture(scope="module")
def running() -> Iterator[MockBroker]:
    with MockBroker(topics={"orders": 2}, admin_port=0) as broker:
        yield broker
        broker.reset()


@pytest.fixture
def broker(running: MockBroker) -> MockBroker:
    running.reset()
    return running


def client_of(broker: MockBroker) -> AdminClient:
    assert broker.admin_url
    return AdminClient(broker.admin_url, None)


def view(broker: MockBroker, name: str) -> View:
    return next(each for each in VIEWS if each.name == name)(client_of(broker))


def rows(broker: MockBroker, name: str, wanted: str = "") -> list[Row]:
    return view(broker, name).rows(parse_filter(wanted))


def ask(broker: MockBroker, times: int = 1) -> None:
    with BlockingConnection(broker.bootstrap_servers) as connection:
        for _ in range(times):
            request = ApiVersionsRequest(client_software_name="lib", client_software_version="2")
            connection.send(request, 3)
            connection.receive(ApiVersionsResponse)


def test_the_command_line_offers_each_view() -> None:
    assert tuple(each.name for each in VIEWS) == TOP_VIEWS


def test_each_view_has_a_cell_for_each_column(broker: MockBroker) -> None:
    ask(broker)
    broker.faults.add(Fault(api="Fetch", error="UNKNOWN_SERVER_ERROR"))
    for each in VIEWS:
        for row in each(client_of(broker)).rows(parse_filter("")):
            assert len(row) == len(each.columns), each.name


def test_requests_are_the_newest_first(broker: MockBroker) -> None:
    requests = view(broker, "requests")
    ask(broker)
    with BlockingConnection(broker.bootstrap_servers) as connection:
        connection.send(InitProducerIdRequest(transaction_timeout_ms=1000), 0)
        connection.receive(InitProducerIdResponse)
    found = requests.rows(parse_filter(""))
    assert [row[2] for row in found[:2]] == ["InitProducerId v0", "ApiVersions v3"]


def test_a_second_look_reads_only_what_is_new(
    broker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(broker, 3)
    client = client_of(broker)
    requests = views.Requests(client)
    before = requests.rows(parse_filter(""))
    ask(broker)
    read = []
    get = client.get

    def counted(path: str, **query: object) -> object:
        answer = get(path, **query)
        read.extend(answer.get("requests", ()))
        return answer

    monkeypatch.setattr(client, "get", counted)
    after = requests.rows(parse_filter(""))
    assert len(read) == 1
    assert after[1:] == before


def test_another_filter_of_the_journal_begins_anew(broker: MockBroker) -> None:
    ask(broker)
    requests = view(broker, "requests")
    assert requests.rows(parse_filter("api=Fetch")) == []
    assert [row[2] for row in requests.rows(parse_filter("api=ApiVersions"))][:1] == [
        "ApiVersions v3"
    ]


def test_an_error_stands_by_its_name_beside_the_rule(broker: MockBroker) -> None:
    (rule,) = broker.faults.add(Fault(api="InitProducerId", error="NOT_COORDINATOR"))
    requests = view(broker, "requests")
    with BlockingConnection(broker.bootstrap_servers) as connection:
        connection.send(InitProducerIdRequest(transaction_timeout_ms=1000), 0)
        connection.receive(InitProducerIdResponse)
    (row,) = requests.rows(parse_filter("error=NOT_COORDINATOR"))
    assert row[-1] == f"NOT_COORDINATOR by {rule.id}"


def test_many_topics_of_a_request_are_counted() -> None:
    line = {
        "arrived_ms": 1500.0, "client_id": "c", "api": "Fetch", "version": 12, "waited_ms": 3.2,
        "topics": ["a", "b", "c", "d", "e"], "request_bytes": 1, "response_bytes": 2,
        "parked": True, "cause": "data", "answered": True, "errors": [9999], "fault": None,
    }  # fmt: skip
    row = views.request_row(line)
    assert row == ("1.500", "c", "Fetch v12", "a b c +2", 1, 2, "3 ms", "data", "9999")


def test_apis_and_clients_count_requests(broker: MockBroker) -> None:
    before = {row[0]: int(str(row[1])) for row in rows(broker, "apis")}
    ask(broker, 4)
    after = {row[0]: int(str(row[1])) for row in rows(broker, "apis")}
    assert after["ApiVersions"] - before.get("ApiVersions", 0) == 4
    with BlockingConnection(broker.bootstrap_servers) as connection:
        request = ApiVersionsRequest(client_software_name="lib", client_software_version="2")
        connection.send(request, 3)
        connection.receive(ApiVersionsResponse)
        assert any(row[1] == "lib 2" for row in rows(broker, "clients"))


def test_words_are_looked_for_in_all_cells_in_either_case(broker: MockBroker) -> None:
    broker.topic("Paid").create()
    assert [row[0] for row in rows(broker, "topics", "paid")] == ["Paid"]
    assert rows(broker, "topics", "paid refunds") == []


def test_groups_tell_their_lag(broker: MockBroker) -> None:
    broker.topic("orders").put("x", partition=0)
    broker.group("billing").commit({("orders", 0): 0})
    (row,) = rows(broker, "groups")
    assert (row[0], row[2], row[-1]) == ("billing", "Empty", 1)


def test_a_rule_tells_what_it_does(broker: MockBroker) -> None:
    (rule,) = broker.faults.add(Fault(api="Fetch", error="UNKNOWN_SERVER_ERROR"))
    (row,) = rows(broker, "faults")
    assert row[:4] == (rule.id, 0, 0, 0)
    assert "api=Fetch" in str(row[-1])


@pytest.mark.parametrize("word", ["color=red", "api="])
def test_a_field_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(CommandError, match=r"--filter: .*allowed: words, and api="):
        parse_filter(word)


def test_a_field_of_requests_is_refused_elsewhere(broker: MockBroker) -> None:
    with pytest.raises(CommandError, match="--filter: api= is for the view requests"):
        rows(broker, "topics", "api=Fetch")


def test_a_transaction_tells_its_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    client = AdminClient("http://127.0.0.1:1", None)
    found = {
        "transactional_id": "t", "state": "Ongoing", "producer_id": 3, "producer_epoch": 1,
        "timeout_ms": 60_000, "partitions": [{"topic": "a", "partition": 0}],
    }  # fmt: skip
    monkeypatch.setattr(client, "get", lambda _path, **_query: {"transactions": [found]})
    assert views.Transactions(client).rows(parse_filter("")) == [
        ("t", "Ongoing", 3, 1, 60_000, "a-0")
    ]
