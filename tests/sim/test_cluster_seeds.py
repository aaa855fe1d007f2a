"""Seeded runs of a whole cluster: every rule of replication holds in each of them.

A seed that fails is kept in `KEPT` with what it showed, and runs for ever.
"""

from __future__ import annotations

import pytest

from mockbroker.sim.cluster.simulation import simulate_cluster

pytestmark = pytest.mark.sim

SEEDS = 60
CHUNK = 10

KEPT: dict[int, str] = {
    2: "who is no replica any more is not eligible to lead",
    6: "a lower min.insync.replicas ends who is eligible: the leader commits without them",
    13: "an idle follower that was put out of the in-sync set returns with its next fetch",
    28: "an idle follower that was put out of the in-sync set returns with its next fetch",
}
"""Seeds that once failed, and what they taught."""


@pytest.mark.parametrize("first", range(100, 100 + SEEDS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    for seed in range(first, first + CHUNK):
        report = simulate_cluster(seed)
        assert not report.failed, report.explain()


@pytest.mark.parametrize("seed", KEPT)
def test_what_failed_once_holds(seed: int) -> None:
    report = simulate_cluster(seed)
    assert not report.failed, report.explain()
