"""Replicas are tried, and what is wrong noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.replica.fetcher import ReplicaFetcher
from mockbroker.replica.fetchers import ReplicaFetchers
from mockbroker.replica.log_upkeep import LogUpkeep
from mockbroker.replica.partition import Partition
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits import replica_trials
from simulation.cluster.audits.log_trials import likeness
from simulation.cluster.audits.replica_trials import ReplicaTrials
from tests.support.simulated_cluster import SimulatedCluster
from tests.support.trials import tried

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.replica.fetcher import PartitionFetchState
    from mockbroker_protocol.messages.fetch import FetchResponsePartition


def found() -> str:
    return tried(ReplicaTrials(Random(1)), 400, 3)


def test_nothing_is_wrong() -> None:
    assert found() == ""


def _takes_all(
    _self: ReplicaFetcher, followed: PartitionFetchState, data: FetchResponsePartition
) -> None:
    records = data.records
    assert isinstance(records, bytes)
    followed.partition.append_as_follower(records, 0, 0)


def _asks_nothing(*_: object) -> None:
    """No end is asked for."""


def _never(*_: object) -> float:
    return float("inf")


@pytest.mark.parametrize(
    ("where", "name", "broken", "told"),
    [
        (ReplicaFetcher, "_find_offset", _asks_nothing, "an end is told, late False"),
        (ReplicaFetchers, "hold", _asks_nothing, "held it is asked 1 times"),
        (Partition, "_maybe_expand_isr", _asks_nothing, "[] is proposed"),
        (LogUpkeep, "_round_of", _never, "too old in"),
        (
            Partition,
            "error_when_gone",
            lambda _: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "its topic is not True",
        ),
        (replica_trials, "truncation_offset", lambda *_: 0, "cut at 0, not"),
    ],
)
def test_what_is_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    where: object,
    name: str,
    broken: Callable[..., object],
    told: str,
) -> None:
    monkeypatch.setattr(where, name, broken)
    assert told in found()


def test_a_late_answer_that_is_taken_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    simulated.produce(3)
    monkeypatch.setattr(ReplicaFetcher, "_process_partition_data", _takes_all)
    node = simulated.follower()
    broker = simulated.world.cluster.broker(node)
    assert broker is not None
    log = likeness(simulated.follower_log(), 300)
    assert log is not None
    trial = replica_trials._Trial(broker, simulated.partition_at(node), log)
    assert "it takes a batch of" in trial.late_answer(Random(1))
