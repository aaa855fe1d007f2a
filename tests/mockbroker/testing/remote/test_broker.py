"""A broker elsewhere has the verbs of one here, under the same signatures."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import AdminApiError, MockBroker, NotSupported, SnapshotError, VerificationError
from mockbroker.testing.broker_views import BrokerViews
from mockbroker.testing.clock_view import ClockView
from mockbroker.testing.cluster_view import ClusterView
from mockbroker.testing.faults_view import FaultRule, FaultsView
from mockbroker.testing.group_view import GroupView
from mockbroker.testing.journal_view import Expectation, JournalView
from mockbroker.testing.remote.broker import RemoteViews
from mockbroker.testing.remote.cluster import RemoteClockView, RemoteClusterView
from mockbroker.testing.remote.faults import RemoteFaultRule, RemoteFaultsView
from mockbroker.testing.remote.groups import RemoteGroupView
from mockbroker.testing.remote.journal import RemoteExpectation, RemoteJournalView
from mockbroker.testing.remote.topics import RemoteTopicView
from mockbroker.testing.remote.transactions import RemoteTransactionView
from mockbroker.testing.topic_view import TopicView
from mockbroker.testing.transaction_view import TransactionView

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.testing.remote.broker import RemoteBroker

VERBS_OVER_HOOKS: list[tuple[type, type]] = [
    (TopicView, RemoteTopicView),
    (GroupView, RemoteGroupView),
    (TransactionView, RemoteTransactionView),
    (ClusterView, RemoteClusterView),
    (ClockView, RemoteClockView),
]
VERBS_OF_THEIR_OWN: list[tuple[type, type]] = [
    (BrokerViews, RemoteViews),
    (FaultsView, RemoteFaultsView),
    (FaultRule, RemoteFaultRule),
    (JournalView, RemoteJournalView),
    (Expectation, RemoteExpectation),
]


def surface(kind: type) -> dict[str, str]:
    """Public names with their signatures; a property as that of its getter."""
    found = {}
    for name, member in inspect.getmembers(kind):
        getter = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(getter):
            found[name] = f"{type(member).__name__}{inspect.signature(getter)}"
    return found


@pytest.mark.parametrize(("here", "there"), VERBS_OVER_HOOKS + VERBS_OF_THEIR_OWN)
def test_the_public_surface_is_the_same(here: type, there: type) -> None:
    found = surface(there)
    if "scope" in found:  # what is shared with others takes a prefix too
        found["scope"] = found["scope"].replace("self, prefix: 'str | None' = None", "self")
    assert found == surface(here)


@pytest.mark.parametrize(("here", "there"), VERBS_OVER_HOOKS)
def test_a_verb_stands_once(here: type, there: type) -> None:
    assert [name for name in surface(here) if name in vars(there)] == []


@pytest.mark.parametrize(("here", "there"), VERBS_OF_THEIR_OWN)
def test_no_verb_of_a_broker_in_process_is_left_over(here: type, there: type) -> None:
    """Whoever adds a verb adds it here too."""
    views = [(name, getattr(there, name)) for name in surface(here)]
    assert [name for name, own in views if own is getattr(here, name)] == []


def test_it_says_where_it_is(broker: MockBroker, remote: RemoteBroker) -> None:
    for name in ("bootstrap_servers", "host", "port", "admin_url", "cluster_id"):
        assert getattr(remote, name) == getattr(broker, name), name
    assert repr(remote) == f"<RemoteBroker {broker.bootstrap_servers}>"
    assert broker.admin_url
    told = MockBroker.connect(broker.admin_url, bootstrap_servers="broker.test:9092")
    assert (told.host, told.port) == ("broker.test", 9092)


def test_who_is_no_broker_is_refused(broker: MockBroker) -> None:
    with pytest.raises(AdminApiError, match="does not answer"):
        MockBroker.connect("http://127.0.0.1:1")


def test_its_metrics_are_those_of_the_broker(broker: MockBroker, remote: RemoteBroker) -> None:
    assert remote.metrics().keys() == broker.metrics().keys()
    assert remote.client_metrics() == broker.client_metrics() == []


def test_a_scope_takes_away_what_was_made_inside(broker: MockBroker, remote: RemoteBroker) -> None:
    remote.topic("orders").put("kept")
    remote.clock.freeze()
    with remote.scope() as scoped:
        scoped.topic("inner").create()
        scoped.group("billing").commit({("orders", 0): 1})
        scoped.clock.unfreeze()
        scoped.faults.add({"api": "Fetch", "drop": True, "maybe": True})
    assert (broker.topics(), broker.groups(), broker.clock.frozen) == (["orders"], [], True)
    assert list(broker.faults.list()) == []
    with pytest.raises(VerificationError, match="never fired"), remote.scope():
        remote.faults.add({"api": "Fetch", "drop": True})


async def test_what_the_end_of_a_scope_or_a_reset_could_not_take_back_is_told() -> None:
    again = ("the metadata log is in epoch 2, where it was in 1",)
    with MockBroker(controller_port=0, admin_port=0) as broker:
        remote = MockBroker.connect(broker.admin_url or "")
        with remote.scope():
            broker.metadata_log.begin_epoch()
        assert remote.left_over == broker.left_over == again
        with remote.scope():
            pass
        assert await remote.aio.left_over() == await broker.aio.left_over() == ()
        remote.reset()
        assert remote.left_over == again


async def test_a_scope_of_coroutines(broker: MockBroker, remote: RemoteBroker) -> None:
    async with remote.aio.scope() as scoped:
        await scoped.topic("inner").create()
        assert await scoped.topics() == ["inner", "orders"]
    assert broker.topics() == ["orders"]
    with pytest.raises(KeyError):
        async with remote.aio.scope():
            raise KeyError
    async with remote as same:
        assert same is remote


def test_a_snapshot_is_taken_and_restored(remote: RemoteBroker, tmp_path: Path) -> None:
    orders = remote.topic("orders")
    orders.put("one")
    file = tmp_path / "state.zip"
    snapshot = remote.snapshot(file)
    orders.put("two")
    remote.restore(snapshot)
    assert [one.value for one in orders.records()] == [b"one"]
    orders.delete_records()
    remote.restore(file)
    assert [one.value for one in orders.records()] == [b"one"]
    with pytest.raises(SnapshotError, match="nowhere"):
        remote.snapshot(tmp_path / "nowhere" / "state.zip")
    file.write_bytes(b"no")
    with pytest.raises(SnapshotError, match="not a snapshot"):
        remote.restore(file)


def test_what_the_admin_api_has_not_is_named(remote: RemoteBroker) -> None:
    log: Any = remote.metadata_log
    with pytest.raises(NotSupported, match=r"metadata_log\.begin_epoch: the admin API"):
        log.begin_epoch()
    assert remote.controller_servers is None
