"""Which brokers are simulated, and how their figures add up."""

from __future__ import annotations

from mockbroker.pipeline.what_if.topology_job import SAMPLE, Plan, summary_of, tables_of
from mockbroker.what_if.simulate import run_task
from mockbroker.what_if.topology import Topology


def test_the_full_size_is_simulated_broker_by_broker_and_smaller_ones_by_a_sample() -> None:
    topology = Topology(brokers=2 * SAMPLE, partitions=1000)
    tasks = Plan(topology, ("kip-227",), (0.5, 1.0)).tasks()
    full = [task for task in tasks if task["size"] == 1000]
    half = [task for task in tasks if task["size"] == 500]
    assert sorted(task["broker"] for task in full) == list(range(1, 2 * SAMPLE + 1))
    assert (len(half), half[0]["stands_for"]) == (SAMPLE, 2.0)


def test_totals_are_the_sums_of_brokers() -> None:
    plan = Plan(Topology(seconds=2.0, change_rate=2.0), ("kip-227", "kip-1166"), (1.0,))
    tasks = plan.tasks()
    tables = tables_of(tasks, [run_task(task) for task in tasks])
    for name in ("kip-227", "kip-1166"):
        (total,) = [row for row in tables["totals"] if row["scenario"] == name]
        brokers = [row for row in tables["brokers"] if row["scenario"] == name]
        for column in ("polls", "request_bytes", "looked_at"):
            assert total[column] == sum(
                row[f"{who}_{column}"] for row in brokers for who in ("followers", "readers")
            )
    summary = summary_of(plan, tables, "page")
    assert "kip-1166" in summary.tables[0]
    assert summary.rows == 6
