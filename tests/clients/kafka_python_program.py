"""The scenario with kafka-python, as a program: releases 2.0.2 and 3 cannot share a process.

Usage: python -m tests.clients.kafka_python_program BOOTSTRAP TOPIC COMPRESSION API_VERSION
COMPRESSION is none, gzip, snappy, lz4 or zstd; API_VERSION is auto or, say, 0.10.1. What it is
configured with beside may be in a file, which MOCKBROKER_TEST_CLIENT_CONFIG names. Ends with
status 0 when the workload came through whole; prints kafka-python's version.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockbroker.testing.token_providers import for_kafka_python
from tests.clients.workload import (
    HEARTBEAT_MS,
    MAX_POLL_RECORDS,
    PARTITIONS,
    PROGRAM_CONFIG,
    Read,
    Sent,
    check,
    make_records,
    run_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


TOKEN_PROVIDER = "sasl_oauth_token_provider"


def lend_six() -> None:
    """Release 2.0.2 bundles a `six` whose import hook Python 3.12 does not know any more."""
    spec = importlib.util.find_spec("six")
    if sys.version_info >= (3, 12) and spec is not None:
        import six  # type: ignore[import-untyped, unused-ignore]

        sys.modules["kafka.vendor.six"] = six
        sys.modules["kafka.vendor.six.moves"] = six.moves


lend_six()

import kafka  # noqa: E402
from kafka import ConsumerRebalanceListener  # noqa: E402
from kafka.admin import KafkaAdminClient, NewTopic  # noqa: E402
from kafka.errors import CommitFailedError, RebalanceInProgressError  # noqa: E402


class Listener(ConsumerRebalanceListener):  # type: ignore[misc, unused-ignore]
    def __init__(self, on_assignment: Callable[[set[int]], None]) -> None:
        self.on_assignment = on_assignment

    def on_partitions_revoked(self, revoked: Any) -> None:
        del revoked
        self.on_assignment(set())

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.on_assignment({partition.partition for partition in assigned})


class GroupMember:
    def __init__(
        self,
        topic: str,
        group: str,
        connect: dict[str, Any],
        on_assignment: Callable[[set[int]], None],
    ) -> None:
        self.consumer = kafka.KafkaConsumer(
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT_MS,
            max_poll_records=MAX_POLL_RECORDS,
            **connect,
        )
        self.consumer.subscribe([topic], listener=Listener(on_assignment))

    def poll(self, timeout_s: float) -> list[Read]:
        batches = self.consumer.poll(timeout_ms=int(timeout_s * 1000))
        return [as_read(record) for records in batches.values() for record in records]

    def commit(self) -> bool:
        try:
            self.consumer.commit()
        except (CommitFailedError, RebalanceInProgressError):
            return False
        return True

    def close(self) -> None:
        self.consumer.close()


def as_read(record: Any) -> Read:
    headers = tuple((name, value) for name, value in record.headers)
    return Read(
        record.partition, record.offset, record.timestamp, record.key, record.value, headers
    )


def produce(topic: str, compression: str, connect: dict[str, Any], records: Sequence[Sent]) -> None:
    producer = kafka.KafkaProducer(
        compression_type=None if compression == "none" else compression,
        acks="all",
        linger_ms=5,
        **connect,
    )
    futures = [
        producer.send(
            topic,
            value=record.value,
            key=record.key,
            headers=list(record.headers),
            timestamp_ms=record.timestamp_ms,
        )
        for record in records
    ]
    producer.flush()
    for record, future in zip(records, futures, strict=True):
        assert future.get(timeout=60).timestamp == record.timestamp_ms
    producer.close()


def main(bootstrap: str, topic: str, compression: str, api_version: str) -> None:
    connect: dict[str, Any] = {"bootstrap_servers": bootstrap}
    if PROGRAM_CONFIG in os.environ:
        connect = json.loads(Path(os.environ[PROGRAM_CONFIG]).read_text("utf-8"))
        if TOKEN_PROVIDER in connect:
            connect[TOKEN_PROVIDER] = for_kafka_python(connect[TOKEN_PROVIDER])
    if api_version != "auto":
        connect["api_version"] = tuple(int(part) for part in api_version.split("."))
    admin = KafkaAdminClient(**connect)
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    group = f"{topic}-readers"
    # Records have headers since magic 2, which Produce v3 of Kafka 0.11 brought.
    with_headers = connect.get("api_version", (9,)) >= (0, 11)
    tally = run_group(
        make_records(int(time.time() * 1000), with_headers=with_headers),
        lambda on_assignment: GroupMember(topic, group, connect, on_assignment),
        lambda records: produce(topic, compression, connect, records),
    )
    partitions = [kafka.TopicPartition(topic, index) for index in range(PARTITIONS)]
    consumer = kafka.KafkaConsumer(group_id=group, enable_auto_commit=False, **connect)
    end_offsets = consumer.end_offsets(partitions)
    committed = {partition.partition: consumer.committed(partition) for partition in partitions}
    check(tally, {p.partition: end for p, end in end_offsets.items()}, committed)
    consumer.close()
    admin.close()
    print(kafka.__version__)


if __name__ == "__main__":
    main(*sys.argv[1:])
