"""What is decided about a session is what the logs make of it; each other decision is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.fetch import waiting
from mockbroker.fetch.manager import FetchManager
from mockbroker.fetch.session import READY, CachedPartition, FetchSession
from mockbroker.purgatory.purgatory import Purgatory
from simulation.cluster.audits.session_probes import SessionProbes
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from mockbroker.purgatory.purgatory import DelayedOperation
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

LOOKS = 100


@pytest.fixture
def simulated() -> SimulatedCluster:
    """A producer wrote something, and all has it."""
    simulated = SimulatedCluster()
    simulated.produce(3)
    simulated.world.run_for(1_000)
    return simulated


def found(simulated: SimulatedCluster) -> str:
    """What is found by many looks."""
    probes = SessionProbes(simulated.world, Random(1))
    for _ in range(LOOKS):
        probes.look()
    assert probes.made == LOOKS
    return "\n".join(simulated.world.violations)


def test_decisions_by_the_rules_are_in_order(simulated: SimulatedCluster) -> None:
    assert found(simulated) == ""


def test_news_that_is_not_told_is_noticed(
    simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = CachedPartition.has_news

    def forgetful(self: CachedPartition, data: FetchResponsePartition, size_bytes: int) -> bool:
        return tell(self, data, size_bytes) and self.high_watermark != data.high_watermark

    monkeypatch.setattr(CachedPartition, "has_news", forgetful)
    assert "it must be told" in found(simulated)


def test_a_partition_beyond_its_bound_that_is_passed_over_is_noticed(
    simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(_session: object, cached: CachedPartition, sticky: bool) -> None:
        del sticky
        cached.state = READY

    monkeypatch.setattr(FetchSession, "settle", settle)
    assert "is in state 1, not 2" in found(simulated)


def test_bytes_that_are_counted_again_are_noticed(
    simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    weigh = waiting.SessionWait._weigh

    def again(self: waiting.SessionWait, cached: CachedPartition) -> bool:
        self._available.clear()
        return weigh(self, cached)

    monkeypatch.setattr(waiting.SessionWait, "_weigh", again)
    assert "when they are counted again" in found(simulated)


def test_what_is_forgotten_and_ends_a_wait_is_noticed(
    simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    weigh = waiting.SessionWait._weigh

    def remembers(self: waiting.SessionWait, cached: CachedPartition) -> bool:
        return cached.partition is None or weigh(self, cached)

    monkeypatch.setattr(waiting.SessionWait, "_weigh", remembers)
    assert "was forgotten, and ends a wait" in found(simulated)


def test_an_empty_session_that_is_closed_is_noticed(
    simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = FetchManager.new_context

    def whole(self: FetchManager, request: object, version: int, **_: bool) -> object:
        return make(self, request, version, is_whole=True)  # type: ignore[arg-type]

    monkeypatch.setattr(FetchManager, "new_context", whole)
    assert "was closed before it was filled" in found(simulated)


def test_what_is_missed_while_a_fetch_is_parked_is_noticed(
    simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watch(self: Purgatory, operation: DelayedOperation, keys: Sequence[Hashable]) -> bool:
        self.watch(operation, keys)
        return False

    monkeypatch.setattr(Purgatory, "try_complete_else_watch", watch)
    assert "while a fetch was parked is missed" in found(simulated)
