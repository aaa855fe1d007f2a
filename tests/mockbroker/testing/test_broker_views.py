"""The verbs of a running broker, by whichever view; what they do to it is in test_mock_broker."""

from __future__ import annotations

import pytest

from mockbroker import Delay, Fault, MockBroker
from mockbroker.testing.broker_views import BrokerViews


def test_without_a_broker_each_verb_says_so() -> None:
    views = BrokerViews()
    assert repr(views) == "<BrokerViews not running>"
    verbs = (views.topics, views.groups, views.transactions, views.metrics, views.reset)
    for verb in (*verbs, views.snapshot):
        with pytest.raises(RuntimeError, match="the broker is not running"):
            verb()


def test_a_broker_prints_where_it_is() -> None:
    with MockBroker() as broker:
        assert repr(broker) == f"<MockBroker {broker.bootstrap_servers}>"
        assert repr(broker.journal) == "JournalView(since=0)"
        assert repr(broker.aio.topic("orders")) == "AsyncTopicView('orders')"


def test_an_inner_scope_gives_the_outer_one_s_journal_back() -> None:
    with MockBroker() as broker, broker.scope():
        broker.topic("outer").create()
        with broker.scope():
            broker.topic("inner").create()
        assert broker.topics() == ["outer"]
    assert repr(broker) == "<MockBroker not running>"


def test_whatever_a_test_is_given_says_what_it_is() -> None:
    with MockBroker(topics=["orders"], controller_port=0) as broker:
        (rule,) = broker.faults.add({"api": "Fetch", "observe": True, "maybe": True})
        given = [
            *(broker, broker.topic("orders"), broker.group("g"), broker.cluster, broker.clock),
            *(broker.faults, rule, rule.status(), broker.journal, broker.metadata_log),
            *(broker.journal.expect(api="Fetch"), broker.snapshot(), broker.verdict()),
            *(broker.topic("orders").put("x"), broker.topic("orders").records()[0]),
            *(Fault(drop=True), Delay(1), broker.group("g").describe()),
            *(broker.transaction("tx"), broker.transaction("tx").describe()),
        ]
        aio = broker.aio
        given += [aio, aio.topic("orders"), aio.faults, aio.clock, aio.cluster, aio.journal]
    shown = [repr(one) for one in given]
    assert [text for text in shown if " object at 0x" in text] == []
    assert repr(broker) == "<MockBroker not running>"
