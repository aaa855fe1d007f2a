"""Calls are answered in order on their own connection; what outlives it is not told."""

from __future__ import annotations

from random import Random

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import FetchRequest
from simulation.clients import RECONNECT_MS, Client, fetch_at_once
from tests.support.simulated import Simulated


class Idler(Client):
    """Counts how often it was connected."""

    connected = 0

    def ready(self) -> None:
        self.connected += 1


def idler() -> tuple[Simulated, Idler]:
    simulated = Simulated()
    client = Idler(simulated.setting, "idler", Random(0))
    client.start()
    return simulated, client


def test_topics_are_learnt_and_forgotten() -> None:
    simulated, client = idler()
    done: list[bool] = []
    client.names = ["t0", "nobody's"]
    client.learn_topics(lambda: done.append(True))
    simulated.world.run_for(0)
    assert done
    assert list(client.topics) == ["t0"]
    assert client.topics["t0"].leader_epochs == [0, 0]


def test_calls_are_answered_in_order() -> None:
    simulated, client = idler()
    told: list[int] = []
    for number in range(3):

        def take(_: ApiVersionsResponse, number: int = number) -> None:
            told.append(number)

        client.call(ApiVersionsRequest(), 0, ApiVersionsResponse, take)
    simulated.world.run_for(0)
    assert told == [0, 1, 2]
    assert not simulated.violations


def test_a_client_connects_again_until_it_leaves() -> None:
    simulated, client = idler()
    assert client.channel is not None
    client.channel.wire.cut(0)
    simulated.world.run_for(RECONNECT_MS)
    assert client.connected == 2
    client.leave()
    simulated.world.run_for(RECONNECT_MS)
    assert simulated.world.wires() == []
    assert client.connected == 2


def test_an_answer_of_an_earlier_turn_is_not_told() -> None:
    simulated, client = idler()
    told: list[object] = []
    client.call(ApiVersionsRequest(), 0, ApiVersionsResponse, told.append)
    client.after(1, lambda: told.append("scheduled"))
    client.stop()
    client.go_on()
    simulated.world.run_for(2)
    assert told == []
    assert client.connected == 2


def test_a_wrong_correlation_id_is_a_violation() -> None:
    simulated, client = idler()
    channel = client.channel
    assert channel is not None
    channel.data_received(b"\0\0\0\4\0\0\0\1")
    assert simulated.violations == ["0.000 ms: idler got an answer to nothing"]


def test_a_probe_is_answered_between_events() -> None:
    simulated = Simulated()
    assert fetch_at_once(simulated.world, FetchRequest(), 12).session_id == 0
