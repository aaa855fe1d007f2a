"""The head of `mockbroker top`."""

from __future__ import annotations

from typing import Any

from mockbroker import MockBroker
from mockbroker.admin.client import AdminClient
from mockbroker.cli.top.rates import Rates, head, head_text, requests_by_api


def test_a_rate_is_what_a_counter_gained_a_second() -> None:
    now = [10.0]
    rates = Rates(lambda: now[0])
    assert rates.of({"a": 100.0}) == {"a": 0.0}
    now[0] = 12.0
    assert rates.of({"a": 130.0, "new": 4.0}) == {"a": 15.0, "new": 2.0}


def test_a_counter_that_began_anew_has_no_rate_below_zero() -> None:
    now = [0.0]
    rates = Rates(lambda: now[0])
    rates.of({"a": 100.0})
    now[0] = 1.0
    assert rates.of({"a": 3.0}) == {"a": 0.0}


def test_two_looks_in_one_instant_have_no_rate() -> None:
    rates = Rates(lambda: 5.0)
    rates.of({"a": 1.0})
    assert rates.of({"a": 2.0}) == {"a": 0.0}


def test_requests_are_counted_by_api() -> None:
    metrics = {"mockbroker:type=RequestMetrics,name=Requests,request=Fetch": 3.0, "other": 9.0}
    assert requests_by_api(metrics) == {"Fetch": 3.0}


def told(**changes: Any) -> dict[str, Any]:
    plain = {
        "bootstrap_servers": "127.0.0.1:9092", "brokers": 3, "brokers_up": 2, "connections": 7,
        "topics": 5, "groups": 1, "requests_per_second": 12.4, "fetch_sessions": 4, "parked": 2,
        "frozen": False, "rate": 1.0, "journal_problem": None,
    }  # fmt: skip
    return {**plain, **changes}


def test_the_head_is_two_lines() -> None:
    assert head_text(told()).splitlines() == [
        "mockbroker 127.0.0.1:9092",
        "brokers 2/3  connections 7  topics 5  groups 1  requests/s 12  sessions 4  parked 2",
    ]


def test_what_is_out_of_the_ordinary_has_a_line() -> None:
    text = head_text(told(frozen=True, rate=60.0, journal_problem="disk full"))
    assert text.splitlines()[2] == (
        "the clock stands still; the clock runs 60 times as fast; journal: disk full"
    )


def test_a_fenced_broker_is_not_up() -> None:
    with MockBroker(brokers=2, admin_port=0) as broker:
        assert broker.admin_url
        broker.cluster.fence(2)
        found = head(AdminClient(broker.admin_url, None), Rates())
    assert (found["brokers"], found["brokers_up"]) == (2, 1)
