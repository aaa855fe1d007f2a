"""The cluster over HTTP."""

from __future__ import annotations

import socket
import ssl
import struct
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.cluster import actions
from mockbroker.telemetry.client_metrics import PushedMetrics
from tests.mockbroker.admin.conftest import Api

if TYPE_CHECKING:
    from collections.abc import Iterator

ACTIONS = "/v1/cluster/actions"


@pytest.fixture
def three() -> Iterator[Api]:
    with MockBroker(brokers=3, topics={"orders": 1}, admin_port=0) as broker:
        yield Api(broker)


def test_the_cluster_tells_how_to_reach_it(api: Api) -> None:
    cluster = api("GET", "/v1/cluster").body
    assert cluster["bootstrap_servers"] == api.broker.bootstrap_servers
    assert cluster["cluster_id"] == api.broker.cluster_id
    assert (cluster["topics"], cluster["groups"]) == (1, 0)
    assert [broker["fenced"] for broker in cluster["brokers"]] == [False]
    assert cluster["brokers"][0]["memory_limit_bytes"] is None


def test_brokers_tell_what_their_logs_hold_where_that_is_limited() -> None:
    with MockBroker(topics={"t": 1}, admin_port=0, memory_limit="1M") as broker:
        broker.topic("t").put(b"x" * 1000)
        (told,) = Api(broker)("GET", "/v1/cluster").body["brokers"]
        assert told["memory_limit_bytes"] == 1 << 20
        assert 1000 < told["log_bytes"] < 1200
        text = Api(broker)("GET", "/metrics").text
        assert f'mockbroker_log_memory_held_bytes{{broker="1"}} {told["log_bytes"]}\n' in text


def test_connections_are_listed_while_they_are_open(api: Api) -> None:
    before = api("GET", "/v1/connections").body["connections"]
    with socket.create_connection((api.broker.host, api.broker.port)) as sock:
        ask = struct.pack(">hhih", 18, 0, 1, 4) + b"here"
        sock.sendall(struct.pack(">i", len(ask)) + ask)
        assert sock.recv(4)
        listed = api("GET", "/v1/connections").body["connections"]
    (opened,) = [one for one in listed if one not in before]
    assert (opened["client_id"], opened["requests"]) == ("here", 1)
    assert (opened["principal"], opened["tls_version"]) == ("User:ANONYMOUS", None)


def test_a_connection_tells_its_tls() -> None:
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    config = {"ssl.client.auth": "required"}
    with MockBroker(tls="auto", config=config, admin_port=0) as broker:
        context = ssl.create_default_context(cafile=broker.ca_file)
        context.load_cert_chain(broker.client_file("alice"))
        with (
            socket.create_connection((broker.host, broker.port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as sock,
        ):
            ask = struct.pack(">hhih", 18, 0, 1, 4) + b"here"
            sock.sendall(struct.pack(">i", len(ask)) + ask)
            assert sock.recv(4)
            (opened,) = Api(broker)("GET", "/v1/connections").body["connections"]
            version, cipher = sock.version(), sock.cipher()
        assert cipher is not None
        assert (opened["tls_version"], opened["tls_cipher"]) == (version, cipher[0])
        assert (opened["principal"], opened["listener"]) == ("User:CN=alice", "SSL")


def test_actions_are_done_one_after_the_other(three: Api) -> None:
    leader = three.broker.cluster.leader("orders", 0)
    follower = leader % 3 + 1
    wanted = [
        {"action": "move_leader", "topic": "orders", "partition": 0, "to": follower},
        {"action": "kill", "node_id": leader},
    ]
    answer = three("POST", ACTIONS, {"actions": wanted})
    states = {one["node_id"]: (one["running"], one["fenced"]) for one in answer.body["brokers"]}
    assert states[leader] == (False, True)
    assert states[follower] == (True, False)
    assert three.broker.cluster.leader("orders", 0) == follower
    answer = three("POST", ACTIONS, {"actions": [{"action": "revive", "node_id": leader}]})
    assert all(one["running"] for one in answer.body["brokers"])


def test_nothing_is_done_when_one_action_makes_no_sense(three: Api) -> None:
    wanted = [{"action": "kill", "node_id": 1}, {"action": "kill", "node": 2}]
    status, detail, field = three.problem("POST", ACTIONS, {"actions": wanted})
    assert (status, field) == (422, "actions.1.node")
    assert detail == "actions.1.node: kill has no such field; allowed: node_id, fence, lose"
    assert three.broker.cluster.brokers == [1, 2, 3]


def test_what_cannot_be_done_is_a_conflict_that_names_the_action(three: Api) -> None:
    wanted = [{"action": "kill", "node_id": 1}, {"action": "kill", "node_id": 1}]
    refused = three.problem("POST", ACTIONS, {"actions": wanted})
    assert refused == (409, "broker 1 is down", "actions.1")
    assert three.broker.cluster.brokers == [2, 3]


def test_one_broker_says_that_it_is_alone(api: Api) -> None:
    status, detail, _ = api.problem(
        "POST", ACTIONS, {"actions": [{"action": "kill", "node_id": 1}]}
    )
    assert (status, detail.startswith("there is one broker only")) == (409, True)


def test_the_coordinator_of_a_group_is_told(three: Api) -> None:
    found = three("GET", "/v1/cluster/coordinators/billing").body
    assert found == {
        "group_id": "billing",
        "node_id": three.broker.cluster.coordinator("billing"),
    }


def test_the_document_has_every_action(api: Api) -> None:
    schemas = api("GET", "/v1/openapi.json").body["components"]["schemas"]
    kinds = schemas["ActionsIn"]["properties"]["actions"]["items"]["oneOf"]
    assert {one["properties"]["action"]["const"] for one in kinds} == actions.ACTIONS.keys()


def test_metrics_are_numbers_by_name(api: Api) -> None:
    metrics = api("GET", "/v1/metrics").body["metrics"]
    assert metrics.keys() == api.broker.metrics().keys()


def test_what_clients_pushed_is_listed(api: Api) -> None:
    pushed = PushedMetrics(b"\x01" * 16, "c", 7, terminating=True, metrics=b"\xff", pushed_ms=3)
    (node,) = api.broker._started().cluster.brokers
    node.services.client_metrics().pushed.append(pushed)
    (found,) = api("GET", "/v1/client-metrics").body["client_metrics"]
    assert (found["client_instance_id"], found["metrics"]) == ("01" * 16, "/w==")
