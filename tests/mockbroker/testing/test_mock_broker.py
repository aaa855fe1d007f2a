"""The Python API: a broker in a thread of its own, or in the caller's loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from mockbroker import MockBroker
from mockbroker.config.errors import ConfigError
from mockbroker.server.values import SettingsError
from mockbroker.state.scope import Scope
from mockbroker.state.snapshot_file import SnapshotError
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.sockets import RawConnection


async def topics_of(address: str) -> dict[str | None, int]:
    async with await RawConnection.open(address) as client:
        answer = await client.call(MetadataRequest(topics=None), 8, MetadataResponse)
    return {topic.name: len(topic.partitions) for topic in answer.topics}


def broker_threads() -> int:
    """Threads of brokers; other tests may keep some running."""
    return sum(thread.name == "mockbroker" for thread in threading.enumerate())


def test_with_runs_it_in_a_thread_beside_blocking_code() -> None:
    before = broker_threads()
    with MockBroker(topics={"orders": 6}) as broker:
        assert broker.bootstrap_servers == f"127.0.0.1:{broker.port}"
        assert asyncio.run(topics_of(broker.bootstrap_servers)) == {"orders": 6}
        assert broker_threads() == before + 1
        port = broker.port
    assert broker_threads() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
    with pytest.raises(RuntimeError, match="not running"):
        _ = broker.port


async def test_async_with_runs_it_in_the_callers_loop() -> None:
    before = broker_threads()
    async with MockBroker(topics=["a", "b"], default_partitions=3) as broker:
        assert await topics_of(broker.bootstrap_servers) == {"a": 3, "b": 3}
        assert broker_threads() == before
        assert len(broker.cluster_id) == 22


def test_certificates_are_files_that_clients_are_given() -> None:
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    with MockBroker(tls="auto") as broker:
        for file in (broker.client_file(), broker.client_file("alice"), broker.ca_file):
            assert "BEGIN CERTIFICATE" in Path(file).read_text("utf-8")
    with MockBroker() as broker, pytest.raises(RuntimeError, match='start it with tls="auto"'):
        _ = broker.ca_file


def test_metrics_are_read_in_the_brokers_own_loop() -> None:
    with MockBroker() as broker:
        asyncio.run(topics_of(broker.bootstrap_servers))
        assert (
            broker.metrics()["mockbroker:type=RequestMetrics,name=Requests,request=Metadata"] == 1
        )


async def test_metrics_in_the_callers_loop_from_it_and_from_another_thread() -> None:
    name = "mockbroker:type=ConnectionMetrics,name=ConnectionsOpened"
    async with MockBroker() as broker:
        assert broker.metrics()[name] == 0
        await topics_of(broker.bootstrap_servers)
        assert (await asyncio.to_thread(broker.metrics))[name] == 1


def test_several_run_side_by_side() -> None:
    with MockBroker() as one, MockBroker() as two:
        assert one.port != two.port
        assert one.cluster_id != two.cluster_id


def test_a_seed_repeats_what_is_random() -> None:
    ids = []
    for _ in range(2):
        with MockBroker(seed=7) as broker:
            ids.append(broker.cluster_id)
    assert ids[0] == ids[1]


def test_it_can_be_started_again() -> None:
    broker = MockBroker()
    for _ in range(2):
        with broker:
            assert broker.port
    broker.stop()


def test_starting_twice_is_an_error() -> None:
    with MockBroker() as broker, pytest.raises(RuntimeError, match="running already"):
        broker.start()


def test_before_the_start_there_is_no_address() -> None:
    with pytest.raises(RuntimeError, match="use it in `with` or `async with`"):
        _ = MockBroker().bootstrap_servers


def test_bad_values_are_named() -> None:
    with pytest.raises(SettingsError, match=r"topics\.orders: 0 is out of range"):
        MockBroker(topics={"orders": 0})
    with pytest.raises(SettingsError, match="topics: 'a b' is not a topic name"):
        MockBroker(topics=["a b"])
    with pytest.raises(SettingsError, match="port: 70000 is not a port"):
        MockBroker(port=70000)
    with (
        pytest.raises(ConfigError, match=r"no\.such\.key"),
        MockBroker(config={"no.such.key": 1}),
    ):
        pass


def test_a_topic_may_be_a_table_as_in_the_configuration_file() -> None:
    orders = {
        "partitions": 3,
        "config": {"retention.ms": 1000},
        "records": ["one", {"key": "k", "value": {"id": 2}, "partition": 2}],
    }
    with MockBroker(topics={"orders": orders, "payments": 2}) as broker:
        for _ in range(2):
            assert broker.topics() == ["orders", "payments"]
            assert broker.topic("orders").partitions == 3
            assert broker.topic("orders").config["retention.ms"] == "1000"
            values = {record.value for record in broker.topic("orders").records()}
            assert values == {b"one", b'{"id": 2}'}
            broker.topic("orders").put("gone after the reset")
            broker.reset()


def test_a_bad_table_of_a_topic_is_named() -> None:
    for table, problem in (
        ({"partitons": 3}, r"topics\.orders\.partitons: it is unknown; allowed: partitions"),
        ({"partitions": 0}, r"topics\.orders\.partitions: 0 is no count"),
        ({"records": "one"}, r"topics\.orders\.records: it is not a list"),
        ({"records": [{"topic": "x"}]}, r"records\[0\].topic: it is unknown; allowed: key, value"),
    ):
        with pytest.raises(SettingsError, match=problem):
            MockBroker(topics={"orders": table})


def test_metrics_that_clients_push_are_seen() -> None:
    with MockBroker() as broker:
        assert broker.client_metrics() == []


def test_a_scope_in_a_cluster_takes_away_what_was_made_inside() -> None:
    with MockBroker(brokers=3, topics={"orders": 3}) as broker:
        with broker.scope():
            broker.topic("payments").create(3)
            broker.topic("payments").put("one")
            broker.group("g").commit({("orders", 0): 1})
            broker.cluster.kill(2)
            broker.cluster.revive(2)
        assert (broker.topics(), broker.groups()) == (["orders"], [])
        broker.topic("orders").put("one")
        assert len(broker.topic("orders").wait_for(1)) == 1
        broker.reset()
        assert broker.topic("orders").records() == []
        broker.topic("orders").put("two")
        assert len(broker.topic("orders").wait_for(1)) == 1


def test_a_busy_port_is_raised_in_the_callers_thread() -> None:
    with (
        MockBroker() as first,
        pytest.raises(OSError, match=r"[Aa]ddress already in use"),
        MockBroker(port=first.port),
    ):
        pass


def test_stopping_what_did_not_start_is_harmless() -> None:
    with MockBroker() as first:
        second = MockBroker(port=first.port)
        with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
            second.start()
        second.stop()


async def test_stop_is_not_for_a_broker_in_the_callers_loop() -> None:
    async with MockBroker() as broker:
        port = broker.port
        broker.stop()
        assert broker.port == port
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


def test_a_scope_takes_away_what_was_made_inside() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        with broker.scope():
            broker.topic("payments").put("one")
            broker.topic("orders").put("goes too")
            broker.topic("orders").delete()
            broker.topic("orders").create(4)
            broker.group("g").commit({("orders", 0): 1})
        assert broker.topics() == ["orders"]
        assert broker.groups() == []
        assert broker.topic("orders").records() == []
        assert broker.topic("orders").partitions == 1


def test_views_need_a_running_broker() -> None:
    broker = MockBroker()
    with pytest.raises(RuntimeError, match="not running"):
        broker.topic("orders")
    with pytest.raises(RuntimeError, match="not running"), broker.scope():
        pass


def test_a_snapshot_is_gone_back_to_and_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "state.zip"
    with MockBroker(topics={"orders": 1}) as broker:
        broker.topic("orders").put("one")
        snapshot = broker.snapshot(path)
        broker.topic("orders").put("two")
        broker.restore(snapshot)
        assert len(broker.topic("orders").records()) == 1
    with MockBroker() as broker:
        broker.restore(path)
        assert broker.topic("orders").records()[0].value == b"one"
        with pytest.raises(SnapshotError, match="No such file"):
            broker.restore(tmp_path / "nope")
        assert broker.topics() == ["orders"]


def test_a_scope_takes_back_faults_and_the_clock() -> None:
    with MockBroker() as broker:
        (kept,) = broker.faults.add(
            {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "maybe": True}
        )
        broker.clock.rate = 2.0
        wall_ms = broker.clock.wall_ms
        with broker.scope():
            broker.faults.add({"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "maybe": True})
            broker.clock.rate = 5.0
            broker.clock.freeze()
            broker.clock.advance(timedelta(days=20))
            broker.clock.jump(timedelta(hours=-2))
        assert abs(broker.clock.wall_ms - wall_ms) < 60_000
        assert [fault.id for fault in broker.faults.list()] == [kept.id]
        assert (broker.clock.frozen, broker.clock.rate) == (False, 2.0)


def test_an_epoch_of_the_metadata_log_does_not_come_back_and_is_told() -> None:
    with MockBroker(controller_port=0) as broker:
        with broker.scope():
            broker.topic("orders").put("one")
        assert not list(broker.left_over)
        with broker.scope():
            broker.metadata_log.begin_epoch()
        assert list(broker.left_over) == ["the metadata log is in epoch 2, where it was in 1"]
        with broker.scope():
            pass
        assert not list(broker.left_over)


def test_a_scope_whose_end_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_scope: Scope[object]) -> None:
        raise OSError("broken")

    with MockBroker() as broker:
        monkeypatch.setattr(Scope, "restore", fail)
        with pytest.raises(OSError, match="broken"), broker.scope():
            pass
        monkeypatch.undo()
        assert list(broker.left_over) == ["the end of the scope failed"]


def test_a_reset_leaves_what_it_was_started_with() -> None:
    with MockBroker(topics={"orders": 2}, freeze_clock=True) as broker:
        broker.topic("orders").put("one")
        broker.topic("payments").put("one")
        broker.group("g").commit({("orders", 0): 1})
        wall_ms = broker.clock.wall_ms
        broker.clock.advance(timedelta(days=20))
        broker.faults.add({"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "maybe": True})
        broker.clock.unfreeze()
        asyncio.run(topics_of(broker.bootstrap_servers))
        broker.reset()
        assert broker.clock.wall_ms == wall_ms
        assert (broker.topics(), broker.groups(), list(broker.faults.list())) == (
            ["orders"],
            [],
            [],
        )
        assert broker.topic("orders").partitions == 2
        assert broker.topic("orders").records() == []
        assert broker.clock.frozen
        assert broker.journal.requests() == []


def test_a_cluster_goes_back_too() -> None:
    with MockBroker(brokers=3, topics={"orders": 3}) as broker:
        broker.topic("orders").put_all(["one", "two", "three"])
        snapshot = broker.snapshot()
        broker.topic("orders").put("four")
        broker.group("g").commit({("orders", 0): 1})
        broker.restore(snapshot)
        assert len(broker.topic("orders").records()) == 3
        assert broker.groups() == []
        broker.topic("orders").put("five")
        assert len(broker.topic("orders").wait_for(4)) == 4
        assert len(broker.cluster.isr("orders", 0)) == 3


def test_a_broker_that_is_dropped_warns_and_ends() -> None:
    before = broker_threads()
    brokers = [MockBroker().start()]
    with pytest.warns(ResourceWarning, match=r"<MockBroker 127\.0\.0\.1:\d+> was not stopped"):
        brokers.clear()
    assert broker_threads() == before
