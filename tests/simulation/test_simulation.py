"""A seed is a history: the same every time, and told when it breaks a rule."""

from __future__ import annotations

import pytest

from simulation.simulation import Run, simulate

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("seed", [1, 7, 23])
def test_one_seed_gives_one_trace(seed: int) -> None:
    first, second = simulate(seed), simulate(seed)
    assert first.trace_hash == second.trace_hash
    assert first.counts == second.counts


def test_seeds_differ() -> None:
    assert len({simulate(seed).trace_hash for seed in range(5)}) == 5


def test_a_broken_rule_is_reported_with_the_way_back_to_it() -> None:
    def break_one(run: Run) -> None:
        run.world.at(1, lambda: run.world.violate("broken on purpose"))

    report = simulate(3, break_one)
    assert report.failed
    text = report.explain()
    assert "1.000 ms: broken on purpose" in text
    assert text.endswith("run it again: python -m simulation --seed 3")


def test_a_crash_carries_the_trace_with_it() -> None:
    def crash() -> None:
        raise ZeroDivisionError

    def break_one(run: Run) -> None:
        run.world.at(1, crash)

    with pytest.raises(ZeroDivisionError) as raised:
        simulate(3, break_one)
    assert "--seed 3" in raised.value.__notes__[0]
