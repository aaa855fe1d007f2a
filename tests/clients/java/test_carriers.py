"""Filters by client id: Kafka's consumer passes over batches that were rebuilt or are empty."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from mockbroker.coop.key_filter import slot_of
from tests.clients.java.conftest import TOOLS
from tests.clients.server import serving
from tests.support.keyed_log import LOW

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.java.jvm import Jvm

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

KEYS = [b"a", b"foobar", b"b", b"21", b"foobar", b"21", b"user-1", b"a", b"b", b"c", b"zzz"]


async def produce(bootstrap: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for offset, key in enumerate(KEYS):
            await producer.send_and_wait("t", str(offset).encode(), key=key, partition=0)


def test_a_filter_by_client_id(jvm: Jvm, tmp_path: Path) -> None:
    filters = f"half=t-0:{LOW.lo}-{LOW.hi},last=t-0:key=zzz"
    settings = ["--set=coop.extension.enable=true", f"--set=coop.client.filters={filters}"]
    low = [offset for offset, key in enumerate(KEYS) if slot_of(key) <= LOW.hi]
    with serving(tmp_path, "--topic", "t:1", *settings) as bootstrap:
        asyncio.run(produce(bootstrap))
        for client_id, given in (("half", low), ("last", [10]), ("other", [*range(len(KEYS))])):
            shown = jvm.check(
                f"{TOOLS}.consumer.ConsoleConsumer",
                *["--bootstrap-server", bootstrap, "--topic", "t", "--from-beginning"],
                *["--command-property", f"client.id={client_id}"],
                *["--max-messages", str(len(given)), "--timeout-ms", "20000"],
            )
            assert [int(line) for line in shown.split()] == given
