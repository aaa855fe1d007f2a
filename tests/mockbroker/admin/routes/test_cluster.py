"""The cluster over HTTP."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_the_cluster_tells_how_to_reach_it(api: Api) -> None:
    cluster = api("GET", "/v1/cluster").body
    assert cluster["bootstrap_servers"] == api.broker.bootstrap_servers
    assert cluster["cluster_id"] == api.broker.cluster_id
    assert (cluster["topics"], cluster["groups"]) == (1, 0)
    assert [broker["fenced"] for broker in cluster["brokers"]] == [False]


def test_connections_are_listed_while_they_are_open(api: Api) -> None:
    before = api("GET", "/v1/connections").body["connections"]
    with socket.create_connection((api.broker.host, api.broker.port)) as sock:
        ask = struct.pack(">hhih", 18, 0, 1, 4) + b"here"
        sock.sendall(struct.pack(">i", len(ask)) + ask)
        assert sock.recv(4)
        listed = api("GET", "/v1/connections").body["connections"]
    (opened,) = [one for one in listed if one not in before]
    assert (opened["client_id"], opened["requests"]) == ("here", 1)
