"""What a Kafka cluster is asked for."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest

from mockbroker import Kafka, NotSupported, TopicError
from mockbroker.state.groups import GroupError
from mockbroker.testing.kafka import client

if TYPE_CHECKING:
    from mockbroker import MockBroker


def test_who_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 0.2)
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1: "):
        Kafka.connect("127.0.0.1:1")


def test_the_library_is_asked_for_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(NotSupported, match=r"install mockbroker\[kafka\]"):
        Kafka.connect("127.0.0.1:1")


def test_properties_are_passed_through(broker: MockBroker) -> None:
    Kafka.connect(broker.bootstrap_servers, config={"client.id": "the-suite"}).topics()
    assert broker.journal.requests(client="the-suite", api="Metadata")


def test_a_group_is_asked_about_again_while_its_coordinator_is_found(
    broker: MockBroker, kafka: Kafka
) -> None:
    broker.group("billing").commit({("orders", 0): 0})
    rule = {"api": "OffsetFetch", "error": "COORDINATOR_LOAD_IN_PROGRESS", "count": 1}
    with broker.faults.armed(rule):
        assert kafka.group("billing").committed() == {("orders", 0): 0}


def test_a_cluster_that_has_no_coordinators_yet_is_asked_until_it_has(broker: MockBroker) -> None:
    """As a Kafka that was just started: it makes its topic of offsets when it is first asked."""
    broker.group("shipping").commit({("orders", 0): 0})
    kafka = Kafka.connect(broker.bootstrap_servers)
    rule = {"api": "FindCoordinator", "error": "COORDINATOR_NOT_AVAILABLE", "count": 3}
    with broker.faults.armed(rule):
        assert kafka.group("shipping").wait_empty().state == "Empty"
    assert kafka.group("shipping").committed() == {("orders", 0): 0}


def test_who_is_not_answered_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 0.0)
    silent: Future[None] = Future()
    with pytest.raises(GroupError, match=r"^no answer in 0 s; ask again$"):
        client._result(silent, GroupError)


def test_a_refused_record_says_why(broker: MockBroker, kafka: Kafka) -> None:
    with pytest.raises(TopicError, match=r"topic orders: .*[Uu]nknown partition"):
        kafka.topic("orders").put("x", partition=7)


def test_names_of_a_scope() -> None:
    assert client.names_with("a-", ["a-1", "a-2", "b"], {"a-2"}) == ["a-1"]
    assert client.names_with(None, ["a", "b"], {"b"}) == ["a"]
