"""How much work a broker does in one turn, as counts that no busy machine disturbs.

A `WorkRun` sends frames of `heavy` to a core whose turns are over whenever it asks: what it does
between two of its verbs is what a neighbour would wait for. Counted are the lines of this project
that were run (each round of a loop, each element of a comprehension is one), the objects that were
left at the end of the turn, and the bytes that were inflated.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

from mockbroker.journal import HandlerFailed
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.records import compression
from tests.support import heavy
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from types import FrameType

    from _typeshed import TraceFunction

    from tests.support.core import CoreClient

LINES_A_TURN = 350_000
"""Some 15 ms of an interpreter that has a core for itself."""
LINES_OF_ONE_APPEND = 4_000_000
"""Of what is not divided: an OffsetCommit is one batch of records (docs/budgets.md)."""
OBJECTS_A_TURN = 30_000
INFLATED_A_TURN = 40 << 20
LINES_A_BYTE = 60
"""Of a request and of its answer: work is linear in them."""
LINES_AT_LEAST = 600_000
"""Whatever is sent: a compressed batch is looked at before it is refused."""
WORLD = 2000
"""Topics, in each of which the group `gg` has a position."""
MOST = 30_000
"""Elements of a costly frame: as many as make a hundred turns."""

COSTLY: dict[str, Callable[[int], bytes]] = {
    "Metadata: one name": heavy.metadata,
    "Metadata: all topics": lambda _: heavy.request(3, 4, heavy.int32(-1) + b"\0"),
    "Fetch: one partition": heavy.fetch,
    "Fetch: unknown partitions": heavy.fetch_of_unknown_partitions,
    "Fetch: a session": heavy.fetch_of_a_session,
    "Fetch v15: topics of no partition": heavy.fetch_of_empty_topics,
    "Fetch v15: empty tags": heavy.fetch_of_empty_tags,
    "ListOffsets: one partition": heavy.list_offsets,
    "ListOffsets: unknown partitions": heavy.list_offsets_of_unknown_partitions,
    # What was there before is deleted: to look through it is no work of this frame.
    "ListOffsets: by time": lambda n: (
        heavy.delete_all_records()
        + heavy.produce(heavy.batch(heavy.timed_records(2 + n), 2 + n, newest=1), 100)
        + heavy.list_offsets_by_time(100)
    ),
    "OffsetCommit: one partition": lambda n: heavy.offset_commit(min(n, 19_000)),
    "OffsetFetch: one partition": heavy.offset_fetch,
    "LeaveGroup: one member": heavy.leave_group,
    "AddPartitionsToTxn: transactions are verified": lambda n: heavy.verify_transactions(n // 3),
    "WriteTxnMarkers: producers": lambda n: heavy.write_markers(max(1, min(n // 100, 100))),
    "OffsetFetch: all": lambda _: heavy.request(9, 5, heavy.text("gg") + heavy.int32(-1)),
    "FindCoordinator: one group": heavy.find_coordinators,
    "DescribeGroups: one group": heavy.describe_groups,
    "DeleteGroups": lambda n: heavy.delete_groups(min(n, 10_000)),
    "DescribeConfigs: one topic": heavy.describe_configs,
    "AlterConfigs: topics": lambda n: heavy.alter_configs(min(n, WORLD)),
    "DeleteRecords: one partition": heavy.delete_records,
    "DescribeTopicPartitions: one name": heavy.describe_topic_partitions,
    "ListGroups": lambda _: heavy.request(16, 0, b""),
    "DescribeLogDirs: all": lambda _: heavy.request(35, 1, heavy.int32(-1)),
    "ListConfigResources": lambda _: heavy.request(74, 1, b"\1\0", flexible=True),
    "ListTransactions": lambda _: heavy.request(66, 0, b"\1\1\0", flexible=True),
    "Produce: small records": lambda n: heavy.produce(heavy.batch(heavy.tiny_records(n), n)),
    "Produce: small records by zstd": lambda n: heavy.produce(
        heavy.batch(heavy.zstd(heavy.tiny_records(n)), n, 4)
    ),
    "Produce: zeros by zstd": lambda n: heavy.produce(
        heavy.batch(heavy.zstd(heavy.zeros(n * 1000)), 1, 4), 20
    ),
    "Produce: zeros by gzip": lambda n: heavy.produce(
        heavy.batch(heavy.gzip(heavy.zeros(n * 1000)), 1, 1), 20
    ),
    "Produce: a record by lz4": lambda n: heavy.produce(
        heavy.batch(heavy.lz4(heavy.one_record(n * 1000)), 1, 3)
    ),
    "Produce: a record by gzip": lambda n: heavy.produce(
        heavy.batch(heavy.gzip(heavy.one_record(n * 1000)), 1, 1)
    ),
    "CreateTopics, DeleteTopics": lambda n: (
        heavy.create_topics(min(n, 4500)) + heavy.delete_topics(min(n, 4500))
    ),
    "Metadata: new topics": lambda n: (
        heavy.metadata_new_topics(min(n, 4500)) + heavy.delete_topics(min(n, 4500), "u{:07d}")
    ),
    "a pipeline": lambda n: heavy.request(18, 0, b"") * (n // 40),
}
"""Frames chosen to cost, by a number that makes each of them larger."""


class Work(NamedTuple):
    """What was done in a turn, or at the most in any."""

    lines: int
    objects: int
    inflated: int


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of this project it runs."""
    lines = 0

    def count(_frame: FrameType, event: str, _arg: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return count

    trace = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(trace)
    return lines


class WorkRun:
    """One client that asks for much and a neighbour, on a broker that has much of everything."""

    def __init__(self) -> None:
        self.core = Core(topics={heavy.TOPIC: heavy.PARTITIONS})
        self._neighbour = self.core.client("neighbour")
        self._send(heavy.find_coordinators(1))
        for first in range(0, WORLD, 500):
            self._send(heavy.world_topics(first, 500) + heavy.world_positions("gg", first, 500))
        for build in COSTLY.values():  # what is imported and compiled at first is not counted
            self._send(build(1500))
        self.core.broker.requests.turn_over = self._is_over
        self._lines = self._inflated = 0
        self.turns: list[Work] = []

    def _is_over(self) -> bool:
        return True

    def _send(self, data: bytes) -> None:
        """To the end, on a connection of its own."""
        client = self.core.client("hostile")
        client.send_bytes(data)
        client.disconnect()

    def send(self, name: str, data: bytes) -> None:
        """One frame of COSTLY, turn by turn, with the neighbour's ping between them."""
        core, broker = self.core, self.core.broker
        client = core.client("hostile")
        self.turns = []
        self._turn(lambda: broker.receive(client.connection_id, data, core.now_ms))
        while (more := self._deliver(client)) or broker.requests.unfinished:
            self._ping()
            if more:
                self._turn(lambda: broker.resume(client.connection_id, core.now_ms))
            else:
                self._turn(lambda: broker.go_on(core.now_ms, self._is_over))
        size = len(data) + sum(len(client.receive_bytes()) for _ in range(client.answered))
        client.disconnect()
        self._check(size, LINES_OF_ONE_APPEND if name.startswith("OffsetC") else LINES_A_TURN)

    def _deliver(self, client: CoreClient) -> bool:
        """Hand over what was answered; whether the rest of a pipeline waits."""
        more = False
        for outgoing in self.core.cluster.take_outbox(0):
            assert outgoing.connection_id == client.connection_id
            client.take(b"".join(outgoing.chunks), closed=outgoing.close)
            more = more or outgoing.more
        return more

    def _ping(self) -> None:
        answer = self._neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert answer.error_code == 0

    def _check(self, size: int, lines_a_turn: int) -> None:
        for event in self.core.events:
            if isinstance(event, HandlerFailed):
                raise event.error
        self.core.events.clear()
        most = Work(*map(max, zip(*self.turns, strict=True)))
        assert most.lines <= lines_a_turn, most
        assert most.objects <= OBJECTS_A_TURN, most
        assert most.inflated <= INFLATED_A_TURN, most
        lines = sum(turn.lines for turn in self.turns)
        assert lines <= LINES_AT_LEAST + LINES_A_BYTE * size, (lines, size)

    def _turn(self, verb: Callable[[], None]) -> None:
        """Do one step of the broker and count."""
        self._lines = self._inflated = 0
        before, trace = sys.getallocatedblocks(), sys.gettrace()
        with patch.object(compression, "_decompress_into", self._decompress_into):
            sys.settrace(self._count)
            try:
                verb()
            finally:
                sys.settrace(trace)
        objects = sys.getallocatedblocks() - before
        self.turns.append(Work(self._lines, objects, self._inflated))

    def _count(self, frame: FrameType, event: str, arg: object) -> TraceFunction:
        if event == "line":
            self._lines += 1
        return self._count

    def _decompress_into(self, *args: object) -> compression.Buffer:
        output = _DECOMPRESS_INTO(*args)  # type: ignore[arg-type]
        self._inflated += len(output)
        return output


_DECOMPRESS_INTO = compression._decompress_into


def costly_bytes(rng: Random) -> tuple[str, bytes]:
    """A frame that asks for much work, and its name."""
    name = rng.choice(list(COSTLY))
    return name, COSTLY[name](int(MOST ** rng.random()))
