"""What travels between nodes: over their links, to connections that no shell sees."""

from __future__ import annotations

import pytest

from mockbroker.cluster.links.broker_client import BrokerClient
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.cluster_core import ClusterCore

TIMEOUT_MS = 30_000


class Asked:
    """A client of broker 2 at broker 1, and what it was answered."""

    def __init__(self, core: ClusterCore) -> None:
        self.core = core
        self.answers: list[object | None] = []
        incarnation = core.peers.running[1]
        self.client = BrokerClient(
            core.cluster.interconnect,
            incarnation.clock,
            incarnation.timer,
            1,
            2,
            "test",
            TIMEOUT_MS,
        )

    @property
    def connection_id(self) -> int:
        """Of the client; 0 without a connection."""
        return self.client.connection_id or 0

    def ask(self) -> None:
        self.client.send(ApiVersionsRequest(), 0, self.answers.append)
        self.core.deliver()


@pytest.fixture
def asked() -> Asked:
    return Asked(ClusterCore())


def test_a_request_and_its_answer_travel_within_a_step(asked: Asked) -> None:
    asked.ask()
    (answer,) = asked.answers
    assert isinstance(answer, ApiVersionsResponse)


def test_a_connection_between_brokers_is_in_no_outbox(asked: Asked) -> None:
    asked.ask()
    assert asked.connection_id < 0
    assert [asked.core.cluster.take_outbox(index) for index in range(3)] == [[], [], []]


def test_who_asks_a_broker_that_is_down_loses_the_connection(asked: Asked) -> None:
    asked.core.controls.kill(2)
    asked.ask()
    assert asked.answers == [None]
    assert not asked.connection_id


def test_a_broker_that_goes_down_breaks_the_connections_to_it(asked: Asked) -> None:
    asked.core.controls.hold_link(2, 1)
    asked.ask()
    assert asked.answers == []
    asked.core.controls.kill(2)
    asked.core.controls.restore_link(2, 1)
    asked.core.deliver()
    assert isinstance(asked.answers[0], ApiVersionsResponse)
    assert not asked.connection_id


def test_a_link_that_was_cut_resets_its_connections_when_it_carries_again(asked: Asked) -> None:
    asked.core.controls.cut_link(1, 2)
    asked.ask()
    assert asked.answers == []
    asked.core.controls.restore_link(1, 2)
    assert asked.answers == [None]
    asked.ask()
    assert isinstance(asked.answers[1], ApiVersionsResponse)


def test_a_client_that_hangs_up_is_forgotten_at_the_other_end(asked: Asked) -> None:
    asked.ask()
    broker = asked.core.cluster.broker(2)
    assert broker is not None
    assert broker.connection(connection_id := asked.connection_id) is not None
    asked.client.close()
    asked.core.deliver()
    assert broker.connection(connection_id) is None
