"""What stands out, in sentences: the first thing on the page, made of the tables' own figures.

Called by `page`. A sentence is there when its figures are; what went wrong comes first. Each names
the section of the page that shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.summary import human_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Row = dict[str, Any]
    Rows = Sequence[Row]

HEADLINE_TABLES: Final = (
    "key_figures", "runs", "conformance_clients", "session_errors", "rotation", "rebalances",
    "transaction_outcomes", "slowest", "diagnosis",
)  # fmt: skip
"""What the sentences count, whole: not the first rows, which the rest of the page shows."""
SLOW_REBALANCE_MS: Final = 3_000.0
SLOW_REQUEST_MS: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class Headline:
    """One sentence; `wrong` when a tester should look into it."""

    text: str
    section: str
    wrong: bool = False


def headlines(tables: dict[str, list[Row]], side: str = "base") -> list[Headline]:
    """The sentences of one side, those about what went wrong first."""
    of_side = {name: [row for row in rows if row["side"] == side] for name, rows in tables.items()}
    figures = {row["figure"]: row["value"] or 0 for row in of_side.get("key_figures", [])}
    found = [
        told
        for tell in _TELLERS
        for told in tell(lambda name: of_side.get(name, []), lambda name: figures.get(name, 0))
    ]
    return sorted(found, key=lambda headline: not headline.wrong)


if TYPE_CHECKING:
    Table = Callable[[str], Rows]
    Figure = Callable[[str], float]
    Told = Iterator[Headline]


def _many(number: float, one: str, several: str = "") -> str:
    return f"{number:,.0f} {one if number == 1 else several or one + 's'}"


def _input(table: Table, _: Figure) -> Told:
    missing = sum(row["missing"] for row in table("runs"))
    if missing:
        text = f"{_many(missing, 'line is', 'lines are')} missing: the figures are too low by them."
        yield Headline(text, "input", wrong=True)


def _diagnosis(table: Table, _: Figure) -> Told:
    for row in table("diagnosis"):
        yield Headline(str(row["detail"]), "diagnosis", wrong=True)


def _conformance(table: Table, _: Figure) -> Told:
    rows = table("conformance_clients")
    if rows:
        count = sum(row["findings"] for row in rows)
        most = max(rows, key=lambda row: row["findings"])
        text = (
            f"{_many(count, 'request')} that a well-behaved client would not send, most by"
            f" {most['client_id']} ({most['rule'].replace('_', ' ')}: {most['findings']:,})."
        )
        yield Headline(text, "conformance", wrong=True)


def _sessions(table: Table, figure: Figure) -> Told:
    for code, meaning in ((70, "session not found"), (71, "wrong epoch")):
        rows = [row for row in table("session_errors") if row["error"] == code]
        if rows:
            count = sum(row["requests"] for row in rows)
            causes = sorted({str(row["cause"]) for row in rows})
            text = f"{_many(count, 'fetch', 'fetches')} got error {code} ({meaning}): "
            yield Headline(text + ", ".join(causes) + ".", "sessions", wrong=True)
    if figure("sessions evicted"):
        text = f"{_many(figure('sessions evicted'), 'session was', 'sessions were')} evicted."
        yield Headline(text, "sessions", wrong=True)


def _fetches(_: Table, figure: Figure) -> Told:
    fetches = figure("fetches")
    if not fetches:
        return
    share = 100 * figure("incremental fetches") / fetches
    spared = figure("fetch bytes spared by sessions")
    text = f"{share:.0f} % of {_many(fetches, 'fetch', 'fetches')} were incremental"
    if spared > 0:
        text += (
            f"; sessions spared {human_bytes(int(spared))} of what full fetches would have cost"
            f" ({figure('share spared by sessions'):.0f} %)"
        )
    yield Headline(text + ".", "fetches")
    if figure("fetches woken in vain"):
        woken = figure("fetches woken by news")
        text = f"{_many(figure('fetches woken in vain'), 'fetch', 'fetches')} of {woken:,.0f} that"
        yield Headline(text + " news woke had none to tell.", "waits", wrong=True)


def _fairness(table: Table, _: Figure) -> Told:
    rows = table("rotation")
    if not rows:
        return
    never = [row for row in rows if not row["servings"] and row["passed_over_unserved"]]
    if never:
        text = f"{_many(len(never), 'partition was', 'partitions were')} never served by a reader"
        yield Headline(f"{text} though there was data.", "sizes", wrong=True)
    worst = max(rows, key=lambda row: row["max_passed_over"])
    if worst["max_passed_over"]:
        text = (
            f"The longest turn: {_many(worst['max_passed_over'], 'fetch', 'fetches')} of"
            f" {worst['client_id']} passed {worst['topic']}-{worst['partition']} over while it had"
            " data."
        )
        yield Headline(text, "sizes")


def _groups(table: Table, _: Figure) -> Told:
    rows = table("rebalances")
    if rows:
        longest = max(rows, key=lambda row: row["took_ms"])
        text = (
            f"{_many(len(rows), 'rebalance')}, the longest of group {longest['group']}:"
            f" {longest['took_ms'] / 1000:,.2f} s."
        )
        yield Headline(text, "rebalances", wrong=longest["took_ms"] > SLOW_REBALANCE_MS)


def _transactions(table: Table, _: Figure) -> Told:
    outcomes: dict[str, int] = {}
    for row in table("transaction_outcomes"):
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + row["transactions"]
    if outcomes:
        words = {"commit": "committed", "abort": "aborted"}
        told = ", ".join(
            f"{count:,} {words.get(outcome, outcome)}" for outcome, count in outcomes.items()
        )
        wrong = bool(outcomes.keys() - {"commit", "abort", "open"})
        yield Headline(f"Transactions: {told}.", "transactions", wrong=wrong)


def _requests(table: Table, figure: Figure) -> Told:
    if figure("requests with errors"):
        share = 100 * figure("requests with errors") / figure("requests")
        text = f"{_many(figure('requests with errors'), 'request')} ({share:.2g} %) got errors."
        yield Headline(text, "requests")
    slow = [row for row in table("slowest") if row["beyond_ms"] > SLOW_REQUEST_MS]
    if slow:
        most = max(slow, key=lambda row: row["beyond_ms"])
        text = (
            f"The slowest request: {most['api']} of {most['client_id']},"
            f" {most['waited_ms'] / 1000:,.2f} s."
        )
        yield Headline(text, "requests")


_TELLERS: Final = (
    _input, _diagnosis, _conformance, _sessions, _fetches, _fairness, _groups, _transactions,
    _requests,
)  # fmt: skip
