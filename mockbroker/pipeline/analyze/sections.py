"""What the page has, in its order: for each section the question, the plots and the tables.

Read by `page`. A section without rows and plots shows `empty` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze import plots

if TYPE_CHECKING:
    from collections.abc import Callable

    Plot = Callable[[dict[str, list[dict[str, Any]]], float], Any]


@dataclass(frozen=True, slots=True)
class View:
    """The first rows of a table. No columns: all of them. `rows` 0: the page's usual number."""

    table: str
    title: str
    columns: tuple[str, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page."""

    id: str
    title: str
    answers: str
    empty: str
    plots: tuple[Plot, ...] = ()
    views: tuple[View, ...] = ()


SECTIONS: Final = (
    Section(
        "diagnosis",
        "Diagnosis",
        "Who misbehaves, and which limits are too small, by rules over the whole of these runs; "
        "what to do about each is below, and in docs/diagnosis.md.",
        "No finding: nobody in these journals does what a rule is about.",
        (),
        (View("diagnosis", "Findings", ("side", "rule", "subject", "findings", "detail", "more")),),
    ),
    Section(
        "fetches",
        "Fetches and what sessions save (KIP-227)",
        "What classes of fetches came, what they cost on the wire, and what the same requests and "
        "answers would have cost as full fetches, by client.",
        "No fetch in these journals.",
        (plots.fetch_classes, plots.fetch_bytes, plots.client_bytes),
        (View("fetch_clients", "By client and class"),),
    ),
    Section(
        "sessions",
        "Fetch sessions",
        "How sessions came and went, which rule evicted them, and what caused errors 70 (session "
        "not found) and 71 (wrong epoch).",
        "No session event in these journals: no client asked for a session.",
        (plots.session_life,),
        (
            View("session_events", "Events"),
            View("session_errors", "Errors 70 and 71 by client and cause"),
        ),
    ),
    Section(
        "waits",
        "Waits",
        "How long fetches waited and for what; how many waited to max_wait; how many were woken "
        "by news and then had none to tell.",
        "No fetch in these journals.",
        (plots.wait_histogram,),
        (
            View("fetch_waits", "By client"),
            View("waits", "All APIs by what completed the request"),
        ),
    ),
    Section(
        "high-watermarks",
        "High watermarks (KIP-1166)",
        "How long it took from the move of a high watermark until a reader was told; a client "
        "uses KIP-1166 when it tells high watermarks in its fetches.",
        "No reader was told of a high watermark that moved in these journals.",
        (plots.watermark_histogram,),
        (View("high_watermarks", "By reader"),),
    ),
    Section(
        "sizes",
        "Response sizes and fairness (KIP-74)",
        "How full answers were against max_bytes, first batches that went beyond a limit, and "
        "which partitions got nothing when not all had room: how many fetches passed a partition "
        "over, though it had data, until its turn came.",
        "No fetch in these journals.",
        (plots.response_fill, plots.rotation, plots.turn_histogram, plots.turns),
        (
            View("response_sizes", "By client and limit"),
            View("first_overruns", "Largest first batches beyond a limit"),
            View("fairness", "Fairness by client (Jain's index: 1 is even)"),
            View("partition_service", "Partitions, those starved most first"),
            View(
                "rotation",
                "Turns: how many fetches passed a partition over before it was served",
                (
                    "side",
                    "client_id",
                    "session",
                    "connection",
                    "topic",
                    "partition",
                    "servings",
                    "passed_over",
                    "p50_passed_over",
                    "max_passed_over",
                    "passed_over_unserved",
                    "max_waited_ms",
                ),
            ),
        ),
    ),
    Section(
        "conformance",
        "Conformance",
        "Requests that a well-behaved client would not send: wrong epochs, commits outside of the "
        "generation, sequences out of order, retries without back-off. Faults are not counted.",
        "No finding: nothing that a well-behaved client would not send.",
        (),
        (
            View("conformance_clients", "By rule and client"),
            View("conformance", "Findings, by the numbers of their lines"),
            View(
                "evidence",
                "Journal lines of the first findings of each rule",
                ("side", "rule", "finding", "journal", "line"),
                40,
            ),
        ),
    ),
    Section(
        "rebalances",
        "Rebalances",
        "When each generation of a group began, how long it took, and with how many members.",
        "No rebalance in these journals.",
        (plots.rebalances,),
        (
            View("rebalances", "Generations"),
            View("group_requests", "Requests of groups"),
        ),
    ),
    Section(
        "sharing",
        "Consumers that share partitions",
        "What filters of keys looked at and what they spared the wire, what an earlier one had "
        "left over, and whether order within a key was kept: in one generation no two members "
        "read the same slots, and none goes back.",
        "No consumer shared a partition in these journals.",
        (),
        (
            View("filtering", "Filters by client and topic"),
            View("key_order", "Order within a key, by generation"),
            View("range_commits", "Commits of single records"),
        ),
    ),
    Section(
        "transactions",
        "Transactions",
        "How transactions ended: committed, aborted, left by their producer, fenced, failed, or "
        "still open at the end.",
        "No transaction in these journals.",
        (plots.transactions,),
        (View("transaction_outcomes", "By id and outcome"), View("transactions", "Transactions")),
    ),
    Section(
        "requests",
        "Requests, errors and the slowest",
        "What was asked by API, which errors were answered, and which requests took longest "
        "beyond what they asked to wait.",
        "No request in these journals.",
        (plots.api_waits,),
        (
            View("apis", "By API and version"),
            View("errors", "Errors by API"),
            View("slowest", "Slowest requests"),
        ),
    ),
    Section(
        "input",
        "What was read",
        "Runs of brokers, kinds of lines, and lines that are missing or could not be read.",
        "No line was read.",
        (),
        (
            View("runs", "Runs"),
            View("kinds", "Lines by kind"),
            View("corrupt", "Lines that could not be read"),
        ),
    ),
)
