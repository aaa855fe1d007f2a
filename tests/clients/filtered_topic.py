"""A topic that clients are given filtered by their ids, and what each is given of it (EC-04)."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer

from mockbroker.coop.key_filter import slot_of
from tests.clients.server import serving
from tests.support.keyed_log import LOW

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KEYS = [b"a", b"foobar", b"b", b"21", b"foobar", b"21", b"user-1", b"a", b"b", b"c", b"zzz"]
GIVEN = {
    "half": [offset for offset, key in enumerate(_KEYS) if slot_of(key) <= LOW.hi],
    "last": [len(_KEYS) - 1],
    "other": list(range(len(_KEYS))),
}
"""Offsets, which are the records' values too, by client id."""


@contextmanager
def serving_filtered(folder: Path) -> Iterator[str]:
    """The address of a broker with the topic t, of one record a batch."""
    filters = f"half=t-0:{LOW.lo}-{LOW.hi},last=t-0:key=zzz"
    settings = ["--set=coop.extension.enable=true", f"--set=coop.client.filters={filters}"]
    with serving(folder, "--topic", "t:1", *settings) as bootstrap:
        asyncio.run(_fill(bootstrap))
        yield bootstrap


async def _fill(bootstrap: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for offset, key in enumerate(_KEYS):
            await producer.send_and_wait("t", str(offset).encode(), key=key, partition=0)
