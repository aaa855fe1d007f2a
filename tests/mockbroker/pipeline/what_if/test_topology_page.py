"""The page of a topology: steps, and curves."""

from __future__ import annotations

import pytest

from mockbroker.pipeline.what_if.topology_job import Plan, tables_of
from mockbroker.pipeline.what_if.topology_page import facts_of, sections_of, steps
from mockbroker.what_if.simulate import run_task
from mockbroker.what_if.topology import Topology

PLAN = Plan(
    Topology(seconds=2.0, change_rate=1.0, partitions=40), ("kip-74", "kip-227"), (0.5, 1.0)
)


def test_each_step_says_what_it_changed() -> None:
    tasks = PLAN.tasks()
    totals = tables_of(tasks, [run_task(task) for task in tasks])["totals"]
    first, second = steps(totals, 40)
    assert first["looked_at_change_percent"] is None
    assert second["looked_at_change_percent"] < 0


def test_there_is_a_curve_for_each_scenario() -> None:
    pytest.importorskip("plotly")
    tasks = PLAN.tasks()
    totals = tables_of(tasks, [run_task(task) for task in tasks])["totals"]
    by_size, _ = sections_of(PLAN, totals)
    assert [len(trace.x) for trace in by_size.plots[0].data] == [2, 2]
    assert "40 partitions" in facts_of(PLAN)[0]
