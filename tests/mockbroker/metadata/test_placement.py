"""Replicas spread over the brokers; assignments are checked in Kafka's order."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.placement import invalid_assignment, place_replicas

CANNOT = (
    "The target replication factor of 4 cannot be reached because only 3 broker(s) are registered "
    "or some brokers have all their log directories cordoned."
)


ALL_FENCED = "All brokers are currently fenced, or have all their log directories cordoned."


def cluster(alive: int, fenced: int = 0) -> dict[int, BrokerInfo]:
    return {
        node_id: BrokerInfo(node_id, fenced=node_id > alive)
        for node_id in range(1, alive + fenced + 1)
    }


def test_one_broker_holds_everything() -> None:
    assert place_replicas(cluster(1), 3, 1, Random(1)) == [[1], [1], [1]]


def test_leaders_and_replicas_are_spread_evenly() -> None:
    placed = place_replicas(cluster(3), 6, 2, Random(1))
    assert isinstance(placed, list)
    assert Counter(replicas[0] for replicas in placed) == {1: 2, 2: 2, 3: 2}
    assert Counter(node for replicas in placed for node in replicas) == {1: 4, 2: 4, 3: 4}
    assert all(len(set(replicas)) == 2 for replicas in placed)


def test_a_fenced_broker_never_leads() -> None:
    placed = place_replicas(cluster(2, fenced=1), 4, 3, Random(1))
    assert isinstance(placed, list)
    assert all(replicas[-1] == 3 for replicas in placed)


@pytest.mark.parametrize(
    ("brokers", "factor", "why"),
    [
        (cluster(3), 4, CANNOT),
        (cluster(0, fenced=2), 1, ALL_FENCED),
        ({}, 1, ALL_FENCED),
    ],
)
def test_what_cannot_be_placed_says_why(
    brokers: dict[int, BrokerInfo], factor: int, why: str
) -> None:
    assert place_replicas(brokers, 1, factor, Random(1)) == why


@pytest.mark.parametrize(
    ("replicas", "factor", "why"),
    [
        ([1, 2], None, None),
        ([1, 2], 2, None),
        ([], 2, "includes an empty replica list."),
        ([2, 9], 2, "includes broker 9, but no such broker is registered."),
        ([2, 2], 2, "includes the broker 2 more than once."),
        (
            [1, 2],
            1,
            (
                "includes a partition with 2 replica(s), but this is not consistent with previous "
                "partitions, which have 1 replica(s)."
            ),
        ),
    ],
)
def test_assignments(replicas: list[int], factor: int | None, why: str | None) -> None:
    expected = None if why is None else f"The manual partition assignment {why}"
    assert invalid_assignment(cluster(3), replicas, factor) == expected
