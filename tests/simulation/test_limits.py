"""A seed's lower limits are there for its run alone, and change nothing that a client sees."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mockbroker.fetch import long_contexts
from simulation.limits import KIND, LIMITS, Limits
from simulation.runner import carry_out
from simulation.simulation import Run, swarm_plan_of
from simulation.turns import KIND as TURNS


def values() -> list[object]:
    return [
        getattr(module, name)
        for limit in LIMITS
        for module in (limit.module, *limit.beside)
        for name in limit.low[0]
        if hasattr(module, name)
    ]


def drawn(seed: int, *, is_on: bool = True) -> Limits:
    on: dict[str, bool] = {}
    limits = Limits(Random(seed), on)
    on[KIND] = is_on
    return limits


def test_some_limits_are_lower_meanwhile() -> None:
    before = values()
    low: list[object] = []

    def fail() -> None:
        with drawn(1).lowered():
            low.extend(values())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert values() == before
    assert 0 < sum(one != other for one, other in zip(low, before, strict=True)) < len(before)


def test_none_is_lower_where_the_kind_is_off() -> None:
    before = values()
    with drawn(1, is_on=False).lowered():
        assert values() == before


def test_each_limit_is_lowered_by_some_seed() -> None:
    before = values()
    kept = set(range(len(before)))
    for seed in range(20):
        with drawn(seed).lowered():
            kept = {index for index in kept if values()[index] == before[index]}
    assert not kept


def test_turns_come_with_limits_only() -> None:
    had = set()
    for seed in range(50):
        on: dict[str, bool] = {}
        Limits(Random(seed), on)
        had.add((on[KIND], on[TURNS]))
    assert had == {(False, False), (True, False), (True, True)}


def test_a_run_with_slices_is_the_run_without(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    take = long_contexts.LongIncrementalContext.take_in_slices

    def count(*told: Any) -> Any:
        taken.append(1)
        return take(*told)

    monkeypatch.setattr(long_contexts.LongIncrementalContext, "take_in_slices", count)
    hashes = []
    for is_on in (False, True):
        assert not taken
        plan = swarm_plan_of(6)
        plan.on[KIND], plan.on[TURNS] = is_on, False
        hashes.append(carry_out(Run(6, plan)).trace_hash)
    assert hashes[0] == hashes[1]
    assert taken
