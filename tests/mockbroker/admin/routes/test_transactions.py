"""Transactions over HTTP, made by a real transactional producer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from tests.support.transactional_producer import with_open_transaction

if TYPE_CHECKING:
    import pytest

    from tests.mockbroker.admin.conftest import Api


def test_an_open_transaction_is_seen_and_can_be_forgotten(api: Api) -> None:
    producer = with_open_transaction(api.broker.bootstrap_servers)
    listed = api("GET", "/v1/transactions").body["transactions"]
    assert [(one["transactional_id"], one["state"]) for one in listed] == [("tx", "Ongoing")]
    shown = api("GET", "/v1/transactions/tx").body
    assert shown["partitions"] == [{"topic": "orders", "partition": 1}]
    assert api("DELETE", "/v1/transactions/tx").status == 204
    assert api.problem("GET", "/v1/transactions/tx")[0] == 404
    try:
        producer.commit_transaction(20)
    except KafkaException:
        committed = False
    else:
        committed = True
    assert not committed


def test_an_unknown_id_is_told(api: Api) -> None:
    assert api.problem("DELETE", "/v1/transactions/x") == (
        404,
        "there is no transactional id 'x'",
        "transactional_id",
    )


def test_an_abort_that_is_not_replicated_is_a_conflict(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = with_open_transaction(api.broker.bootstrap_servers)
    with monkeypatch.context() as patched:
        patched.setattr("mockbroker.state.transactions.FORGET_TIMEOUT_MS", 10)
        patched.setattr("mockbroker.state.transactions.forget", lambda *_: True)
        status, problem, field = api.problem("DELETE", "/v1/transactions/tx")
    assert (status, field) == (409, "transactional_id")
    assert problem == "transactional id tx: its abort was not replicated, it is Ongoing"
    producer.abort_transaction(20)
    assert api("DELETE", "/v1/transactions/tx").status == 204
