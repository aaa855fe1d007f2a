"""What the tests of a run cost, in CPU time of the process, with setup and teardown.

CPU time leaves out what a busy machine takes from a run. Tests of Hypothesis are told apart: they
cost what their number of examples says.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import is_hypothesis_test

if TYPE_CHECKING:
    from collections.abc import Generator

PROPERTIES = "tests of Hypothesis"
TOGETHER = "all others"
MOST_SECONDS = 1.0
"""Of a thousand tests of the core, those of Hypothesis apart."""


@dataclass
class Cost:
    """Seconds of some tests by phase."""

    tests: int = 0
    phases: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("setup", "call", "teardown"), 0.0)
    )

    @property
    def of_a_thousand(self) -> float:
        """Seconds."""
        return 1000 * sum(self.phases.values()) / (self.tests or 1)

    def __str__(self) -> str:
        seconds = sum(self.phases.values())
        of_each = "".join(f"{spent:10.2f}" for spent in self.phases.values())
        return f"{self.tests:7}{of_each}{seconds:10.2f}{self.of_a_thousand:12.2f}"

    def verdict(self) -> str:
        """Whether that is little enough, in a line."""
        seconds = self.of_a_thousand
        beyond = "within" if seconds < MOST_SECONDS else "more than"
        return f"{seconds:.2f} s a thousand, {beyond} the {MOST_SECONDS:.2f} that they are to take"


class CpuReport:
    """Adds up the CPU seconds of each folder's tests, and tells them when the session ends."""

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        self._cost(item).tests += 1
        yield from self._measured(item, "setup")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        yield from self._measured(item, "call")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        yield from self._measured(item, "teardown")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        properties = self.costs.pop(PROPERTIES, Cost())
        terminalreporter.section("CPU time in seconds")
        columns = "".join(f"{name:>10}" for name in (*properties.phases, "together"))
        terminalreporter.line(f"{'':32}{'tests':>7}{columns}{'a thousand':>12}")
        rows = sorted(self.costs.items())
        rows += [(TOGETHER, self.together()), (PROPERTIES, properties)]
        for name, cost in rows:
            terminalreporter.line(f"{name:32}{cost}")
        terminalreporter.line(f"{TOGETHER}: {self.together().verdict()}")

    def together(self) -> Cost:
        """All tests but those of Hypothesis."""
        all_of_them = Cost()
        for name, cost in self.costs.items():
            if name != PROPERTIES:
                all_of_them.tests += cost.tests
                for phase, spent in cost.phases.items():
                    all_of_them.phases[phase] += spent
        return all_of_them

    def _cost(self, item: pytest.Item) -> Cost:
        if is_hypothesis_test(getattr(item, "obj", None)):
            return self.costs.setdefault(PROPERTIES, Cost())
        folders = item.nodeid.partition("::")[0].split("/")[:-1]
        return self.costs.setdefault("/".join(folders[:3]), Cost())

    def _measured(self, item: pytest.Item, phase: str) -> Generator[None]:
        start = time.process_time()
        try:
            yield
        finally:
            self._cost(item).phases[phase] += time.process_time() - start
