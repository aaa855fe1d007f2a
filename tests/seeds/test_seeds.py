"""Thousands of seeded runs of the whole broker: every rule holds in each of them.

A seed that fails is kept in `KEPT` with what it showed, and runs for ever.
"""

from __future__ import annotations

import pytest

from simulation.simulation import replay, simulate

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300)]

SEEDS = 1500
CHUNK = 50

KEPT: dict[int, str] = {
    6: "an append in the millisecond of the deadline is not a late wake-up",
    60: "a topic that stays away must not keep its readers from settling",
    100: "what was refused when a fetch was accepted stays refused in its answer",
    138: "a full cache refuses sessions until one is stale",
    264: "another incarnation of a topic diverges from its reader's log",
    932: "a reader that pipelines does not also go elsewhere",
    1145: "a reader that pipelines does not also go elsewhere",
    1732: "a reader that gets one batch each max wait is slow, not stuck",
}
"""Seeds that once failed, and what they taught."""


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    for seed in range(first, first + CHUNK):
        report = simulate(seed)
        assert not report.failed, report.explain()


@pytest.mark.parametrize("seed", KEPT)
def test_what_failed_once_holds(seed: int) -> None:
    report = replay(seed, off=["limits", "turns"])  # they failed before seeds drew these
    assert not report.failed, report.explain()
