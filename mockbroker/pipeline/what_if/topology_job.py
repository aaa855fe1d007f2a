"""The job `topology`: what of a cluster is simulated, and what came of it as tables and a page.

Called by `command` with results of tasks in and out of `engine`. The full size is simulated broker
by broker; of the smaller ones, which draw the curve, at most SAMPLE brokers are, evenly chosen, and
their sums are taken times as many.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.summary import Summary, table
from mockbroker.what_if.costs import Costs, Histogram
from mockbroker.what_if.simulate import DELAYS
from mockbroker.what_if.topology import brokers_of, listed_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.what_if.topology import Topology

    Row = dict[str, Any]

SAMPLE: Final = 50
SHARES: Final = (0.5, 0.99)
WHO: Final = ("followers", "readers")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be simulated: a cluster, at these shares of its partitions."""

    topology: Topology
    scenarios: tuple[str, ...]
    sizes: tuple[float, ...]

    def tasks(self) -> list[Row]:
        """One a broker and size; the largest first."""
        tasks = []
        for share in sorted(set(self.sizes), reverse=True):
            sized = self.topology.resized(share) if share != 1 else self.topology
            brokers = brokers_of(sized)
            chosen = brokers if share == max(self.sizes) else _sample(brokers)
            parts = listed_parts(sized) if sized.replicas else {}
            values = {**sized.values(), "replicas": []}
            if parts:
                values["replication"] = 1  # the parts say it
            for broker in chosen:
                part = asdict(parts[broker]) if parts else None
                tasks.append(
                    {
                        "topology": values,
                        "broker": broker,
                        "part": part,
                        "scenarios": list(self.scenarios),
                        "size": len(sized.replicas) or sized.partitions,
                        "stands_for": len(brokers) / len(chosen),
                    }
                )
        return tasks


def _sample(brokers: list[int]) -> list[int]:
    if len(brokers) <= SAMPLE:
        return brokers
    return [brokers[place * len(brokers) // SAMPLE] for place in range(SAMPLE)]


def tables_of(tasks: Sequence[Row], results: Sequence[list[Row]]) -> dict[str, list[Row]]:
    """`brokers`: a row for each broker and scenario; `totals`: one for each size and scenario."""
    brokers: list[Row] = []
    groups: dict[tuple[int, str], list[tuple[float, Row]]] = {}
    for task, figures in zip(tasks, results, strict=True):
        for told in figures:
            size = int(task["size"])
            brokers.append(_broker_row(size, told))
            group = groups.setdefault((size, told["scenario"]), [])
            group.append((float(task["stands_for"]), told))
    totals = [_total_row(size, name, group) for (size, name), group in groups.items()]
    totals.sort(key=lambda row: row["size_partitions"])
    return {"brokers": brokers, "totals": totals}


def _broker_row(size: int, told: Row) -> Row:
    row: Row = {"size_partitions": size, "scenario": told["scenario"], "broker": told["broker"]}
    for name in ("partitions", "consumers", "appends", "appended_bytes", "sessions"):
        row[name] = told[name]
    row["sessions_refused"] = told["session_events"].get("refused", 0)
    row["sessions_evicted"] = _evicted(told)
    for who in WHO:
        row |= {f"{who}_{name}": value for name, value in told[who].items()}
    return row


def _evicted(told: Row) -> int:
    return sum(count for name, count in told["session_events"].items() if "evicted" in name)


def _total_row(size: int, scenario: str, group: list[tuple[float, Row]]) -> Row:
    row: Row = {"size_partitions": size, "scenario": scenario, "brokers": len(group)}
    for name in ("appends", "appended_bytes", "sessions"):
        row[name] = round(sum(weight * told[name] for weight, told in group))
    row["sessions_refused"] = round(
        sum(weight * told["session_events"].get("refused", 0) for weight, told in group)
    )
    row["sessions_evicted"] = round(sum(weight * _evicted(told) for weight, told in group))
    for name in Costs.SUMS:
        row[name] = round(sum(w * told[who][name] for w, told in group for who in WHO))
    row["overhead_bytes"] = row["request_bytes"] + row["response_bytes"] - row["records_bytes"]
    row["largest_answer_bytes"] = max(told["largest_bytes"] for _, told in group)
    row["errors_70_71"] = round(sum(w * _errors(told, (70, 71)) for w, told in group))
    for name in DELAYS:
        delays = Histogram()
        for _, told in group:
            delays.add({int(bucket): count for bucket, count in told["delays"][name].items()})
        found = delays.quantiles(SHARES)
        for share, value in zip(SHARES, found, strict=True):
            row[f"{name}_p{round(share * 100)}_ms"] = value
    return row


def _errors(told: Row, codes: tuple[int, ...]) -> int:
    return sum(count for code, count in told["errors"].items() if int(code) in codes)


_SHOWN: Final = (
    "size_partitions",
    "scenario",
    "polls",
    "request_bytes",
    "response_bytes",
    "overhead_bytes",
    "looked_at",
    "follower_high_watermark_p50_ms",
    "largest_answer_bytes",
)


def summary_of(plan: Plan, tables: dict[str, list[Row]], page: str) -> Summary:
    """What is printed."""
    totals = tables["totals"]
    rows = [[_text(row[name]) for name in _SHOWN] for row in totals]
    return Summary(
        job="topology",
        rows=len(tables["brokers"]),
        bytes=sum(row["request_bytes"] + row["response_bytes"] for row in totals),
        target=f"simulated, {page}",
        unit="brokers and scenarios",
        tables=[table(list(_SHOWN), rows)],
        figures={"totals": totals},
        notes=[f"{plan.topology.seconds:g} s of {plan.topology.brokers:,} brokers"],
    )


def _text(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)
