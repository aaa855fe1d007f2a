"""Requests that a well-behaved client would not send, each with the lines that show it.

Called through `tables`. `RULES` says what is a finding; each rule is a function of the lines that
returns the findings' common columns. Answers that a fault rule made up are no client's doing and
never count. `before_seq` is the line that makes the request wrong, when there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import CONNECTION, Options, Table, count, fetches, requests

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

OUT_OF_ORDER_SEQUENCE: Final = 45
OUTSIDE_GENERATION: Final = (22, 25, 113)
"""ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH."""
RETRIABLE: Final = (3, 5, 6, 7, 9, 14, 15, 16, 19, 20, 51, 56, 72, 75, 84, 100)
"""Errors after which Kafka's clients wait for retry.backoff.ms before they ask again."""
_COMMITS: Final = ("OffsetCommit", "TxnOffsetCommit")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding, in words for the page."""

    title: str
    find: Callable[[DataFrame, Options], DataFrame]


def _finding(found: DataFrame, detail: Column, before: Column | None = None) -> DataFrame:
    return found.select(
        "side",
        "client_id",
        "api",
        "run",
        "seq",
        (F.lit(None) if before is None else before).cast("bigint").alias("before_seq"),
        detail.alias("detail"),
    )


def _honest(lines: DataFrame) -> DataFrame:
    return lines.where("fault IS NULL")


def _has_error(*codes: int) -> Column:
    return F.arrays_overlap("errors", F.array(*map(F.lit, codes)))


# -- fetch sessions ------------------------------------------------------------------------


def _wrong_epoch(lines: DataFrame, _: Options) -> DataFrame:
    """Error 71, with the poll of that session before it."""
    wrong = _honest(fetches(lines)).where(_has_error(71) & F.expr("fetch.session_id > 0"))
    session = F.col("fetch.session_id").alias("session_id")
    place = [*map(F.col, ("side", "run", "broker")), session]
    polls = fetches(lines).select(
        *place, "seq", "client_id", "api", F.col("fetch.session_epoch").alias("epoch"),
        (_has_error(71) & F.col("fault").isNull()).alias("wrong"),
    )  # fmt: skip
    concerned = polls.join(
        F.broadcast(wrong.select(*place).distinct()), ["side", "run", "broker", "session_id"]
    )
    before = Window.partitionBy("side", "run", "broker", "session_id").orderBy("seq")
    found = (
        concerned.withColumn("before", F.lag("seq").over(before))
        .withColumn("last_epoch", F.lag("epoch").over(before))
        .where("wrong")
    )
    detail = F.format_string(
        "session %d: epoch %d after epoch %s", "session_id", "epoch",
        F.coalesce(F.col("last_epoch").cast("string"), F.lit("?")),
    )  # fmt: skip
    return _finding(found, detail, F.col("before"))


def _epoch_without_session(lines: DataFrame, _: Options) -> DataFrame:
    """An epoch above 0 without a session id: no client has reason to."""
    found = fetches(lines).where("fetch.session_id = 0 AND fetch.session_epoch > 0")
    detail = F.format_string("epoch %d without a session", "fetch.session_epoch")
    return _finding(found, detail)


def _closed_session(lines: DataFrame, _: Options) -> DataFrame:
    """Error 70 for a session that the client itself had closed."""
    place = ["side", "run", "broker", "session_id"]
    closed = (
        lines.where("kind = 'session' AND event = 'closed'")
        .groupBy(*place)
        .agg(F.max("seq").alias("closed_seq"))
    )
    late = _honest(fetches(lines)).where(_has_error(70)).drop("session_id")
    found = (
        late.withColumn("session_id", F.col("fetch.session_id"))
        .join(closed, place)
        .where("seq > closed_seq")
    )
    detail = F.format_string("session %d after it was closed", "session_id")
    return _finding(found, detail, F.col("closed_seq"))


# -- groups and producers ------------------------------------------------------------------


def _commit_outside(lines: DataFrame, _: Options) -> DataFrame:
    commits = _honest(requests(lines)).where(F.col("api").isin(*_COMMITS))
    found = commits.where(_has_error(*OUTSIDE_GENERATION))
    detail = F.format_string(
        "group %s, member %s, generation %s: error %d", "group.group",
        F.coalesce("group.member", F.lit("(none)")),
        F.coalesce(F.col("group.generation").cast("string"), F.lit("(none)")), "error",
    )  # fmt: skip
    return _finding(found, detail)


_SEQUENCE: Final = ("side", "run", "topic", "partition", "producer_id", "producer_epoch")


def _batches(lines: DataFrame) -> DataFrame:
    """One row for each partition of a produce request with an idempotent producer."""
    produced = requests(lines).where("api = 'Produce' AND produce IS NOT NULL")
    part = produced.withColumn("part", F.explode("produce.partitions")).drop("topic", "partition")
    names = ("partition", "producer_id", "producer_epoch", "base_sequence", "records")
    return part.select(
        "side", "run", "seq", "client_id", "api", "arrived_ms", "completed_ms", "fault",
        F.coalesce("part.topic", "part.topic_id").alias("topic"),
        *(F.col(f"part.{name}").alias(name) for name in names),
        F.col("part.error").alias("error"),
    ).where("producer_id >= 0")  # fmt: skip


def _out_of_order(lines: DataFrame, _: Options) -> DataFrame:
    """Error 45, with the batch of that producer and partition before it."""
    batches = _batches(lines)
    wrong = batches.where(f"error = {OUT_OF_ORDER_SEQUENCE} AND fault IS NULL")
    concerned = batches.join(F.broadcast(wrong.select(*_SEQUENCE).distinct()), list(_SEQUENCE))
    before = Window.partitionBy(*_SEQUENCE).orderBy("seq")
    found = (
        concerned.withColumn("before", F.lag("seq").over(before))
        .withColumn("due", F.lag(F.col("base_sequence") + F.col("records")).over(before))
        .where(f"error = {OUT_OF_ORDER_SEQUENCE} AND fault IS NULL")
    )
    detail = F.format_string(
        "producer %d, %s-%d: sequence %d where %s was due", "producer_id", "topic", "partition",
        "base_sequence", F.coalesce(F.col("due").cast("string"), F.lit("0")),
    )  # fmt: skip
    return _finding(found, detail, F.col("before"))


def _hasty_retry(lines: DataFrame, options: Options) -> DataFrame:
    """The same API for the same topics and group again, at once after a retriable error.

    Fetches and requests that clients send ahead of their answers (Produce) are told by the next.
    """
    asked = requests(lines).where("answered AND api != 'Produce'")
    failed = asked.where(_has_error(*RETRIABLE))
    subject = (*CONNECTION, "api")
    concerned = asked.join(F.broadcast(failed.select(*subject).distinct()), list(subject))
    before = Window.partitionBy(*subject).orderBy("seq")
    found = (
        concerned.withColumn("failed", _has_error(*RETRIABLE))
        .withColumn("code", F.col("error"))
        .withColumn("asked_for", F.struct("topics", F.col("group.group").alias("of_group")))
        .select(
            "side", "client_id", "api", "run", "seq",
            (F.col("arrived_ms") - F.lag("completed_ms").over(before)).alias("pause_ms"),
            F.lag("failed").over(before).alias("failed_before"),
            F.lag("code").over(before).alias("code_before"),
            F.lag("seq").over(before).alias("before"),
            (F.lag("asked_for").over(before) == F.col("asked_for")).alias("same"),
        )
        .where(F.expr("failed_before AND same") & (F.col("pause_ms") < options.backoff_ms))
    )  # fmt: skip
    return _finding(found, _pause(), F.col("before"))


def _hasty_produce(lines: DataFrame, options: Options) -> DataFrame:
    """The same batch of an idempotent producer again, at once after a retriable error."""
    batches = _batches(lines)
    failed = batches.where(F.col("error").isin(*RETRIABLE))
    concerned = batches.join(F.broadcast(failed.select(*_SEQUENCE).distinct()), list(_SEQUENCE))
    before = Window.partitionBy(*_SEQUENCE, "base_sequence").orderBy("seq")
    found = concerned.select(
        "side", "client_id", "api", "run", "seq",
        (F.col("arrived_ms") - F.lag("completed_ms").over(before)).alias("pause_ms"),
        F.lag("error").over(before).alias("code_before"),
        F.lag("seq").over(before).alias("before"),
    )  # fmt: skip
    hasty = F.col("code_before").isin(*RETRIABLE) & (F.col("pause_ms") < options.backoff_ms)
    found = found.where(hasty)
    return _finding(found, _pause(), F.col("before"))


def _pause() -> Column:
    return F.format_string("%.1f ms after error %d", "pause_ms", "code_before")


RULES: Final = {
    "fetch_epoch": Rule("Fetch with a session epoch that is not the next one", _wrong_epoch),
    "fetch_epoch_alone": Rule("Fetch with an epoch but no session", _epoch_without_session),
    "fetch_closed_session": Rule("Fetch in a session that its client had closed", _closed_session),
    "commit_outside_generation": Rule("Commit outside the group's generation", _commit_outside),
    "sequence_out_of_order": Rule("Batch whose sequence is not the next one", _out_of_order),
    "retry_without_backoff": Rule("Retry without back-off", _hasty_retry),
    "produce_without_backoff": Rule("Batch sent again without back-off", _hasty_produce),
}


def conformance(lines: DataFrame, options: Options) -> DataFrame:
    """Every finding of every rule."""
    return reduce(
        DataFrame.unionByName,
        (rule.find(lines, options).withColumn("rule", F.lit(name)) for name, rule in RULES.items()),
    )


def conformance_clients(findings: DataFrame, _: Options) -> DataFrame:
    """Findings by rule and client, with the first one's line."""
    keys = ["side", "rule", "client_id"]
    first = F.min_by(F.struct("run", "seq"), "seq")
    counted = findings.groupBy(*keys).agg(count().alias("findings"), first.alias("first"))
    return counted.select(
        *keys, "findings", F.col("first.run").alias("first_run"),
        F.col("first.seq").alias("first_seq"),
    )  # fmt: skip


def evidence(findings: DataFrame, lines: DataFrame) -> DataFrame:
    """The journal lines of the first findings of each rule, as JSON of what was read."""
    first = Window.partitionBy("side", "rule").orderBy("run", "seq")
    few = findings.withColumn("finding", F.row_number().over(first)).where(
        F.col("finding") <= EVIDENCE_A_RULE
    )
    wanted = few.select(
        "side", "rule", "finding", "run", F.explode(F.array("before_seq", "seq")).alias("seq")
    )
    fields = [
        name for name in lines.columns if name not in {"side", "journal", "raw", "size", "t_ms"}
    ]
    kept = lines.where("kind = 'request' OR kind = 'session'").select(
        "side",
        "run",
        "seq",
        "journal",
        F.to_json(F.struct(*(F.col(f"`{name}`") for name in fields))).alias("line"),
    )
    return kept.join(F.broadcast(wanted), ["side", "run", "seq"])


EVIDENCE: Final = (
    "side STRING, rule STRING, finding INT, run STRING, seq BIGINT, journal STRING, line STRING"
)
EVIDENCE_A_RULE: Final = 5

_FINDINGS: Final = (
    "side STRING, rule STRING, client_id STRING, api STRING, run STRING, seq BIGINT,"
    " before_seq BIGINT, detail STRING"
)

TABLES: Final = (
    Table("conformance", _FINDINGS, conformance, "side, run, seq, rule"),
    Table(
        "conformance_clients",
        "side STRING, rule STRING, client_id STRING, findings BIGINT, first_run STRING,"
        " first_seq BIGINT",
        conformance_clients,
        "findings DESC, side, rule, client_id",
        source="conformance",
    ),
)
