"""Sums that add up, and quantiles that are at most a tenth too high."""

from __future__ import annotations

from mockbroker.what_if.costs import STEP, Costs, Histogram


def test_costs_of_two_clients_add_up() -> None:
    one, two = Costs(), Costs()
    one.polls, one.largest_bytes, one.errors = 2, 70, {70: 1}
    two.polls, two.largest_bytes, two.errors = 3, 50, {70: 2, 71: 1}
    two.waits.note(5.0)
    one.add(two)
    assert one.values()["polls"] == 5
    assert (one.largest_bytes, one.errors, one.waits.count) == (70, {70: 3, 71: 1}, 1)


def test_a_quantile_is_no_lower_and_hardly_higher_than_it_is() -> None:
    delays = Histogram()
    for duration in range(1, 101):
        delays.note(float(duration))
    median, most = delays.quantiles((0.5, 1.0))
    assert median is not None
    assert 50 <= median <= 50 * STEP
    assert most is not None
    assert 100 <= most <= 100 * STEP


def test_no_time_at_all_is_a_duration_too() -> None:
    delays = Histogram()
    delays.note(0.0, 3)
    assert delays.quantiles((0.5,)) == [0.0]
    assert Histogram().quantiles((0.5,)) == [None]


def test_histograms_of_two_processes_add_up() -> None:
    one, two = Histogram({3: 1}), Histogram({3: 2, 5: 1})
    one.add(two.buckets)
    assert one.buckets == {3: 3, 5: 1}
