"""Groups over HTTP."""

from __future__ import annotations

from mockbroker import MockBroker
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.mockbroker.admin.conftest import Api
from tests.support.blocking import BlockingConnection


def commit(api: Api, group: str, offset: int) -> None:
    at = {"topic": "orders", "partition": 0, "offset": offset}
    assert api("PUT", f"/v1/groups/{group}/offsets", {"offsets": [at]}).status == 200


def test_a_group_shows_what_it_committed_and_how_far_it_is_behind(api: Api) -> None:
    records = [{"value": str(n), "partition": 0} for n in range(5)]
    api("POST", "/v1/topics/orders/records", {"records": records})
    commit(api, "g", 2)
    group = api("GET", "/v1/groups/g").body
    assert (group["state"], group["lag"]) == ("Empty", 3)
    assert group["offsets"] == [{"topic": "orders", "partition": 0, "offset": 2, "lag": 3}]
    listed = api("GET", "/v1/groups").body["groups"]
    assert [(one["group_id"], one["lag"]) for one in listed] == [("g", 3)]


def test_a_group_is_deleted_once(api: Api) -> None:
    commit(api, "g", 0)
    assert api("DELETE", "/v1/groups/g").status == 204
    assert api.problem("DELETE", "/v1/groups/g")[:1] == (404,)


def test_waiting_looks_at_each_condition(api: Api) -> None:
    commit(api, "g", 0)
    for wanted, met in (
        ({"state": "empty"}, True),
        ({"state": "Stable"}, False),
        ({"members": 0, "lag_at_most": 0}, True),
        ({"members": 1}, False),
    ):
        found = api("POST", "/v1/groups/g/wait", {**wanted, "timeout_ms": 1}).body
        assert found["met"] is met, wanted
    assert "is Dead" in api("POST", "/v1/groups/x/wait", {"members": 1, "timeout_ms": 1}).text


def test_an_unknown_partition_is_refused(api: Api) -> None:
    at = {"topic": "orders", "partition": 7, "offset": 0}
    status, detail, _ = api.problem("PUT", "/v1/groups/g/offsets", {"offsets": [at]})
    assert status == 409
    assert "orders-7" in detail


def test_a_group_of_the_consumer_protocol_is_shown_waited_for_and_deleted(api: Api) -> None:
    client = BlockingConnection(api.broker.bootstrap_servers)
    join = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m1",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    epoch = client.call(join, 1, ConsumerGroupHeartbeatResponse).member_epoch
    wanted = {"state": "stable", "members": 1, "timeout_ms": 1}
    assert api("POST", "/v1/groups/g/wait", wanted).body["met"]
    group = api("GET", "/v1/groups/g").body
    assert (group["type"], group["generation_id"], group["protocol"]) == (
        "consumer", epoch, "uniform",
    )  # fmt: skip
    (member,) = group["member_list"]
    assert (member["member_id"], member["epoch"]) == ("m1", epoch)
    partitions = api.broker.topic("orders").partitions
    assert member["assignment"] == {"orders": list(range(partitions))}
    assert api("DELETE", "/v1/groups/g").status == 204
    assert api("GET", "/v1/groups").body["groups"] == []
    client.close()


def test_a_commit_to_several_brokers_is_there_when_it_is_answered() -> None:
    with MockBroker(brokers=3, topics={"orders": 1}, admin_port=0) as broker:
        body = {"offsets": [{"topic": "orders", "partition": 0, "offset": 0}]}
        answer = Api(broker)("PUT", "/v1/groups/billing/offsets", body)
        assert (answer.status, answer.body["offsets"][0]["offset"]) == (200, 0)
