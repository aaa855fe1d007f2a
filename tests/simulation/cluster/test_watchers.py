"""The journal's lines are held against what they tell of."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.journal import request as request_module
from mockbroker.journal.high_watermark import HighWatermarkMoved
from mockbroker.journal.lines import line_of
from mockbroker.journal.request import RequestServed
from mockbroker_protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.watchers import WatcherCrew, errors_of, wrong_in

pytestmark = pytest.mark.sim


def run_of(*kinds: str) -> tuple[ClusterRun, WatcherCrew]:
    plan = plan_of(3)
    plan.on = {kind: kind in kinds for kind in plan.on}
    plan.active_ms = 1_000.0
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, WatcherCrew))
    return run, crew


def test_all_that_a_run_tells_adds_up() -> None:
    run, crew = run_of("journal", "classic_group")
    run.live()
    assert not run.world.violations
    assert crew.counts()["lines"] > 50


def test_a_request_that_is_told_twice_and_metrics_that_count_less_are_noticed() -> None:
    run, crew = run_of("journal")
    run.world.run_for(100)
    one: Any = RequestServed(3, 4, 1, "client", 5)
    served = type("Served", (RequestServed,), {"broker_id": 1})(3, 4, 1, "client", 5)
    assert one.broker_id == -1
    crew._count(served)
    assert not run.world.violations
    crew._count(served)
    assert "again, or too late" in run.world.violations[0]
    crew.check()
    told = run.world.violations[-1]
    assert "broker 1 counts None Metadata, 2 were told" in told


def test_a_line_that_leaves_errors_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = run_of("journal", "formats")
    line = request_module.RequestServed.line
    monkeypatch.setattr(
        request_module.RequestServed, "line", lambda *of: {**line(*of), "errors": [], "error": 0}
    )
    run.live()
    assert "the journal tells errors [], not [" in run.world.violations[0]


def test_lines_of_other_events() -> None:
    event = HighWatermarkMoved(1, "t", 0, 1, 2, 3)
    line = line_of(event, lambda _: None)
    assert wrong_in(event, line) is None
    assert wrong_in(event, {**line, "to": 9}) == "after 9, not 2"


def test_errors_of_all_levels() -> None:
    answer = MetadataResponse(topics=[MetadataResponseTopic(3, "t")], error_code=5)
    assert sorted(errors_of(answer)) == [3, 5]
