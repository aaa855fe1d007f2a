"""Replicas and links over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker import MockBroker
from tests.mockbroker.admin.conftest import Api as OneApi

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_one_broker_has_one_replica_and_no_links(api: Api) -> None:
    body = {"records": [{"value": "a", "partition": 0}]}
    assert api("POST", "/v1/topics/orders/records", body).status == 201
    (only,) = api("GET", "/v1/replicas/orders/0").body["replicas"]
    assert (only["node_id"], only["is_leader"], only["log_end_offset"]) == (1, True, 1)
    assert api("GET", "/v1/links").body == {"links": []}
    assert api.problem("GET", "/v1/replicas/orders/9")[0] == 404
    assert api.problem("GET", "/v1/replicas/none/0")[0] == 404


def test_several_are_told_with_what_is_held_and_cut() -> None:
    with MockBroker(brokers=3, admin_port=0) as broker:
        api = OneApi(broker)
        broker.topic("orders").create(1, replication_factor=3)
        state = api("GET", "/v1/topics/orders").body["partition_list"][0]
        follower = next(one for one in state["replicas"] if one != state["leader"])
        api("POST", "/v1/cluster/actions", {"actions": [
            {"action": "hold_follower", "topic": "orders", "partition": 0, "node_id": follower},
            {"action": "cut_link", "source": follower, "target": -1},
        ]})  # fmt: skip
        replicas = api("GET", "/v1/replicas/orders/0").body["replicas"]
        assert [one["node_id"] for one in replicas if one["follower_held"]] == [follower]
        assert [one["node_id"] for one in replicas if one["is_leader"]] == [state["leader"]]
        assert api("GET", "/v1/links").body["links"] == [
            {"source": follower, "target": -1, "cut": True, "held": False, "delay_ms": 0.0}
        ]
