"""Producers of the cluster's simulation: unique values, one batch at a time, until it is there.

With acks=all what is acknowledged must have been committed before; an idempotent producer may
repeat a batch as often as it likes and finds it once. When an unclean election has taken away what
came before, it begins anew with another producer id. Some begin where sequence numbers soon start
again from 0: of who is not known a broker takes any number (ProducerAppendInfo.checkSequence).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
)
from mockbroker_protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from mockbroker_protocol.records.compression import GZIP
from simulation.cluster.clients import ClusterClient
from simulation.cluster.plan import COMPACTED, SHARED
from simulation.producers import batch_of

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

VERSION = 9
INIT_PRODUCER_ID_VERSION = 3
RETRIABLE = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
KEYS = 5
MAX_SEQUENCE = 2**31 - 1
NEARLY_WRAPS = MAX_SEQUENCE - 3
LOST_SEQUENCES = frozenset((ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID))


class ClusterProducer(ClusterClient):
    """Produces with acks 1 or all, idempotent or not, as the seed says."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.all_topics)
        self.acks = rng.choice((-1, -1, -1, 1))
        self.idempotent = self.acks == -1 and rng.random() < 0.6
        self.timeout_ms = rng.choice((150, 500))
        self.pause_ms = rng.choice((20.0, 60.0, 200.0))
        self._compresses = plan.on["formats"] and rng.random() < 0.5
        self.acknowledged = 0
        self.once: dict[bytes, None] = {}
        """Values that may be in a log once at most."""
        self._made = 0
        self._producer_id = -1
        self._sent_acks = self.acks
        self._asked = -1, -1
        """Whom the batch was sent to, and the leader epoch in force at the controller then."""
        self._first_sequence = 0
        self._sequences: dict[tuple[str, int], int] = {}
        self._batch: tuple[tuple[str, int], list[bytes]] | None = None
        self._finishing: list[tuple[str, int]] = []

    def finish(self) -> None:
        """Produce one batch more to every partition, then be done: the cluster must let it."""
        self._finishing = list(self.parts)
        self.acks = -1
        if self.stopped and not self.busy:
            self.proceed()

    def has_work(self) -> bool:
        return self._batch is not None or bool(self._finishing)

    def begin(self) -> None:
        if self.idempotent and self._producer_id < 0:
            self._get_producer_id()
            return
        if self._batch is None:
            part = self._finishing.pop() if self._finishing else self.rng.choice(self.parts)
            values = []
            for _ in range(self.rng.randint(1, 3)):
                self._made += 1
                values.append(f"{self.name}:{self._made}".encode())
            if self.idempotent:
                self.once.update(dict.fromkeys(values))
            self._batch = part, values
        part, values = self._batch
        known = self.leaders.get(part)
        if known is None:
            self.learn()
            return
        self._send(known[0], part, values)

    def _get_producer_id(self) -> None:
        def given(answer: InitProducerIdResponse | None) -> None:
            if answer is not None and answer.error_code == ErrorCode.NONE:
                self._producer_id = answer.producer_id
                self._first_sequence = 0 if answer.producer_id % 3 else NEARLY_WRAPS
            self.later(1.0 if answer else 100.0)

        self.ask(
            self.any_node(),
            InitProducerIdRequest(None),
            INIT_PRODUCER_ID_VERSION,
            InitProducerIdResponse,
            given,
        )

    def _send(self, node: int, part: tuple[str, int], values: list[bytes]) -> None:
        sequence = self._sequences.get(part, self._first_sequence)
        keys: list[bytes | None] = []
        if part[0] == COMPACTED:
            keys = [b"k%d" % (self._made % KEYS) for _ in values]
        elif part[0] == SHARED:
            keys = [b"k%d" % ((self._made - at) % KEYS) for at in range(len(values))]
            keys[0] = None if self._made % KEYS == 1 else keys[0]
        data = batch_of(
            values,
            self.world.now_ms,
            self._producer_id,
            sequence,
            compression=GZIP if self._compresses and part[1] == 0 else 0,
            keys=keys,
        )
        topic = ProduceRequestTopic(part[0], bytes(16), [ProduceRequestPartition(part[1], data)])
        self._sent_acks = self.acks
        self._asked = node, self.leadership(part)[1]
        request = ProduceRequest(None, self.acks, self.timeout_ms, [topic])
        self.note(f"produce {values[0].decode()} to {part[0]}-{part[1]} at {node}")
        self.ask(node, request, VERSION, ProduceResponse, self._answered)

    def _answered(self, answer: ProduceResponse | None) -> None:
        assert self._batch is not None
        part, values = self._batch
        if answer is None:
            self.note(f"{values[0].decode()}: no answer")
            self.forget(part)
            self.later()
            return
        data = answer.responses[0].partition_responses[0]
        self.note(f"{values[0].decode()}: {data.error_code or f'at {data.base_offset}'}")
        if data.error_code == ErrorCode.NONE:
            self._done(part, values, data)
        elif data.error_code in RETRIABLE:
            self.forget(part)
            self.later()
        elif data.error_code in LOST_SEQUENCES and self._asked != self.leadership(part):
            self.forget(part)  # a leader of before, which lacks what came after it
            self.later()
        elif data.error_code in LOST_SEQUENCES and self.truth.may_have_lost(*part):
            self._producer_id = -1
            self._sequences.clear()
            for value in values:
                self.once.pop(value, None)
            self.later()
        else:
            self.world.violate(f"{self.name}: {part} answers {data.error_code}")
            self._batch = None
            self.later()

    def _done(
        self, part: tuple[str, int], values: list[bytes], data: ProduceResponsePartition
    ) -> None:
        self._batch = None
        sequence = self._sequences.get(part, self._first_sequence) + len(values)
        self._sequences[part] = sequence & MAX_SEQUENCE
        if self._sent_acks == -1:
            self.acknowledged += len(values)
            self.truth.acknowledged(*part, data.base_offset, values)
        self.later(self.rng.random() * self.pause_ms + 0.1)
