"""What tests cost is told by folder, those of Hypothesis apart."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, cast

import hypothesis
import hypothesis.strategies as st
import pytest

from tests.support.cpu_report import PROPERTIES, Cost, CpuReport

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class Item:
    """As much of a test as the report looks at."""

    def __init__(self, nodeid: str, obj: Callable[..., object]) -> None:
        self.nodeid = nodeid
        self.obj = obj


def example() -> None:
    """A test."""


@hypothesis.given(st.integers())
def law(_number: int) -> None:
    """A property test."""


def play(phase: Generator[None]) -> None:
    for _ in phase:
        """The test itself runs here."""


def test_each_folder_is_told_and_hypothesis_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "process_time", lambda: next(ticks) ** 2 / 100)
    report = CpuReport()
    for name, obj in (("a/test_a.py", example), ("b/test_b.py", example), ("b/test_b.py", law)):
        item = cast("pytest.Item", Item(f"tests/mockbroker/{name}::t", obj))
        play(report.pytest_runtest_setup(item))
        play(report.pytest_runtest_call(item))
        play(report.pytest_runtest_teardown(item))
    costs = {name: (one.tests, *one.phases.values()) for name, one in report.costs.items()}
    rounded = {name: tuple(round(x, 2) for x in cost) for name, cost in costs.items()}
    assert rounded == {
        "tests/mockbroker/a": (1, 0.01, 0.05, 0.09),
        "tests/mockbroker/b": (1, 0.13, 0.17, 0.21),
        PROPERTIES: (1, 0.25, 0.29, 0.33),
    }
    assert str(report.together()).split() == ["2", "0.14", "0.22", "0.30", "0.66", "330.00"]


@pytest.mark.parametrize(("seconds", "beyond"), [(1.99, "within"), (2.0, "more than")])
def test_the_verdict_is_told(seconds: float, beyond: str) -> None:
    verdict = Cost(2000, {"setup": 0.0, "call": seconds, "teardown": 0.0}).verdict()
    assert f"{beyond} the 1.00" in verdict
