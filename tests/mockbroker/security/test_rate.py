"""Rates over sliding windows, as Kafka's quotas see them."""

from __future__ import annotations

import pytest

from mockbroker.security.rate import Rate

SECOND = 1000.0


@pytest.fixture
def rate() -> Rate:
    return Rate(11, SECOND)


def test_nothing_is_no_rate(rate: Rate) -> None:
    assert rate.measure(0) == 0


def test_a_first_burst_is_spread_over_all_but_one_window(rate: Rate) -> None:
    rate.record(5000, 0)
    assert rate.measure(0) == 500
    assert rate.measure(500) == pytest.approx(5000 / 10.5)


def test_time_makes_the_rate_fall(rate: Rate) -> None:
    rate.record(1000, 0)
    assert rate.measure(5 * SECOND) == pytest.approx(100)
    assert rate.measure(10.5 * SECOND) == pytest.approx(1000 / 10.5)
    assert rate.measure(11 * SECOND) == 0


def test_a_new_sample_begins_when_the_last_is_over(rate: Rate) -> None:
    for second in range(20):
        rate.record(100, second * SECOND)
    assert rate.measure(19 * SECOND) == pytest.approx(100, rel=0.15)


def test_what_is_taken_back_never_was(rate: Rate) -> None:
    rate.record(5000, 0)
    rate.record(-5000, 0)
    assert rate.measure(0) == 0
