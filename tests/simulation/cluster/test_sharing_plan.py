"""Plans of groups that share differ, and say what they are."""

from __future__ import annotations

from random import Random

from mockbroker.config.broker import BrokerConfig
from simulation.cluster.sharing_plan import HABITS, SharingPlan, SharingTimes


def test_plans_differ_and_tell_what_they_are() -> None:
    plans = [SharingPlan(Random(seed)) for seed in range(60)]
    assert {plan.protocol for plan in plans} == {"alone", "classic", "consumer"}
    assert {plan.by_leases for plan in plans} == {True, False}
    for habit in HABITS:
        assert {plan.on[habit] for plan in plans} == {True, False}
    assert len({str(plan) for plan in plans}) > 20


def test_times_are_a_config() -> None:
    times = [SharingTimes(Random(seed)) for seed in range(20)]
    config = BrokerConfig(times[0].config())
    assert config.bool("coop.extension.enable")
    assert config.int("coop.fetch.lease.ms") == times[0].lease_ms
    assert {each.most_ranges for each in times} == {60_000, 4}
