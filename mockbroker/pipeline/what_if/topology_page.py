"""The page of `topology`: the curve by size of what each KIP costs and saves, and the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.what_if.output import Section, lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.pipeline.what_if.topology_job import Plan

    Row = Mapping[str, Any]

NAMES: Final = {
    "none": "without any",
    "kip-74": "+ KIP-74, limits",
    "kip-227": "+ KIP-227, sessions",
    "kip-1166": "+ KIP-1166, high watermarks",
}
_CURVES: Final = (
    ("Fetch bytes that are no records", "bytes a second", "overhead_bytes", True),
    ("Partitions that brokers looked at", "partitions a second", "looked_at", True),
    ("Polls", "polls a second", "polls", True),
    (
        "From the move of a high watermark until a follower knows, median",
        "ms",
        "follower_high_watermark_p50_ms",
        False,
    ),
    ("Largest answer", "bytes", "largest_answer_bytes", False),
)


def facts_of(plan: Plan) -> list[str]:
    """What was simulated, in words."""
    it = plan.topology
    partitions = len(it.replicas) or it.partitions
    cluster = (
        f"{it.brokers:,} brokers, {partitions:,} partitions, {it.consumers:,} consumers,"
        f" groups: {it.groups:,}; {it.seconds:g} s of virtual time"
    )
    traffic = (
        f"each partition is appended to {it.change_rate:g} times a second, {it.batch_bytes:,} bytes"
        f" at once, {it.backlog_bytes:,} bytes are there at the start; a request travels"
        f" {it.travel_ms:g} ms; {it.slots:,} session slots a broker"
    )
    return [cluster, traffic, "Each line adds one KIP to those before it."]


def sections_of(plan: Plan, totals: Sequence[Row]) -> list[Section]:
    """The parts of the page."""
    seconds = plan.topology.seconds
    plots = []
    for title, unit, column, is_sum in _CURVES:
        series: dict[str, list[tuple[float, float]]] = {}
        for row in totals:
            value = row[column]
            if value is not None:
                name = NAMES[row["scenario"]]
                point = row["size_partitions"], value / seconds if is_sum else value
                series.setdefault(name, []).append(point)
        plots.append(lines(title, "partitions", unit, series))
    largest = max(row["size_partitions"] for row in totals)
    return [
        Section(
            "By size",
            "What fetching costs as the cluster has more partitions, all else equal.",
            plots,
            {"All sizes": totals},
        ),
        Section(
            "At full size",
            "What each KIP changes, beside what was without it.",
            tables={"Step by step": steps(totals, largest)},
        ),
    ]


def steps(totals: Sequence[Row], size: int) -> list[dict[str, Any]]:
    """Each scenario of that size, with what it has more or less than the one before."""
    found: list[dict[str, Any]] = []
    before: Row | None = None
    for row in totals:
        if row["size_partitions"] != size:
            continue
        step: dict[str, Any] = {"scenario": NAMES[row["scenario"]]}
        for _, _, column, _ in _CURVES:
            step[column] = row[column]
            step[f"{column}_change_percent"] = _change(before, row, column)
        found.append(step)
        before = row
    return found


def _change(before: Row | None, row: Row, column: str) -> float | None:
    if before is None or not before[column] or row[column] is None:
        return None
    change: float = row[column] / before[column] - 1
    return round(100 * change, 2)
