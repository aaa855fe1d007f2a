"""What leaders make of followers is tried, and what is wrong noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.replica.in_sync import Followers
from simulation.cluster.audits.follower_trials import FollowerTrials
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable


def tried(looks: int = 200) -> str:
    simulated = SimulatedCluster()
    simulated.produce(1)
    trials = FollowerTrials(Random(1))
    found = [
        wrong
        for _ in range(looks)
        for broker in simulated.world.cluster.brokers
        for wrong in trials.look(broker)
    ]
    assert trials.tried
    return " | ".join(found)


def test_nothing_is_wrong() -> None:
    assert tried() == ""


@pytest.mark.parametrize(
    ("name", "broken", "told"),
    [
        ("high_watermark", lambda _self, end, *_: end, "its high watermark is to be"),
        ("expansion", lambda *_: None, "joins"),
        ("shrinkage", lambda *_: None, "are to stay None"),
        ("may_join", lambda *_: True, "its high watermark is to be"),
    ],
)
def test_what_is_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., object], told: str
) -> None:
    monkeypatch.setattr(Followers, name, broken)
    assert told in tried()
