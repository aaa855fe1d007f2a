"""A Kafka cluster has the verbs of a MockBroker; what it cannot do is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import NotSupported
from mockbroker.testing.broker_views import BrokerViews
from mockbroker.testing.group_view import GroupView
from mockbroker.testing.kafka.broker import KafkaViews
from mockbroker.testing.kafka.groups import KafkaGroupView
from mockbroker.testing.kafka.topics import KafkaTopicView
from mockbroker.testing.topic_view import TopicView
from tests.mockbroker.testing.remote.test_broker import surface

if TYPE_CHECKING:
    from mockbroker import Kafka, MockBroker


@pytest.mark.parametrize(
    ("here", "there"), [(TopicView, KafkaTopicView), (GroupView, KafkaGroupView)]
)
def test_the_public_surface_is_the_same(here: type, there: type) -> None:
    assert surface(there) == surface(here)
    assert [name for name in surface(here) if name in vars(there)] == []


def test_no_verb_of_a_broker_in_process_is_left_over() -> None:
    here, there = surface(BrokerViews), surface(KafkaViews)
    views = [(name, getattr(KafkaViews, name)) for name in here]
    assert [name for name, own in views if own is getattr(BrokerViews, name)] == []
    assert {name: there[name] for name in here if name != "scope"} == {
        name: text for name, text in here.items() if name != "scope"
    }


@pytest.mark.parametrize("view", ["cluster", "journal", "faults", "clock", "metadata_log"])
def test_what_only_the_fake_has_is_named(kafka: Kafka, view: str) -> None:
    with pytest.raises(NotSupported, match=rf"^{view}\.anything: this is a Kafka cluster"):
        getattr(kafka, view).anything()


@pytest.mark.parametrize(
    ("verb", "arguments", "need"),
    [
        ("metrics", (), "metrics"),
        ("client_metrics", (), "client_metrics"),
        ("delegation_token", (), "delegation_tokens"),
        ("delegation_tokens", (), "delegation_tokens"),
        ("expire_delegation_token", ("id",), "delegation_tokens"),
        ("verdict", (), "faults"),
        ("verify", (), "faults"),
        ("reset", (), "reset"),
        ("left_over", (), "reset"),
        ("snapshot", (), "snapshots"),
        ("restore", ("file",), "snapshots"),
    ],
)
def test_a_verb_that_it_has_not_says_which_marker_skips_the_test(
    kafka: Kafka, verb: str, arguments: tuple[Any, ...], need: str
) -> None:
    with pytest.raises(NotSupported, match=rf"^{verb}: .*mockbroker_needs\('{need}'\)"):
        getattr(kafka, verb)(*arguments)


async def test_transactions_are_not_to_be_had_by_its_client(kafka: Kafka) -> None:
    why = r"AdminClient has neither .*mockbroker_needs\('transactions'\)"
    with pytest.raises(NotSupported, match=rf"^transactions: .*{why}"):
        kafka.transactions()
    with pytest.raises(NotSupported, match=rf"^transaction\.wait_state: .*{why}"):
        kafka.transaction("tx").wait_state("CompleteCommit")
    with pytest.raises(NotSupported, match=rf"^transaction\.forget: .*{why}"):
        await kafka.aio.transaction("tx").forget()


def test_what_its_client_has_not_is_not_there_yet() -> None:
    """Once it has them, they are to be used."""
    from confluent_kafka.admin import AdminClient

    assert [name for name in vars(AdminClient) if "transactions" in name] == []


def test_it_says_where_it_is(broker: MockBroker, kafka: Kafka) -> None:
    for name in ("bootstrap_servers", "host", "port", "cluster_id"):
        assert getattr(kafka, name) == getattr(broker, name), name
    assert (kafka.admin_url, kafka.controller_servers) == (None, None)


def test_a_scope_takes_away_what_begins_with_its_prefix(broker: MockBroker, kafka: Kafka) -> None:
    with kafka.scope("t1-"):
        for name in ("t1-a", "t2-a"):
            kafka.topic(name).create(1)
            kafka.group(name).commit({(name, 0): 0})
    assert (broker.topics(), broker.groups()) == (["orders", "t2-a"], ["t2-a"])
    with kafka.scope():
        kafka.topic("any").create(1)
    assert broker.topics() == ["orders", "t2-a"]
