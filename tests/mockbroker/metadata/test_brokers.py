"""A client is told the advertised address, or the one that it connected to."""

from __future__ import annotations

import pytest

from mockbroker.metadata.brokers import BrokerInfo, Endpoint, broker_endpoint


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
