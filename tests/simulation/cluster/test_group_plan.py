"""Plans of groups differ from seed to seed, and are a config."""

from __future__ import annotations

from random import Random

from mockbroker.config.broker import BrokerConfig
from simulation.cluster.group_plan import HABITS, GroupPlan, GroupTimes

PROTOCOLS = ("eager", "cooperative", "consumer", "mixed")


def test_every_protocol_and_habit_is_in_some_plan() -> None:
    plans = [GroupPlan(Random(seed), PROTOCOLS) for seed in range(100)]
    assert {plan.protocol for plan in plans} == set(PROTOCOLS)
    for habit in HABITS:
        assert {plan.on[habit] for plan in plans} == {True, False}


def test_who_speaks_what() -> None:
    speakers: dict[str, set[bool]] = {}
    for seed in range(100):
        rng = Random(seed)
        plan = GroupPlan(rng, PROTOCOLS)
        speakers.setdefault(plan.protocol, set()).add(plan.speaks_classic(rng))
        assert plan.is_classic == (plan.protocol in ("eager", "cooperative"))
    assert speakers == {
        "eager": {True},
        "cooperative": {True},
        "consumer": {False},
        "mixed": {True, False},
    }


def test_a_plan_is_a_config_and_a_line() -> None:
    times = GroupTimes(Random(3), skewed=False)
    assert BrokerConfig(times.config()).int("group.min.session.timeout.ms") == 10
    assert str(GroupPlan(Random(1), ("mixed",))).startswith("mixed of ")


def test_some_groups_are_small() -> None:
    sizes = {GroupTimes(Random(seed), skewed=False).max_size for seed in range(50)}
    assert sizes == {2, 3, 4, 1_000}
