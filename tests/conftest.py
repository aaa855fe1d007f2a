"""What all tests share: the tiers, how to leave one out, and their results for scripts/test.

A test belongs to the tier of its marker, such as `clients` or `kafka`, and to `unit` without one.
`--tier-report=PATH` writes one line a tier: its name, passed, failed or skipped, the counts; and to
PATH.failed each test that failed, behind its tier. `--cpu-report` tells what the tests of each
folder cost.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from mockbroker.server.compiled import is_compiled
from tests.support.cpu_report import CpuReport
from tests.support.jvm import SHORT_LIVED_JVM
from tests.support.kept_modules import keep_modules
from tests.support.pure_only import PURE_ONLY, extends_machine_code, skip_what_replaces_machine_code

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from pyspark.sql import SparkSession

MISSING_PACKAGE = re.compile(r"No module named '(pyspark|py4j|plotly)[^']*'")
COMPILED = is_compiled()
COLLECTED_AFTER = 3_000
"""Each test leaves a broker whose parts know each other. So many young objects later garbage is
looked for between two tests, where none of it is alive and has to be looked through again."""
TIERS = ("unit", "clients", "java", "node", "go", "browser", "image", "kafka", "spark")

# Two cores that several test processes share make single examples slow, never wrong.
hypothesis.settings.register_profile("mockbroker", deadline=None)
# For a developer who waits: `make unit`. What has its own number of examples keeps it.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=10)
hypothesis.settings.load_profile("mockbroker")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--without-tier", action="append", default=[], choices=TIERS)
    group.addoption("--tier-report", type=Path, default=None)
    group.addoption("--cpu-report", action="store_true", help="what each folder's tests cost")


def pytest_configure(config: pytest.Config) -> None:
    # Seldom, and among what lives long, such as the reports, very seldom: see `COLLECTED_AFTER`.
    gc.set_threshold(20_000, 20, 50)
    keep_modules()
    if COMPILED:
        skip_what_replaces_machine_code()
    report = config.getoption("--tier-report")
    if report is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(TierReport(report), "tier-report")
    if config.getoption("--cpu-report"):
        config.pluginmanager.register(CpuReport(), "cpu-report")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that needs PySpark is skipped where that is missing, and stops nobody else."""
    report = yield
    missing = MISSING_PACKAGE.search(str(report.longrepr)) if report.failed else None
    if missing:
        report.outcome = "skipped"
        report.longrepr = (report.nodeid, 0, f"Skipped: {missing[0]}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """What cannot run on the compiled build says so as it runs."""
    try:
        yield
    except TypeError as error:
        if not COMPILED or not extends_machine_code(error):
            raise
        pytest.skip(str(error))


def runs_pure_only(item: pytest.Item) -> bool:
    names = PURE_ONLY.get(item.nodeid.partition("::")[0])
    return names is not None and (not names or getattr(item, "originalname", "") in names)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    without = config.getoption("--without-tier")
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        tier = tier_of(item)
        # The one note on an item that its reports carry, also from another process.
        item.user_properties.append(("tier", tier))
        left_out = tier in without or item.get_closest_marker("bench")
        if COMPILED and runs_pure_only(item):
            left_out = True
        (dropped if left_out else kept).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    # Shuffled or not, the tiers follow each other: each starts its peers once, late, and ends them.
    items[:] = sorted(kept, key=lambda item: TIERS.index(tier_of(item)))


def pytest_collection_finish() -> None:
    """What was collected stays until the end: no collection of garbage walks over it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    if gc.get_count()[0] > COLLECTED_AFTER:
        gc.collect(0)


def tier_of(item: pytest.Item) -> str:
    return next((tier for tier in TIERS if item.get_closest_marker(tier)), "unit")


class TierReport:
    """Counts the outcomes of each tier and writes them when the session ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, Counter[str]] = {}
        self.failed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        tier = str(dict(report.user_properties).get("tier", "unit"))
        counts = self.outcomes.setdefault(tier, Counter())
        if report.failed:
            self.failed[report.nodeid] = tier
        # Setup and teardown count only where they fail or skip.
        if report.when == "call" or report.outcome != "passed":
            counts[report.outcome] += 1

    def pytest_sessionfinish(self) -> None:
        lines = [f"{tier} {summary(counts)}\n" for tier, counts in self.outcomes.items()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(lines))
        failed = "".join(f"{tier} {test}\n" for test, tier in self.failed.items())
        self.path.with_name(f"{self.path.name}.failed").write_text(failed)


def summary(counts: Counter[str]) -> str:
    verdict = next((name for name in ("failed", "passed") if counts[name]), "skipped")
    figures = ", ".join(f"{counts[name]} {name}" for name in sorted(counts) if counts[name])
    return f"{verdict} ({figures})"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test process; it takes seconds to start."""
    from mockbroker.pipeline.session import SessionOptions, open_session

    conf = {"spark.sql.shuffle.partitions": "4", "spark.default.parallelism": "4"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", SHORT_LIVED_JVM)
        session = open_session(SessionOptions("tests", master="local[2]", conf=conf))
    yield session
    session.stop()
