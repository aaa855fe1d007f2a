"""The page of `what-if`: what would change, by broker and client, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.what_if.output import Section, bars
from mockbroker.pipeline.what_if.replay_job import EXACT, FIGURES, trust_of
from mockbroker.what_if.replay import AS_IT_WAS, FOLLOWER, RECORDED, WHAT_IF

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]
    Tables = Mapping[str, Sequence[Row]]

TOP: Final = 12
"""So many clients are drawn and listed; the tables have all."""
_WORDS: Final = {
    "slots": "session slots: {}",
    "min_eviction_ms": "age that spares a session: {} ms",
    "max_bytes": "limit of a consumer's answer: {} bytes",
    "partition_max_bytes": "of a partition in it: {} bytes",
    "replica_max_bytes": "limit of a follower's answer: {} bytes",
    "sessions": "fetch sessions: {}",
    "kip_1166": "KIP-1166: {}",
}
_COLORS: Final = {RECORDED: "#8c9aa8", AS_IT_WAS: "#2a7f9e", WHAT_IF: "#c4572a"}
_PLOTS: Final = (
    ("Bytes of requests and answers that are no records", "bytes", "overhead_bytes"),
    ("Bytes of records", "bytes", "records_bytes"),
    ("Partitions that the broker looked at: what a poll costs in CPU", "partitions", "looked_at"),
    ("Polls", "polls", "polls"),
)
_DELAYS: Final = (
    ("From a request to its answer, 99th percentile", "ms", "wait_p99_ms"),
    (
        "From a high watermark's move until records below it are there, median",
        "ms",
        "records_delay_p50_ms",
    ),
    ("From a high watermark's move until it is known, median", "ms", "high_watermark_delay_p50_ms"),
)
_CLIENT_COLUMNS: Final = (
    "broker", "client", "kind", "figures", "polls", "request_bytes", "response_bytes",
    "overhead_bytes", "named", "told", "looked_at", "errors", "wait_p50_ms", "records_delay_p50_ms",
)  # fmt: skip


def facts_of(files: Sequence[str], settings: Mapping[str, Any], tables: Tables) -> list[str]:
    """What was run again, and how, in words."""
    recorded = tables["totals"][0]
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    brokers = len({(row["run"], row["broker"]) for row in tables["brokers"]})
    told = [
        f"Journals: {files[0]}{more}; {recorded['polls']:,} fetches of {brokers:,} brokers",
        "What if: "
        + ", ".join(_WORDS[name].format(_said(value)) for name, value in settings.items()),
        f"How near it comes: {trust_of(tables)}.",
    ]
    if recorded["lines_dropped"]:
        told.append(f"{recorded['lines_dropped']:,} lines are missing in the journals.")
    if "kip_1166" in settings and not any(row["kind"] == FOLLOWER for row in tables["clients"]):
        told.append(
            "No follower's fetches are in the journals, so KIP-1166 changes nothing here:"
            " --journal-replication records them."
        )
    return told


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}"


def sections_of(tables: Tables) -> list[Section]:
    """The parts of the page."""
    kinds = tables["kinds"]
    return [
        Section(
            "What would change",
            "All brokers and clients: recorded, the same run again, and what would be. The change"
            " is from the second to the third.",
            tables={"Figures": [_shown(row) for row in tables["changes"]]},
        ),
        Section(
            "What it costs",
            "Consumers and followers apart.",
            [_bars(title, unit, kinds, "kind", column) for title, unit, column in _PLOTS],
        ),
        Section(
            "How long it takes",
            "A poll that waits costs nothing; news that comes late does.",
            [_bars(title, unit, kinds, "kind", column) for title, unit, column in _DELAYS],
            {"Consumers and followers": [_of_kind(row) for row in kinds]},
        ),
        Section(
            "By broker",
            "Each broker was run again by itself.",
            [
                _bars(title, unit, tables["brokers"], "broker", column)
                for title, unit, column in _PLOTS[:3:2]
            ],
            {"Brokers": tables["brokers"]},
        ),
        _clients(tables["clients"]),
        Section(
            "How far to trust it",
            "What a journal tells, beside what the same requests gave when they were run again with"
            " nothing changed.",
            tables={"Recorded and run again": _trust(tables["brokers"])},
        ),
    ]


def _clients(rows: Sequence[Row]) -> Section:
    sizes: dict[tuple[str, str], int] = {}
    for row in rows:
        if row["figures"] == WHAT_IF:
            key = row["client"], row["kind"]
            sizes[key] = sizes.get(key, 0) + row["request_bytes"] + row["response_bytes"]
    shown = sorted(sizes, key=lambda key: -sizes[key])[:TOP]
    mine = [row for row in rows if (row["client"], row["kind"]) in shown]
    return Section(
        "By client",
        f"The {len(shown)} clients that would fetch most, of {len(sizes)}.",
        [_bars(title, unit, mine, "client", column) for title, unit, column in _PLOTS[:3:2]],
        {"Clients": [{name: row[name] for name in _CLIENT_COLUMNS} for row in mine]},
    )


def _bars(title: str, unit: str, rows: Sequence[Row], by: str, column: str) -> Any:  # noqa: ANN401
    series: dict[str, dict[str, float]] = {}
    for row in rows:
        if row[column] is not None:
            of_set = series.setdefault(row["figures"], {})
            of_set[str(row[by])] = of_set.get(str(row[by]), 0) + row[column]
    told: dict[str, dict[str, float]] = {name: series[name] for name in FIGURES if name in series}
    return bars(title, by, unit, told, _COLORS)


def _shown(row: Row) -> dict[str, Any]:
    whole = (isinstance(value, float) and value == int(value) for value in row.values())
    return {
        name: int(value) if is_whole and name != "change_percent" else value
        for (name, value), is_whole in zip(row.items(), whole, strict=True)
    }


def _of_kind(row: Row) -> dict[str, Any]:
    """Without what is told of a broker as a whole."""
    return {
        name: value
        for name, value in row.items()
        if name != "lines_dropped" and not name.startswith("sessions_")
    }


def _trust(brokers: Sequence[Row]) -> list[dict[str, Any]]:
    sets = {(row["run"], row["broker"], row["figures"]): row for row in brokers}
    told = []
    for (run, broker, figures), recorded in sets.items():
        if figures != RECORDED:
            continue
        again = sets[run, broker, AS_IT_WAS]
        line: dict[str, Any] = {"run": run, "broker": broker}
        for name in EXACT:
            line[f"{name}_recorded"] = recorded[name]
            line[f"{name}_again"] = again[name]
        told.append(line)
    return told
