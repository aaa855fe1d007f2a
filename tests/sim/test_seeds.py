"""Thousands of seeded runs of the whole broker: every rule holds in each of them.

A seed that fails is kept in `KEPT` with what it showed, and runs for ever.
"""

from __future__ import annotations

import pytest

from mockbroker.sim.simulation import simulate

pytestmark = pytest.mark.sim

SEEDS = 1500
CHUNK = 50

KEPT: dict[int, str] = {}
"""Seeds that once failed, and why."""


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    for seed in range(first, first + CHUNK):
        report = simulate(seed)
        assert not report.failed, report.explain()


@pytest.mark.parametrize("seed", KEPT)
def test_what_failed_once_holds(seed: int) -> None:
    report = simulate(seed)
    assert not report.failed, report.explain()
