"""Plans differ from seed to seed, and say what they hold."""

from __future__ import annotations

from random import Random

from mockbroker.config.broker import BrokerConfig
from simulation.cluster.plan import KINDS, ClusterPlan


def test_every_kind_of_fault_is_on_in_some_plan_and_off_in_another() -> None:
    plans = [ClusterPlan(Random(seed)) for seed in range(100)]
    for kind in KINDS:
        assert {plan.on[kind] for plan in plans} == {True, False}
    assert {plan.may_lose for plan in plans} == {True, False}


def test_a_plan_is_a_config_and_a_line() -> None:
    plan = ClusterPlan(Random(1))
    config = BrokerConfig(plan.config())
    assert config.int("replica.lag.time.max.ms") == 500
    assert f"{plan.brokers} brokers" in str(plan)


def test_who_misbehaves_in_groups_has_a_group() -> None:
    for seed in range(100):
        plan = ClusterPlan(Random(seed))
        assert plan.on["classic_group"] or not plan.on["hasty"]
        assert plan.on["classic_group"] or plan.on["consumer_group"] or not plan.on["restarts"]
        assert plan.group_times.max_size == 1_000 or not plan.on["coop"]
