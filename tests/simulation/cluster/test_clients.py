"""A client of the cluster finds leaders, and learns when no answer will come."""

from __future__ import annotations

from random import Random

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from simulation.cluster.clients import REQUEST_TIMEOUT_MS, ClusterClient
from tests.support.simulated_cluster import SimulatedCluster


def client_of(simulated: SimulatedCluster) -> ClusterClient:
    return ClusterClient(
        simulated.world, "client", Random(0), simulated.truth, simulated.plan.topics
    )


def test_it_learns_who_leads() -> None:
    simulated = SimulatedCluster()
    client = client_of(simulated)
    client.learn()
    client.stop()
    simulated.world.run_for(10)
    state = simulated.world.cluster.metadata.topics["t0"].partitions[0]
    assert client.leaders["t0", 0] == (state.leader, state.leader_epoch)
    client.forget(("t0", 0))
    assert not client.leaders


def test_a_broker_that_is_down_does_not_answer() -> None:
    simulated = SimulatedCluster()
    client = client_of(simulated)
    answers: list[ApiVersionsResponse | None] = []
    simulated.world.operate(lambda: simulated.world.controls.kill(1))
    client.ask(1, ApiVersionsRequest(), 0, ApiVersionsResponse, answers.append)
    simulated.world.run_for(1)
    simulated.world.operate(lambda: simulated.world.controls.revive(1))
    client.ask(1, ApiVersionsRequest(), 0, ApiVersionsResponse, answers.append)
    simulated.world.run_for(1)
    assert answers[0] is None
    assert answers[1] is not None


def test_an_answer_that_takes_too_long_does_not_come() -> None:
    simulated = SimulatedCluster()
    simulated.world.faults.max_delay_ms = REQUEST_TIMEOUT_MS * 1_000
    client = client_of(simulated)
    answers: list[ApiVersionsResponse | None] = []
    client.ask(1, ApiVersionsRequest(), 0, ApiVersionsResponse, answers.append)
    simulated.world.run_for(REQUEST_TIMEOUT_MS + 1)
    assert answers == [None]
