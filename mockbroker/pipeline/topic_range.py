"""Which records to read, from which broker: the options of Spark's Kafka source, without Spark.

Bounds are earliest, latest, offset:N, a time, or JSON of offsets by topic and partition. Called by
`options` and the jobs that read; `known_partitions` and `check_range` ask the broker, so that an
unknown topic is told before Spark starts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.broker_client import EARLIEST, BrokerClient
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping

CONSUMER_CONF: Final = {
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": "8388608",
}

_SPANS_TOLD: Final = 8
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSETS_RE: Final = re.compile(r"offset:(\d+)")


@dataclass(frozen=True, slots=True)
class TopicRange:
    """What to read. Bounds: earliest, latest, offset:N, a time (ISO 8601), or JSON by partition."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    start: str = "earliest"
    end: str = "latest"
    isolation: str = "read_committed"
    min_tasks: int = 0


@dataclass(frozen=True, slots=True)
class Broker:
    """Where the topics are: HOST:PORT[,…] and more settings under Kafka's names."""

    bootstrap: str
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords may be among them."""

    def options(self) -> dict[str, str]:
        """As options of Spark's source and sink."""
        conf = {f"kafka.{key}": value for key, value in self.conf.items()}
        return {"kafka.bootstrap.servers": self.bootstrap, **conf}


def read_options(
    broker: Broker, wanted: TopicRange, partitions: Mapping[str, list[int]]
) -> dict[str, str]:
    """The options of Spark's Kafka source, batch or streaming.

    `partitions` by topic serve offset:N. Raises PipelineError for a bound that says nothing.
    """
    options = {
        **CONSUMER_CONF,
        **broker.options(),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "kafka.isolation.level": wanted.isolation,
    }
    if wanted.pattern is not None:
        options["subscribePattern"] = wanted.pattern
    else:
        options["subscribe"] = ",".join(wanted.topics)
    for side, bound in (("starting", wanted.start), ("ending", wanted.end)):
        options.update(bound_options(side, bound, partitions))
    if wanted.min_tasks:
        options["minPartitions"] = str(wanted.min_tasks)
    return options


def bound_options(side: str, bound: str, partitions: Mapping[str, list[int]]) -> dict[str, str]:
    """One bound as an option; `side` is starting or ending."""
    if bound in {"earliest", "latest"}:
        return {f"{side}Offsets": bound}
    by_offset = _OFFSETS_RE.fullmatch(bound)
    if by_offset:
        offset = int(by_offset[1])
        each = {t: {str(p): offset for p in listed} for t, listed in partitions.items()}
        return {f"{side}Offsets": json.dumps(each)}
    if bound.startswith("{"):
        try:
            json.loads(bound)
        except ValueError as error:
            raise PipelineError(f"--{_flag(side)}: {bound!r} is no JSON: {error}") from None
        return {f"{side}Offsets": bound}
    # A partition without a record that late has none to start with.
    latest = {"startingOffsetsByTimestampStrategy": "latest"} if side == "starting" else {}
    return {f"{side}Timestamp": str(_time_ms(side, bound)), **latest}


def _flag(side: str) -> str:
    return "from" if side == "starting" else "to"


def _time_ms(side: str, bound: str) -> int:
    try:
        moment = datetime.fromisoformat(bound)
    except ValueError:
        raise PipelineError(
            f"--{_flag(side)}: {bound!r} is none of earliest, latest, offset:N, a time such as"
            " 2026-01-31T12:00:00Z, or JSON of offsets by topic and partition"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if moment < _EPOCH:
        # A negative time is none to Kafka: it stands for a word such as earliest.
        instead = "--from earliest takes all" if side == "starting" else "nothing is before that"
        raise PipelineError(
            f"--{_flag(side)}: {bound} is before 1970, where Kafka's time begins: {instead}"
        )
    return int(moment.timestamp() * 1000)


def known_partitions(broker: Broker, wanted: TopicRange) -> dict[str, list[int]]:
    """The partitions of the topics asked for, which must exist; one or more match a pattern."""
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        topics = list(wanted.topics)
        if wanted.pattern is not None:
            try:
                matches = re.compile(wanted.pattern).fullmatch
            except re.error as error:
                raise PipelineError(f"--pattern: {wanted.pattern!r}: {error}") from None
            topics = [topic for topic in client.topics() if matches(topic)]
            if not topics:
                raise PipelineError(f"--pattern: no topic matches {wanted.pattern!r}")
        return {topic: client.partitions(topic) for topic in topics}


def check_order(wanted: TopicRange, broker: Broker) -> None:
    """Raise PipelineError for a range that ends before it starts, in any partition.

    Also for one from the latest offset or to the earliest: it is empty, and Spark takes none.
    """
    if _names(wanted.start, "latest", -1) or _names(wanted.end, "earliest", -2):
        raise PipelineError(
            f"--from {wanted.start} --to {wanted.end}: no record is in such a range: --from takes"
            " earliest, offset:N or a time, and --to latest, offset:N or a time"
        )
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        for topic in known_partitions(broker, wanted):
            first, last = client.offsets(topic, EARLIEST), client.offsets(topic)
            starts = _offsets_at(client, topic, "starting", wanted.start, first, last)
            ends = _offsets_at(client, topic, "ending", wanted.end, first, last)
            for partition, start in starts.items():
                end = ends.get(partition, start)
                if start > end:
                    raise PipelineError(
                        f"--from {wanted.start} is behind --to {wanted.end}: partition {partition}"
                        f" of {topic} would be read from offset {start} to {end}; it has"
                        f" {first[partition]} to {last[partition]}"
                    )


def _names(bound: str, word: str, offset: int) -> bool:
    """Whether a bound is this word, or JSON that has its number for a partition."""
    if not bound.startswith("{"):
        return bound == word
    by_topic = json.loads(bound).values()
    return any(offset in each.values() for each in by_topic if isinstance(each, dict))


def _offsets_at(
    client: BrokerClient,
    topic: str,
    side: str,
    bound: str,
    first: dict[int, int],
    last: dict[int, int],
) -> dict[int, int]:
    """Where a bound is in each partition."""
    options = bound_options(side, bound, {topic: list(last)})
    time_ms = options.get(f"{side}Timestamp")
    if time_ms is not None:
        found = client.offsets(topic, int(time_ms))
        return {p: last[p] if offset < 0 else offset for p, offset in found.items()}
    named = options[f"{side}Offsets"]
    if named in {"earliest", "latest"}:
        return first if named == "earliest" else last
    each = json.loads(named).get(topic)
    if not isinstance(each, dict) or {int(p) for p in each if p.isdigit()} != set(last):
        raise PipelineError(
            f"--{_flag(side)}: {bound} does not name partitions 0 to {len(last) - 1} of {topic}"
        )
    special = {-1: last, -2: first}
    return {
        int(p): special[offset][int(p)] if offset in special else offset
        for p, offset in each.items()
    }


def what_is_there(wanted: TopicRange, broker: Broker) -> str:
    """For a range without a record: which offsets the topics have."""
    told = []
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        for topic in known_partitions(broker, wanted):
            first, last = client.offsets(topic, EARLIEST), client.offsets(topic)
            spans = [f"{p}: {first[p]} to {last[p]}" for p in sorted(last)][:_SPANS_TOLD]
            told.append(f"{topic} has offsets {', '.join(spans)}")
    return f"no record in the range; {'; '.join(told[:_SPANS_TOLD])}"


def check_range(wanted: TopicRange, broker: Broker) -> None:
    """Raise PipelineError for what cannot be read: no such topic, a bound that says nothing."""
    read_options(broker, wanted, known_partitions(broker, wanted))
