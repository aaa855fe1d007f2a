"""Transactions over HTTP, made by a real transactional producer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, Producer

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_an_open_transaction_is_seen_and_can_be_forgotten(api: Api) -> None:
    producer = Producer(
        {"bootstrap.servers": api.broker.bootstrap_servers, "transactional.id": "tx"}
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("orders", b"a", partition=1)
    producer.flush(20)
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
