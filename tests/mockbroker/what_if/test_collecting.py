"""A run's circles go with its end, and nothing else is looked at."""

from __future__ import annotations

import gc
import weakref

import pytest

from mockbroker.what_if.collecting import dropped_as_a_whole


class Circle:
    def __init__(self) -> None:
        self.itself = self


def test_what_a_run_made_is_gone_and_the_collector_goes_on() -> None:
    made: list[weakref.ref[Circle]] = []

    def run() -> int:
        made.append(weakref.ref(Circle()))
        assert not gc.isenabled()
        return 7

    assert dropped_as_a_whole(run) == 7
    assert made[0]() is None
    assert gc.isenabled()


def test_a_run_that_fails_leaves_the_collector_on() -> None:
    def run() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        dropped_as_a_whole(run)
    assert gc.isenabled()
