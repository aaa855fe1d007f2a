"""Ever more workers on one partition, on virtual time: what sharing it comes to.

Each record takes 5 ms; requests take no time, so what is counted is how well the broker keeps the
workers busy, whatever machine this runs on.
"""

from __future__ import annotations

import heapq
import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from mockbroker.coop import tags
from mockbroker.coop.assignor import cut
from mockbroker.coop.key_filter import SLOTS, KeyRange
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Cooperative, Identity
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.records.batch import iterate_batches, iterate_records
from tests.support.core import Core
from tests.support.plain_members import put
from tests.support.range_group import ON, RangeGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = 16
WORK_MS = 5
PER_BATCH = 10
RECORDS = 4500
FOR_MS = 1000
KEYS = 1000


class Workers:
    """Members of no group that fetch t-0, each with a connection, as `mode` says."""

    def __init__(self, count: int, mode: str) -> None:
        self.core = Core(topics={"t": 1}, config={**ON, "coop.fetch.max.locks": "4000"})
        self.mode = mode
        dice = random.Random(7)
        producer = self.core.client()
        for _ in range(RECORDS // PER_BATCH):
            put(producer, *(f"key-{dice.randrange(KEYS)}" for _ in range(PER_BATCH)))
        self.clients = [self.core.client(f"worker-{at}") for at in range(count)]
        self.parts = [ranges or (KeyRange(0, SLOTS - 1),) for ranges in cut(count)]
        self.positions = [0] * count
        self.spans: dict[bytes | None, list[tuple[float, float, int]]] = {}

    def run(self) -> int:
        """How many records are done within the time."""
        queue = [(0.0, at) for at in range(len(self.clients))]
        done = 0
        while queue:
            now_ms, at = heapq.heappop(queue)
            if now_ms >= FOR_MS:
                continue
            self.core.advance(now_ms - self.core.now_ms)
            records = list(self.fetch(at))
            for offset, key in records:
                done += now_ms + WORK_MS <= FOR_MS
                self.spans.setdefault(key, []).append((now_ms, now_ms + WORK_MS, offset))
                now_ms += WORK_MS
            heapq.heappush(queue, (now_ms, at))
            if records:
                self.commit(at, [offset for offset, _ in records])
        return done

    def fetch(self, at: int) -> Iterator[tuple[int, bytes | None]]:
        part = FetchRequestPartition(0, fetch_offset=self.positions[at], partition_max_bytes=9000)
        request = FetchRequest(
            max_wait_ms=0, session_epoch=-1, topics=[FetchRequestTopic("t", partitions=[part])]
        )
        if self.mode == "cooperative":
            identity = tags.write_identity(Identity("g", f"worker-{at}", -1, None))
            asking = tags.write_cooperative(Cooperative(PER_BATCH))
            tags.tag(request, {Tag.GROUP_IDENTITY: identity, Tag.COOPERATIVE: asking})
        else:
            tags.tag(part, {Tag.KEY_RANGES: tags.write_ranges(self.parts[at])})
        answer = self.clients[at].call(request, 12, FetchResponse)
        (told,) = answer.responses[0].partitions
        assert told.error_code == 0
        given = told.records or b""
        raw = b"".join(given) if isinstance(given, list) else bytes(given)
        fields = tags.tagged_fields(told)
        self.positions[at] = tags.read_offset(fields[Tag.NEXT_FETCH_OFFSET])
        for pos, header in iterate_batches(raw):
            for one in iterate_records(raw, pos, header):
                yield one.offset, one.key

    def commit(self, at: int, offsets: list[int]) -> None:
        group = RangeGroup(self.clients[at])
        group.member = f"worker-{at}" if self.mode == "cooperative" else ""
        assert group.commit(*((each, each) for each in offsets)).error == 0

    def is_in_order(self) -> bool:
        """Whether each record was begun when all before it with its key were done."""
        return all(
            before[1] <= after[0]
            for spans in self.spans.values()
            for before, after in pairwise(sorted(spans, key=lambda span: span[2]))
        )


@pytest.mark.parametrize(("mode", "keeps_order"), [("ranges", True), ("cooperative", False)])
def test_sixteen_workers_do_fifteen_times_the_work_of_one(mode: str, keeps_order: bool) -> None:
    alone, together = Workers(1, mode), Workers(WORKERS, mode)
    once = alone.run()
    assert once == FOR_MS / WORK_MS
    assert together.run() >= 15 * once
    assert alone.is_in_order()
    assert together.is_in_order() is keeps_order
