"""Kafka's tools, Java's clients and Streams, over SASL_SSL and with a certificate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.clients.java import jvm as java

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.java.jvm import Jvm
    from tests.clients.secured import Secured

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

TOOLS = "org.apache.kafka.tools"
RECORDS = 40


def test_transactions_move_each_record_once(
    jvm: Jvm, secured: Secured, topic: str, tmp_path: Path
) -> None:
    file = secured.file("java", tmp_path)
    bootstrap = str(secured.config("java")["bootstrap.servers"])
    source, target = f"{topic}-from", f"{topic}-to"
    there = ("--bootstrap-server", bootstrap, "--command-config", file)
    for name in (source, target):
        jvm.check(f"{TOOLS}.TopicCommand", "--create", "--topic", name, "--partitions", "1", *there)
    secured.broker.topic(source).put_all(map(str, range(RECORDS)))
    found = json.loads(jvm.check("Transfer", f"@{file}", source, target, str(RECORDS), "consumer"))
    assert found["committed"] == [*(f"done {number}" for number in range(RECORDS)), "kept"]
    assert found["everything"] == RECORDS + found["aborted"] + 2
    assert found["offset"] == RECORDS
    assert found["fenced"] == "ProducerFencedException"
    group = f"{source}-movers"
    told = jvm.check(
        f"{TOOLS}.consumer.group.ConsumerGroupCommand", "--describe", "--group", group, *there
    )
    assert source in told
    secured.check(target)


def test_streams_count_words(secured: Secured, topic: str, tmp_path: Path) -> None:
    source, target = f"{topic}-lines", f"{topic}-counts"
    for name in (source, target):
        secured.broker.topic(name).create(1)
    secured.broker.topic(source).put_all(["to be", "or not to be"])
    file = f"@{secured.file('java', tmp_path)}"
    with java.start("WordCount", file, source, target, topic, str(tmp_path), "10000") as process:
        try:
            counts = secured.broker.topic(target).wait_for(6, timeout=60)
        finally:
            process.kill()
    words = [(record.key, record.value) for record in counts]
    assert sorted(words) == [
        (b"be", b"1"), (b"be", b"2"), (b"not", b"1"), (b"or", b"1"), (b"to", b"1"), (b"to", b"2"),
    ]  # fmt: skip
    secured.check(target)
