"""Styles follow the plan: a fault that is off happens to nobody."""

from __future__ import annotations

from random import Random

from simulation.consumer_styles import NO_LIMIT, ConsumerStyle
from tests.support.simulated import quiet_plan

CHANCES = [
    name for name in vars(ConsumerStyle(Random(0), quiet_plan())) if name.endswith("_chance")
]


def test_without_faults_consumers_only_fetch() -> None:
    plan = quiet_plan()
    for seed in range(50):
        style = ConsumerStyle(Random(seed), plan)
        assert style.keeps_epochs
        assert style.max_bytes == style.partition_max_bytes == NO_LIMIT
        assert [name for name in CHANCES if getattr(style, name)] == ["check_chance"]


def test_versions_without_sessions_go_without() -> None:
    styles = [ConsumerStyle(Random(seed), quiet_plan()) for seed in range(200)]
    assert {style.version for style in styles} == set(range(4, 19))
    assert all(style.sessionless for style in styles if style.version < 7)


def test_faults_give_habits_that_end_with_good_behaviour() -> None:
    plan = quiet_plan()
    plan.on = dict.fromkeys(plan.on, True)
    plan.max_bytes = 100
    style = ConsumerStyle(Random(0), plan)
    assert all(getattr(style, name) for name in CHANCES)
    assert not style.keeps_epochs
    style.behave()
    assert [name for name in CHANCES if getattr(style, name)] == ["check_chance"]
