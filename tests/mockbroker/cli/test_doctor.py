"""`mockbroker doctor`: each odd thing has a line, and nothing else has."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import Fault, MockBroker
from mockbroker.admin.client import AdminClient
from mockbroker.cli import doctor
from mockbroker.cli.main import main
from mockbroker.journal import (
    ConnectionRefused,
    HandlerFailed,
    LoopBlocked,
    RequestRefused,
    SessionEvent,
)
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.journal import Event

BROKER_ID = 1


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics=["t"], admin_port=0) as running:
        yield running
        running.reset()  # rules that never fired are what is tried here


def told(broker: MockBroker) -> list[str]:
    """The odd things, as lines, but what a busy machine does to the loop."""
    return [line for line in all_told(broker) if not line.startswith("loop:")]


def all_told(broker: MockBroker) -> list[str]:
    assert broker.admin_url
    found, text = doctor.examine(AdminClient(broker.admin_url, None))
    lines = [f"{one['about']}: {one['text']}" for one in found["odd"]]
    assert text.splitlines() == [*(lines or ["nothing is odd"]), *found["clients"]]
    return lines


def record(broker: MockBroker, *events: Event) -> None:
    bridge = broker._bridged()
    for event in events:
        bridge.call(partial(_record, event))


def _record(event: Event, cluster: Cluster) -> None:
    cluster.journal.record(event)


def test_a_broker_in_order_is_status_0_and_who_is_connected_is_told(
    broker: MockBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert broker.admin_url
    with BlockingConnection(broker.bootstrap_servers) as client:
        client.send(ApiVersionsRequest(client_software_name="lib", client_software_version="2"), 3)
        client.receive(ApiVersionsResponse)
        assert main(["doctor", "--admin", broker.admin_url]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "nothing is odd"
    assert any(line.startswith("connected: lib 2, once (") for line in out[1:]), out


def test_what_is_odd_is_status_1_in_json_too(
    broker: MockBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert broker.admin_url
    broker.clock.freeze()
    assert main(["doctor", "--admin", broker.admin_url, "--json"]) == 1
    assert '"it stands still: no time-out ends until it is advanced"' in capsys.readouterr().out


def test_nobody_there_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--admin", "http://127.0.0.1:1"]) == 2
    assert "does not answer" in capsys.readouterr().err


def test_events_of_the_journal_are_told(broker: MockBroker) -> None:
    record(
        broker,
        ConnectionRefused("/10.0.0.1", "PLAINTEXT", "max.connections.per.ip: 1", BROKER_ID),
        ConnectionRefused("/10.0.0.2", "PLAINTEXT", "max.connections.per.ip: 1", BROKER_ID),
        RequestRefused(3, "/10.0.0.1", "old", 0, "Produce", 99, "version 99", BROKER_ID),
        HandlerFailed(3, "/x", "c", "Prod", 9, ValueError("no"), BROKER_ID),
        SessionEvent(BROKER_ID, "not_found", 7, why="evicted", epoch=3),
    )  # fmt: skip
    assert told(broker) == [
        "defect: Prod v9 of client 'c' failed, which is a defect of mockbroker: ValueError('no')",
        "connections: refused at the listener PLAINTEXT, 2 times: max.connections.per.ip: 1",
        "requests: Produce of client 'old' refused, once: version 99",
        "sessions: refused with not_found, once: evicted",
    ]


def test_who_kept_everybody_waiting_is_told(broker: MockBroker) -> None:
    record(
        broker,
        LoopBlocked(31_200.4, "Produce", "greedy", 9_000_000, BROKER_ID),
        LoopBlocked(26_000.0, None, "", 0),
    )
    loops = [line for line in all_told(broker) if line.startswith("loop:")]
    # A busy machine may have kept it, too.
    assert loops[0].startswith("loop: it kept everybody waiting for more than 250 ms, ")
    assert loops[1:3] == [
        "loop: 31200 ms by Produce of client 'greedy', 9000000 bytes",
        "loop: 26000 ms by no request",
    ]


def test_rules_that_never_fired_and_a_clock_that_was_moved(broker: MockBroker) -> None:
    broker.faults.add(Fault(api="Fetch", error=6, maybe=True))
    broker.clock.advance(90_000)
    broker.clock.rate = 2
    broker.clock.jump(-1000)
    assert told(broker) == [
        "faults: rule fault-1 never fired: {'api': 'Fetch', 'maybe': True, 'error': 6}",
        "clock: it runs 2 times as fast",
        "clock: moved by advance, once: 90 s together",
        "clock: moved by jump, once: -1 s together",
    ]


def test_brokers_that_are_down_or_do_not_answer() -> None:
    with MockBroker(brokers=3, admin_port=0) as cluster:
        cluster.cluster.kill(2)
        cluster.cluster.fence(3)
        with cluster.faults.armed(Fault(refuse=True, broker=1)):
            lines = told(cluster)
    assert lines[0].startswith("broker: 1: 127.0.0.1:")
    assert "does not answer" in lines[0]
    assert lines[1] == "broker: 2 is down"
    assert lines[2] == "broker: 3 is fenced: the controller takes it for lost"


def test_what_fills_the_memory_or_the_disk(
    broker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LARGE_BYTES", 10)
    broker.topic("t").put_all(["x" * (1 << 19)] * 4)
    assert told(broker) == ["memory: logs hold 2 MiB, all of it in memory"]
    running: Any = broker._bridged().running
    full = SimpleNamespace(problem="no space left on device", page=None, stop=lambda: None)
    monkeypatch.setattr(running, "journal_writer", full)
    assert "journal: its files end: no space left on device" in told(broker)


def test_requests_that_were_throttled(broker: MockBroker) -> None:
    line: Callable[[int], dict[str, Any]] = lambda ms: {  # noqa: E731 -- a table
        "throttle_ms": ms, "client_id": "fast", "api": "Fetch",
    }  # fmt: skip
    seen = doctor.Seen({}, [], [], {}, [], [line(5), line(0), line(30)], {})
    assert [*doctor.CHECKS["throttles"](seen)] == [
        "Fetch of client 'fast' told to wait, 2 times, 30 ms at most"
    ]


def test_a_rule_that_holds_or_cannot_be_told_is_odd() -> None:
    rule = {
        "id": "r",
        "problem": "no such field",
        "waiting": 2,
        "hits": 0,
        "matched": 3,
        "rule": {},
    }
    seen = doctor.Seen({}, [], [rule], {}, [], [], {})
    assert [*doctor.CHECKS["faults"](seen)] == [
        "rule r: no such field",
        "rule r holds 2 request(s) back",
        "rule r never fired, though 3 request(s) fitted it: {}",
    ]
