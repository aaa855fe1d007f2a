"""Producers of the simulation: they append unique values and insist until they have an answer.

After a lost answer a producer sends the same batches again on a new connection. An idempotent one
may do so without harm; what a plain one repeats is told to the ledger. What is refused because its
topic has gone is given up.

Invariants: one produce request at a time; a partition's sequence numbers grow by what the broker
acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.versions import PRODUCE_TOPIC_IDS
from simulation.checkers import GONE
from simulation.clients import Client
from simulation.ledger import Acknowledged
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from simulation.clients import Setting
    from simulation.faults import SwarmPlan

INIT_PRODUCER_ID_VERSION = 3
GZIP = 1
RETRIABLE = frozenset(
    (
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    )
)


class ProducerStyle:
    """How one producer appends."""

    def __init__(self, rng: Random, plan: SwarmPlan) -> None:
        self.version = rng.choice((3, 5, 7, 8, 9, 11, 12, 13, 13))
        self.acks = rng.choice((1, -1, -1))
        self.idempotent = rng.random() < 0.6
        self.timeout_ms = int(rng.choice((5, 30, 200)) * plan.time_scale)
        self.record_bytes = rng.choice((0, 20, 100))
        self.compression_chance = rng.choice((0.0, 0.0, 0.3))
        self.pause_ms = rng.choice((2.0, 5.0, 15.0)) * plan.time_scale


@dataclass(slots=True, eq=False)
class Batch:
    """Records on their way to one partition."""

    topic: str
    index: int
    values: list[bytes]
    data: bytes


def batch_of(
    values: list[bytes],
    now_ms: float,
    producer_id: int,
    sequence: int,
    *,
    compression: int = 0,
    producer_epoch: int = 0,
    transactional: bool = False,
    keys: Sequence[bytes | None] = (),
) -> bytes:
    """A batch of these values, with sequence numbers unless the producer id is -1."""
    timestamp = EPOCH_MS + int(now_ms)
    idempotent = producer_id >= 0
    return build_batch(
        [
            Record(at, timestamp, keys[at] if keys else None, value, [])
            for at, value in enumerate(values)
        ],
        compression=compression,
        producer_id=producer_id,
        producer_epoch=producer_epoch if idempotent else -1,
        base_sequence=sequence if idempotent else -1,
        transactional=transactional,
    )


class Producer(Client):
    """Appends to all partitions of its topics; `stop` lets it finish what it began."""

    def __init__(self, setting: Setting, name: str, rng: Random, style: ProducerStyle) -> None:
        super().__init__(setting, name, rng)
        self.style = style
        self.producer_id = -1
        self.pending: list[Batch] = []
        self.must_learn = True
        self._sequences: dict[tuple[str, int], int] = {}
        self._made = 0

    def __str__(self) -> str:
        style = self.style
        kind = "idempotent" if style.idempotent else "plain"
        return f"v{style.version} {kind}, acks {style.acks}"

    @property
    def idle(self) -> bool:
        """Whether it was stopped and has an answer to everything."""
        return self.stopped and not self.pending

    def ready(self) -> None:
        if self.pending:
            self._repeat()
        self.must_learn = True
        self.proceed()

    def proceed(self) -> None:
        """Do what comes next."""
        if self.style.idempotent and self.producer_id < 0:
            self._init()
        elif self.must_learn:
            self.must_learn = False
            self.learn_topics(self.proceed)
        elif self.pending:
            self._send()
        elif not self.stopped:
            self._make_batches()
            if self.pending:
                self._send()
            else:
                self.must_learn = True
                self.after(self.style.pause_ms, self.proceed)

    def _init(self) -> None:
        def given(answer: InitProducerIdResponse) -> None:
            if answer.error_code:
                self.world.violate(f"{self.name}: no producer id, error {answer.error_code}")
            self.producer_id = answer.producer_id
            self.proceed()

        self.call(
            InitProducerIdRequest(None), INIT_PRODUCER_ID_VERSION, InitProducerIdResponse, given
        )

    # -- batches ---------------------------------------------------------------------------

    def _make_batches(self) -> None:
        parts = [
            (name, index)
            for name, known in self.topics.items()
            for index in range(len(known.leader_epochs))
        ]
        rng = self.rng
        for name, index in rng.sample(parts, min(len(parts), rng.randint(1, 3))):
            self.pending.append(self.make_batch(name, index, rng.randint(1, 4)))

    def make_batch(self, topic: str, index: int, count: int) -> Batch:
        """A batch of new values, with the partition's next sequence numbers."""
        values: list[bytes] = []
        for _ in range(count):
            self._made += 1
            padding = b"." * self.rng.randint(0, self.style.record_bytes)
            values.append(f"{self.name}:{self._made}".encode() + padding)
        data = batch_of(
            values,
            self.world.now_ms,
            self.producer_id,
            self._sequences.get((topic, index), 0),
            compression=GZIP if self.rng.random() < self.style.compression_chance else 0,
        )
        for value in values:
            self.ledger.sent[value] = topic, index
        return Batch(topic, index, values, data)

    def _send(self) -> None:
        style = self.style
        by_id = style.version >= PRODUCE_TOPIC_IDS
        topics: list[ProduceRequestTopic] = []
        for batch in self.pending:
            known = self.topics.get(batch.topic)
            if by_id and known is None:
                self._give_up(batch)
                continue
            topics.append(
                ProduceRequestTopic(
                    "" if by_id else batch.topic,
                    known.topic_id if by_id and known is not None else bytes(16),
                    [ProduceRequestPartition(batch.index, batch.data)],
                )
            )
        if not topics:
            self.must_learn = True
            self.after(style.pause_ms, self.proceed)
            return
        request = ProduceRequest(None, style.acks, style.timeout_ms, topics)
        self.world.note(
            self.name, "produce " + " ".join(f"{b.topic}-{b.index}" for b in self.pending)
        )
        self.call(request, style.version, ProduceResponse, self._answered, style.timeout_ms)

    def _repeat(self) -> None:
        """Answers were lost: what waits will be sent again."""
        if not self.style.idempotent:
            for batch in self.pending:
                for value in batch.values:
                    self.ledger.may_repeat[value] = None

    def _give_up(self, batch: Batch) -> None:
        self.pending = [other for other in self.pending if other is not batch]

    # -- answers ---------------------------------------------------------------------------

    def _answered(self, answer: ProduceResponse) -> None:
        self.world.note(
            self.name,
            "acknowledged "
            + " ".join(
                f"{topic.name or topic.topic_id.hex()[:6]}-{data.index}:"
                f"{data.error_code or data.base_offset}"
                for topic in answer.responses
                for data in topic.partition_responses
            ),
        )
        for topic in answer.responses:
            name = topic.name or self._name_of(topic.topic_id)
            for data in topic.partition_responses:
                for batch in self.pending:
                    if (batch.topic, batch.index) == (name, data.index):
                        self._settle(batch, data.error_code, data.base_offset)
                        break
                else:
                    self.world.violate(f"{self.name}: an answer for {name}-{data.index}")
        self.after(self.rng.random() * self.style.pause_ms, self.proceed)

    def _name_of(self, topic_id: bytes) -> str:
        return next(
            (name for name, known in self.topics.items() if known.topic_id == topic_id), "?"
        )

    def _settle(self, batch: Batch, error: int, base_offset: int) -> None:
        part = batch.topic, batch.index
        if error == ErrorCode.NONE:
            self.pending.remove(batch)
            self._sequences[part] = self._sequences.get(part, 0) + len(batch.values)
            self.ledger.acknowledged.append(Acknowledged(*part, base_offset, batch.values))
        elif error in RETRIABLE:
            self._repeat()
        elif error in GONE:
            self._give_up(batch)
            self.must_learn = True
        else:
            self._give_up(batch)
            self.world.violate(f"{self.name}: {batch.topic}-{batch.index} answers {error}")
