"""A client is told the advertised address, or the one that it connected to."""

from __future__ import annotations

import pytest

from mockbroker.metadata.brokers import BrokerInfo, Endpoint, broker_endpoint, may_lead


class Client:
    def __init__(self, listener: str = "PLAINTEXT") -> None:
        self.listener = listener
        self.local_address = ("10.0.0.7", 19092)


@pytest.mark.parametrize(
    ("endpoints", "address"),
    [
        ({}, ("10.0.0.7", 19092)),
        ({"PLAINTEXT": Endpoint()}, ("10.0.0.7", 19092)),
        ({"PLAINTEXT": Endpoint("kafka")}, ("kafka", 19092)),
        ({"PLAINTEXT": Endpoint(port=9094)}, ("10.0.0.7", 9094)),
        ({"PLAINTEXT": Endpoint("kafka", 9094)}, ("kafka", 9094)),
        ({"OTHER": Endpoint("kafka", 9094)}, ("10.0.0.7", 19092)),
    ],
)
def test_what_is_not_advertised_is_as_the_client_connected(
    endpoints: dict[str, Endpoint], address: tuple[str, int]
) -> None:
    assert broker_endpoint(Client(), BrokerInfo(1, endpoints)) == address


@pytest.mark.parametrize(
    ("node", "replicas", "able"),
    [
        (1, [1, 2], True),
        (1, [2, 1], True),
        (2, [1, 2], False),
        (2, [2], True),
        (2, [2, 3], True),
        (2, [4, 2], True),
        (2, [9, 2], True),
        (4, [1, 4], False),
        (9, [9], False),
    ],
)
def test_a_remote_broker_leads_where_no_active_one_of_this_process_has_a_replica(
    node: int, replicas: list[int], able: bool
) -> None:
    brokers = {
        1: BrokerInfo(1),
        2: BrokerInfo(2, remote=True),
        3: BrokerInfo(3, remote=True)._replace(epoch=5),
        4: BrokerInfo(4, fenced=True),
    }
    assert may_lead(brokers, node, replicas) is able
    assert brokers[3].remote
