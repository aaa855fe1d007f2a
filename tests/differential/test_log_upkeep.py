"""Retention and compaction leave in a log what Apache Kafka leaves in it, byte field by field.

Each case writes the same to a topic of both brokers, lets it be cleaned once by a change of its
configs, waits until the log is what it will be, and compares all of it. Kafka cleans in a thread
of its own at times of its own: a case is made so that only one round of cleaning can matter.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker_protocol.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.clients.server import serving
from tests.differential.conftest import kafka
from tests.differential.record_trees import records_tree
from tests.differential.trees import differences
from tests.fetch_cases.target import KAFKA, OURS, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fetch_cases.asking import Topic

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

CONFIGS = (
    "log.retention.ms=-1",
    "log.retention.check.interval.ms=100",
    "log.initial.task.delay.ms=0",
    "log.cleaner.backoff.ms=50",
    "transaction.partition.verification.enable=false",
)
OURS_ONLY = ("mockbroker.version.profile=4.4", "group.initial.rebalance.delay.ms=0")
DEADLINE_S, STILL_S = 20.0, 0.5
NOW = int(time.time() * 1000)
HOUR = 3_600_000
DELETE_HORIZON_BIT, CONTROL_BIT, COMPRESSION_MASK = 0x40, 0x20, 0x07
NEVER_DIRTY = "1.0"


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Target, Target]]:
    with ExitStack() as stack:
        theirs = stack.enter_context(kafka(*CONFIGS))
        settings = [f"--set={setting}" for setting in (*CONFIGS, *OURS_ONLY)]
        ours = stack.enter_context(serving(tmp_path_factory.mktemp("ours"), *settings))
        pair = Target(KAFKA, theirs), Target(OURS, ours)
        yield pair
        for target in pair:
            target.close()


class Log:
    """One partition on one broker, written to, then cleaned."""

    def __init__(self, target: Target, **configs: str) -> None:
        self.target = target
        settings = {"internal_segment_bytes": "400", **configs}
        self.topic: Topic = target.topic(1, **settings)
        self.sequences: dict[int, int] = {}

    def put(
        self,
        *pairs: str,
        age_ms: int = 0,
        producer_id: int = -1,
        transactional: bool = False,
        compression: int = 0,
    ) -> None:
        """One batch of `key=value` records; a key alone is a tombstone."""
        records = []
        for index, pair in enumerate(pairs):
            key, equals, value = pair.partition("=")
            content = value.encode() if equals else None
            records.append(Record(index, NOW - age_ms + index, key.encode(), content))
        sequence = self.sequences.get(producer_id, 0) if producer_id >= 0 else -1
        self.sequences[producer_id] = sequence + len(records)
        batch = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            transactional=transactional,
            compression=compression,
        )
        self.target.append(self.topic, 0, batch, f"tx-{producer_id}" if transactional else None)

    def end(self, producer_id: int, *, commit: bool) -> None:
        self.target.end_transaction(self.topic, 0, producer_id, commit=commit)

    def alter(self, name: str, value: str) -> None:
        config = IncrementalAlterableConfig(name, 0, value)
        resource = IncrementalAlterConfigsResource(2, self.topic.name, [config])
        answer = self.target.control.call(
            IncrementalAlterConfigsRequest([resource]), 1, IncrementalAlterConfigsResponse
        )
        assert not answer.responses[0].error_code, answer

    def read(self) -> dict[str, Any]:
        """Log start, end, and every batch of the log."""
        start = self._fetch(0)
        offset = start["log_start"]
        batches: list[Any] = []
        while offset < start["end"]:
            found = self._fetch(offset)["batches"]
            if not found:
                break
            batches += found
            offset = found[-1]["base_offset"] + found[-1]["last_offset_delta"] + 1
        return {**start, "batches": [_timeless(each) for each in batches]}

    def _fetch(self, offset: int) -> dict[str, Any]:
        asked = FetchRequestPartition(0, -1, offset, partition_max_bytes=1 << 20)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20)
        request.topics = [FetchRequestTopic(self.topic.name, partitions=[asked])]
        request.isolation_level = 1
        answer = self.target.control.call(request, 12, FetchResponse)
        data = answer.responses[0].partitions[0]
        if data.error_code == 1:
            return {"log_start": self.target.earliest(self.topic), "end": 1 << 62, "batches": []}
        aborted = data.aborted_transactions or []
        return {
            "log_start": data.log_start_offset,
            "end": data.high_watermark,
            "aborted": [(each.producer_id, each.first_offset) for each in aborted],
            "batches": records_tree(data.records),
        }

    def settled(self, before: dict[str, Any]) -> dict[str, Any]:
        """The log when it has changed, and then stays as it is."""
        deadline = time.monotonic() + DEADLINE_S
        found, since = before, time.monotonic()
        while found == before or time.monotonic() - since < STILL_S:
            assert time.monotonic() < deadline, f"nothing happened on {self.target.kind}"
            now = self.read()
            if now != found:
                found, since = now, time.monotonic()
        return found


def _timeless(batch: Any) -> Any:
    """Without clocks (markers, delete horizons) and what a codec makes of bytes."""
    if batch["attributes"] & COMPRESSION_MASK:
        batch["batch_length"] = "<compressed>"
    if batch["attributes"] & DELETE_HORIZON_BIT:
        batch["base_timestamp"] = "<horizon>"
        batch["batch_length"] = "<with deltas to the horizon>"
    if batch["attributes"] & CONTROL_BIT:
        batch["base_timestamp"] = batch["max_timestamp"] = "<time>"
        for record in batch["records"]:
            record["timestamp"] = "<time>"
    return batch


# --- the cases: each writes, lets go, and says what was there before ---------------------------


def by_time(target: Target) -> tuple[Log, dict[str, Any]]:
    log = Log(target, retention_ms="-1")
    for age in (3 * HOUR, 3 * HOUR, 2 * HOUR, 2 * HOUR, 2 * HOUR, 1000, 0):
        log.put("k=" + "v" * 100, age_ms=age)
    before = log.read()
    log.alter("retention.ms", str(HOUR))
    return log, before


def all_of_it(target: Target) -> tuple[Log, dict[str, Any]]:
    log = Log(target, retention_ms="-1")
    for _ in range(5):
        log.put("k=" + "v" * 100, age_ms=3 * HOUR)
    before = log.read()
    log.alter("retention.ms", str(HOUR))
    return log, before


def by_bytes(target: Target) -> tuple[Log, dict[str, Any]]:
    log = Log(target)
    for _ in range(9):
        log.put("k=" + "v" * 100)
    before = log.read()
    log.alter("retention.bytes", "700")
    return log, before


def _compacted(target: Target, **configs: str) -> Log:
    return Log(target, cleanup_policy="compact", min_cleanable_dirty_ratio=NEVER_DIRTY, **configs)


def _clean(log: Log) -> tuple[Log, dict[str, Any]]:
    """The records so far leave the active segment, and the log is dirty enough."""
    for _ in range(5):
        log.put("end=" + "v" * 200)
    before = log.read()
    log.alter("min.cleanable.dirty.ratio", "0.01")
    return log, before


def by_keys(target: Target) -> tuple[Log, dict[str, Any]]:
    log = _compacted(target)
    for number in range(30):
        log.put(f"a={number}", f"b{number % 7}={number}", f"c{number % 11}={number}")
    return _clean(log)


def compressed(target: Target) -> tuple[Log, dict[str, Any]]:
    log = _compacted(target)
    for number in range(12):
        log.put(f"a={number}", f"b{number % 5}={number}", "d=1", compression=number % 5)
    found, before = _clean(log)
    return found, before


def tombstones(target: Target) -> tuple[Log, dict[str, Any]]:
    log = _compacted(target)
    for number in range(8):
        log.put(f"a{number}=1", f"b{number}=1")
    log.put("a1", "b2=2", "a3")
    log.put("nobody")
    return _clean(log)


def producers(target: Target) -> tuple[Log, dict[str, Any]]:
    log = _compacted(target)
    for number in range(6):
        log.put(f"a={number}", "b=1", producer_id=9001 + number % 2)
    log.put("a=9", "b=9")
    return _clean(log)


def transactions(target: Target) -> tuple[Log, dict[str, Any]]:
    log = _compacted(target)
    log.put("a=1", "b=1")
    log.put("a=aborted", "n=aborted", producer_id=9101, transactional=True)
    log.put("b=committed", producer_id=9102, transactional=True)
    log.end(9101, commit=False)
    log.put("a=after", producer_id=9101, transactional=True)
    log.end(9102, commit=True)
    log.end(9101, commit=True)
    log.put("c=aborted", producer_id=9103, transactional=True)
    log.end(9103, commit=False)
    log.put("b=3")
    return _clean(log)


def both(target: Target) -> tuple[Log, dict[str, Any]]:
    log = Log(target, cleanup_policy="compact,delete", min_cleanable_dirty_ratio=NEVER_DIRTY)
    for number in range(12):
        log.put(f"a{number}=" + "v" * 60, age_ms=3 * HOUR if number < 6 else 0)
    before = log.read()
    log.alter("retention.ms", str(HOUR))
    return log, before


CASES: dict[str, Callable[[Target], tuple[Log, dict[str, Any]]]] = {
    "old segments go": by_time,
    "a log of old segments is emptied": all_of_it,
    "surplus bytes go": by_bytes,
    "the last of each key stays": by_keys,
    "compressed batches are written anew": compressed,
    "tombstones get their horizon": tombstones,
    "living producers are remembered": producers,
    "transactions lose what was aborted": transactions,
    "a compacted log is deleted from": both,
}


@pytest.mark.parametrize("name", CASES)
def test_a_log_is_what_it_is_in_apache_kafka(targets: tuple[Target, Target], name: str) -> None:
    started = [CASES[name](target) for target in targets]
    theirs, ours = (log.settled(before) for log, before in started)
    lines = list(differences(theirs, ours))
    if lines:
        pytest.fail("\n".join([name, *lines]), pytrace=False)
