"""`broker.aio` has every verb of the blocking views, with the same parameters and results."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, assert_type

import pytest

from mockbroker import MockBroker
from mockbroker.state.groups import Group
from mockbroker.state.reading import Record
from mockbroker.state.writing import Position
from mockbroker.testing import aio
from mockbroker.testing.broker_views import BrokerViews
from mockbroker.testing.clock_view import ClockView
from mockbroker.testing.cluster_view import ClusterView
from mockbroker.testing.faults_view import FaultsView
from mockbroker.testing.group_view import GroupView
from mockbroker.testing.journal_view import Expectation, JournalView
from mockbroker.testing.metadata_log_view import MetadataLogView
from mockbroker.testing.topic_view import TopicView
from mockbroker.testing.transaction_view import TransactionView

if TYPE_CHECKING:
    from pathlib import Path


PAIRS: list[tuple[type, type]] = [
    (TopicView, aio.AsyncTopicView),
    (GroupView, aio.AsyncGroupView),
    (TransactionView, aio.AsyncTransactionView),
    (Expectation, aio.AsyncExpectation),
    (JournalView, aio.AsyncJournalView),
    (FaultsView, aio.AsyncFaultsView),
    (ClockView, aio.AsyncClockView),
    (ClusterView, aio.AsyncClusterView),
    (MetadataLogView, aio.AsyncMetadataLogView),
    (BrokerViews, aio.AsyncBroker),
]
# What needs no step of the broker is on `MockBroker` alone, or is no coroutine there either.
ON_MOCK_BROKER = {"admin_url", "cluster_id", "controller_servers", "host", "port"}
NO_COROUTINES = {
    "CONTROLLER", "armed", "bootstrap_servers", "clock", "cluster", "expect", "faults", "group",
    "group_id", "journal", "metadata_log", "name", "scope", "topic",
    "transaction", "transactional_id",
}  # fmt: skip


def public(view: type) -> set[str]:
    return {name for name in dir(view) if not name.startswith("_")}


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
def test_no_verb_is_missing_on_either_side(blocking: type, awaited: type) -> None:
    of_instances = {"name"} if blocking is TopicView else set()
    of_instances |= {"group_id"} if blocking is GroupView else set()
    of_instances |= {"transactional_id"} if blocking is TransactionView else set()
    assert public(blocking) - ON_MOCK_BROKER | of_instances == public(awaited)


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
def test_parameters_are_the_same_and_what_waits_is_a_coroutine(
    blocking: type, awaited: type
) -> None:
    for name in public(awaited) - {"CONTROLLER", "name", "group_id", "transactional_id"}:
        ours, theirs = getattr(awaited, name), getattr(blocking, name)
        if isinstance(ours, property):
            assert isinstance(theirs, property)
            assert name in NO_COROUTINES
            continue
        assert name in NO_COROUTINES or inspect.iscoroutinefunction(ours)
        getter = getattr(theirs, "fget", theirs)
        assert (
            inspect.signature(ours).parameters.keys() == inspect.signature(getter).parameters.keys()
        )


def test_the_verbs_of_a_broker_are_all_there() -> None:
    # What is over at once is not awaited: files, and what a client is configured with.
    configured = {"ca_file", "client_config", "client_file", "token"}
    alone = {"aio", "connect", "start", "stop"} | configured
    assert public(MockBroker) - public(BrokerViews) == alone


async def test_each_verb_of_a_topic_is_awaited(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([{"id": 1}]))
    async with MockBroker() as broker:
        topic = broker.aio.topic("orders")
        assert assert_type(await topic.exists(), bool) is False
        created = await topic.create(2, config={"retention.ms": "1000"})
        assert assert_type(created, aio.AsyncTopicView) is topic
        assert assert_type(await topic.partitions(), int) == 2
        assert await topic.exists()
        assert await topic.config() == {"retention.ms": "1000"}
        put = assert_type(await topic.put("one", partition=1), Position)
        assert (put.partition, put.offset) == (1, 0)
        assert len(await topic.put_all(["two", None])) == 2
        (loaded,) = await topic.load(tmp_path / "rows.json")
        records = assert_type(await topic.records(), list[Record])
        assert (loaded.partition, loaded.offset) in [(r.partition, r.offset) for r in records]
        assert len(await topic.wait_for(4)) == 4
        assert sum((await topic.end_offsets()).values()) == 4
        await topic.delete_records()
        assert await topic.records() == []
        await topic.delete()
        assert await broker.aio.topics() == []


async def test_each_verb_of_a_group_is_awaited() -> None:
    async with MockBroker(topics={"orders": 1}) as broker:
        await broker.aio.topic("orders").put("one")
        group = broker.aio.group("g")
        assert group.group_id == "g"
        assert assert_type(await group.state(), str) == "Dead"
        assert await group.commit({("orders", 0): 1}) == {("orders", 0): 1}
        assert assert_type(await group.describe(), Group).state == "Empty"
        assert await group.members() == []
        assert await group.committed() == await group.wait_committed({("orders", 0): 1})
        assert await group.lag() == await group.wait_caught_up() == {("orders", 0): 0}
        assert (await group.wait_empty()).group_id == (await group.wait_state("Empty")).group_id
        with pytest.raises(AssertionError, match="to be Stable: it is Empty"):
            await group.wait_stable(timeout=0)
        assert await broker.aio.groups() == ["g"]
        await group.delete()
        assert await broker.aio.groups() == []


async def test_journal_faults_clock_and_the_rest_are_awaited() -> None:
    async with MockBroker(brokers=2, topics={"orders": 1}) as broker:
        rule_data = {"api": "Produce", "error": "UNKNOWN_SERVER_ERROR", "maybe": True}
        journal, faults, clock = broker.aio.journal, broker.aio.faults, broker.aio.clock
        assert await journal.cursor() >= len(await journal.requests())
        assert len((await journal.tail(1)).splitlines()) <= 1
        assert await journal.events()
        async with faults.armed(rule_data) as (rule,):
            assert [status.id for status in await faults.list()] == [rule.id]
            assert await faults.release(rule) == 0
        assert await faults.list() == []
        (rule,) = await faults.add(rule_data)
        assert (await faults.remove(rule)).hits == 0
        await faults.clear()
        await clock.freeze()
        assert await clock.frozen()
        before = assert_type(await clock.now_ms(), float)
        await clock.advance(500)
        assert await clock.now_ms() == before + 500
        wall_ms = await clock.wall_ms()
        await clock.jump(1000)
        assert await clock.wall_ms() == wall_ms + 1000
        await clock.unfreeze()
        await clock.set_rate(2.0)
        assert await clock.rate() == 2.0
        cluster = broker.aio.cluster
        assert len(assert_type(await cluster.brokers(), list[int])) == 2
        leader = await cluster.leader("orders", 0)
        assert leader in await cluster.wait_in_sync("orders", 0)
        assert await cluster.records("orders", 0, leader) == []
        assert await broker.aio.metrics()


async def test_scope_reset_and_snapshots_are_awaited(tmp_path: Path) -> None:
    async with MockBroker(controller_port=0) as broker:
        async with broker.aio.scope() as scope:
            await scope.topic("inside").create()
            assert await scope.topics() == ["inside"]
        assert await broker.aio.topics() == []
        await broker.aio.topic("kept").put("one")
        snapshot = await broker.aio.snapshot(tmp_path / "kept.zip")
        await broker.aio.reset()
        assert await broker.aio.topics() == []
        await broker.aio.restore(tmp_path / "kept.zip")
        assert [topic.name for topic in snapshot.topics] == await broker.aio.topics() == ["kept"]
        log = broker.aio.metadata_log
        end = await log.end_offset()
        await log.hold_commits()
        assert await log.append_no_op() == end
        await log.release_commits()
        await log.begin_epoch()
        assert await log.high_watermark() == await log.end_offset()
    with pytest.raises(RuntimeError, match="not running"):
        _ = broker.aio
