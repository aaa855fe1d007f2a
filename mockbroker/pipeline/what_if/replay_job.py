"""The job `what-if`: a recorded broker's figures, as they were and as they would be, as tables.

Called by `replay_command`. `clients` has a row for each broker, client and set of figures,
`brokers` and `totals` their sums; `changes` is what `totals` say, a figure a row, side by side.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.progress import Bar
from mockbroker.pipeline.summary import Summary, table
from mockbroker.pipeline.what_if import engine, replay_lines
from mockbroker.what_if.costs import Costs, Histogram
from mockbroker.what_if.replay import AS_IT_WAS, BROKER, CONSUMER, FOLLOWER, RECORDED, WHAT_IF

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    Row = dict[str, Any]
    Tables = dict[str, list[Row]]

FIGURES: Final = (RECORDED, AS_IT_WAS, WHAT_IF)
SHARES: Final = (0.5, 0.99)
_UNKNOWN_WHEN_RECORDED: Final = (
    "looked_at",
    "high_watermark_delay_p50_ms",
    "high_watermark_delay_p99_ms",
)
"""What no journal tells: it is there once it was run again."""
_HISTOGRAMS: Final = (
    ("waits", "wait"),
    ("records_delays", "records_delay"),
    ("high_watermark_delays", "high_watermark_delay"),
)
EXACT: Final = ("polls", "request_bytes", "response_bytes", "records_bytes", "named", "told")
"""What is compared to say how near the run is to what was recorded."""


def replay(
    spark: SparkSession | None,
    arguments: argparse.Namespace,
    files: Sequence[str],
    settings: Mapping[str, Any],
) -> list[Row]:
    """Run all brokers again, on Spark or here: `what_if.replay.replay_figures` of each."""
    if spark is not None:
        rows = replay_lines.replay_on_spark(spark, files, settings)
    else:
        rows = _replay_here(arguments, files, settings)
    if not rows:
        raise PipelineError("JOURNALS: there are no fetches in them")
    return sorted(rows, key=lambda row: (row["run"], row["broker"], row["kind"], row["client"]))


def _replay_here(
    arguments: argparse.Namespace, files: Sequence[str], settings: Mapping[str, Any]
) -> list[Row]:
    bar = Bar(arguments.job, sys.stderr, wanted=arguments.progress)
    with tempfile.TemporaryDirectory(prefix="mockbroker-what-if-") as folder:
        try:
            tasks = replay_lines.tasks_of(files, Path(folder), settings)
            told = engine.run_here(tasks, arguments.workers, bar.draw, replay_lines.replay_task)
        finally:
            bar.clear()
    return [row for rows in told for row in rows]


# -- tables ------------------------------------------------------------------------------------


def tables_of(rows: Sequence[Row]) -> Tables:
    """All tables of these rows."""
    clients = [_summed([row], row) for row in rows if row["kind"] != BROKER]
    brokers, totals = [], []
    for name in FIGURES:
        mine = [row for row in rows if row["figures"] == name]
        totals.append(_summed(mine, {"figures": name}))
        places = dict.fromkeys((row["run"], row["broker"]) for row in mine)
        for run, broker in places:
            there = [row for row in mine if (row["run"], row["broker"]) == (run, broker)]
            brokers.append(_summed(there, {"figures": name, "run": run, "broker": broker}))
    kinds = [
        _summed(
            [row for row in rows if row["figures"] == name and row["kind"] == kind],
            {"figures": name, "kind": kind},
        )
        for kind in (CONSUMER, FOLLOWER)
        for name in FIGURES
        if any(row["kind"] == kind for row in rows)
    ]
    return {
        "changes": changes_of(totals),
        "totals": totals,
        "kinds": kinds,
        "brokers": brokers,
        "clients": clients,
    }


_PLACE: Final = ("run", "broker", "client", "kind", "figures")


def _summed(rows: Iterable[Row], place: Mapping[str, Any]) -> Row:
    rows = list(rows)
    made: Row = {name: place[name] for name in _PLACE if name in place}
    made["connections"] = sum(row["connections"] for row in rows)
    for name in Costs.SUMS:
        made[name] = sum(row[name] for row in rows)
    made["overhead_bytes"] = made["request_bytes"] + made["response_bytes"] - made["records_bytes"]
    made["largest_answer_bytes"] = max((row["largest_bytes"] for row in rows), default=0)
    errors: dict[str, int] = {}
    for row in rows:
        for code, count in row["errors"].items():
            errors[code] = errors.get(code, 0) + count
    made["errors"] = json.dumps(dict(sorted(errors.items(), key=lambda each: int(each[0]))))
    for event in ("opened", "refused", "evicted"):
        made[f"sessions_{event}"] = sum(_events(row, event) for row in rows)
    for name, title in _HISTOGRAMS:
        found = Histogram()
        for row in rows:
            found.add({int(bucket): count for bucket, count in row[name].items()})
        for share, value in zip(SHARES, found.quantiles(SHARES), strict=True):
            made[f"{title}_p{round(share * 100)}_ms"] = value
    made["lines_dropped"] = sum(row["lines_dropped"] for row in rows)
    if made["figures"] == RECORDED:
        made |= dict.fromkeys(_UNKNOWN_WHEN_RECORDED)
    return made


def _events(row: Row, event: str) -> int:
    found: Mapping[str, int] = row["session_events"]
    return sum(count for name, count in found.items() if name.partition(" ")[0] == event)


_COMPARED: Final = (
    "polls", "request_bytes", "response_bytes", "overhead_bytes", "records_bytes", "named", "told",
    "looked_at", "timeouts", "largest_answer_bytes", "sessions_opened", "sessions_refused",
    "sessions_evicted", "wait_p50_ms", "wait_p99_ms", "records_delay_p50_ms",
    "records_delay_p99_ms", "high_watermark_delay_p50_ms", "high_watermark_delay_p99_ms",
)  # fmt: skip


def changes_of(totals: Sequence[Row]) -> list[Row]:
    """A row for each figure: what was recorded, the same run again, and what would be.

    The change is from the second to the third.
    """
    sets = {row["figures"]: row for row in totals}
    columns = {name: {key: sets[name][key] for key in _COMPARED} for name in FIGURES}
    for name in FIGURES:
        errors = json.loads(sets[name]["errors"])
        columns[name] |= {f"error_{code}": count for code, count in errors.items()}
    names = dict.fromkeys(key for name in FIGURES for key in columns[name])
    rows = []
    for name in names:
        absent = 0 if name.startswith("error_") else None
        recorded, was, then = (columns[each].get(name, absent) for each in FIGURES)
        rows.append(
            {
                "figure": name,
                "recorded": _number(recorded),
                "as_it_was": _number(was),
                "what_if": _number(then),
                "change_percent": _change(was, then),
            }
        )
    return rows


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _change(before: float | None, after: float | None) -> float | None:
    if not before or after is None:
        return None
    return round(100 * (after / before - 1), 2)


def deviation(totals: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """Of what a journal tells, the figure whose second run is farthest off, and by how much.

    In percent of what was recorded.
    """
    sets = {row["figures"]: row for row in totals}
    was, again = sets[RECORDED], sets[AS_IT_WAS]
    off = {name: 100 * abs(again[name] - was[name]) / max(1, was[name]) for name in EXACT}
    worst = max(off, key=lambda name: off[name])
    return worst, off[worst]


def trust_of(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """In words, how near a second run came to what was recorded."""
    name, percent = deviation(tables["totals"])
    if not percent:
        return "run again as it was, polls, bytes and partitions are those that were recorded"
    return (
        "run again as it was, what is farthest off what was recorded is"
        f" {name.replace('_', ' ')}, by {percent:.2g} %"
    )


def summary_of(tables: Tables, page: str) -> Summary:
    """What is printed."""
    shown = [
        [
            row["figure"],
            *(_text(row[name]) for name in ("recorded", "as_it_was", "what_if")),
            _percent(row["change_percent"]),
        ]
        for row in tables["changes"]
    ]
    recorded = tables["totals"][0]
    notes = [trust_of(tables)]
    if recorded["lines_dropped"]:
        notes.append(f"{recorded['lines_dropped']:,} lines are missing in the journals")
    return Summary(
        job="what-if",
        rows=recorded["polls"],
        bytes=recorded["request_bytes"] + recorded["response_bytes"],
        target=f"run again, {page}",
        unit="fetches",
        tables=[table(["figure", RECORDED, AS_IT_WAS, WHAT_IF, "change"], shown)],
        figures={"changes": tables["changes"], "totals": tables["totals"]},
        notes=notes,
    )


def _text(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f} %"
