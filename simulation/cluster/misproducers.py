"""Misproducers of the cluster's simulation: batches that a leader must refuse, each for its reason.

Corrupted, cut, miscounted, untimely, with records that a consumer may not make. Nothing of them is
ever stored, whatever they are refused for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import (
    RECORD_BATCH_OVERHEAD,
    pack_header,
    read_batch_header,
)
from mockbroker_protocol.records.compression import GZIP
from mockbroker_protocol.records.crc import crc32c
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew
from simulation.cluster.plan import COMPACTED, FORMATTED
from simulation.cluster.producers import RETRIABLE, VERSION
from simulation.producers import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

BAD: Final = b"bad"
MANY = 300
HOURS_3_MS = 3 * 3_600_000.0
PAUSE_MS = 150.0
Batch = bytes


def _good(now_ms: float, count: int = 1, compression: int = 0) -> Batch:
    return batch_of([BAD] * count, now_ms, -1, 0, compression=compression)


def _with(batch: Batch, **fields: int) -> Batch:
    """The batch with other fields in its header, and a checksum that is right."""
    header = read_batch_header(batch)
    for name, value in fields.items():
        setattr(header, name, value)
    at = RECORD_BATCH_OVERHEAD - 40
    header.crc = crc32c(pack_header(header)[at:] + batch[RECORD_BATCH_OVERHEAD:])
    return pack_header(header) + batch[RECORD_BATCH_OVERHEAD:]


def _flipped(batch: Batch) -> Batch:
    return batch[:-1] + bytes((batch[-1] ^ 1,))


MISTAKES: Final[Mapping[str, tuple[int, Callable[[float], Batch]]]] = {
    "flips a bit": (ErrorCode.CORRUPT_MESSAGE, lambda now: _flipped(_good(now))),
    "cuts the header": (
        ErrorCode.CORRUPT_MESSAGE,
        lambda now: _with(_good(now), batch_length=40),
    ),
    "has an offset": (ErrorCode.INVALID_RECORD, lambda now: _with(_good(now), base_offset=1)),
    "counts one more": (
        ErrorCode.INVALID_RECORD,
        lambda now: _with(_good(now), record_count=2, last_offset_delta=1),
    ),
    "counts one less of many": (
        ErrorCode.INVALID_RECORD,
        lambda now: _with(_good(now, MANY), record_count=MANY - 1, last_offset_delta=MANY - 2),
    ),
    "counts another last offset": (
        ErrorCode.INVALID_RECORD,
        lambda now: _with(_good(now, 3), last_offset_delta=1),
    ),
    "has no sequence": (
        ErrorCode.INVALID_RECORD,
        lambda now: _with(_good(now), producer_id=1, producer_epoch=0),
    ),
    "is a marker": (
        ErrorCode.INVALID_RECORD,
        lambda now: _with(_good(now), attributes=0x20),
    ),
    "is of tomorrow": (ErrorCode.INVALID_TIMESTAMP, lambda now: _good(now + HOURS_3_MS)),
    "is of tomorrow, compressed": (
        ErrorCode.INVALID_TIMESTAMP,
        lambda now: _good(now + HOURS_3_MS, 2, GZIP),
    ),
    "counts one more, compressed": (
        ErrorCode.INVALID_RECORD,
        lambda now: _with(_good(now, 2, GZIP), record_count=3, last_offset_delta=2),
    ),
    "says that it is compressed": (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        lambda now: _with(_good(now), attributes=GZIP),
    ),
    "has a codec of nobody": (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        lambda now: _with(_good(now), attributes=5),
    ),
}
"""By what is wrong: the error of Apache Kafka's LogValidator, and the batch at a time."""
KEYLESS: Final = "has no key"


class Misproducer(ClusterClient):
    """Sends one bad batch after another to the leaders."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.all_topics)
        self.refused = 0

    def begin(self) -> None:
        part = self.rng.choice(self.parts)
        known = self.leaders.get(part)
        if known is None:
            self.learn()
            return
        if part[0] == COMPACTED:
            what, batch = KEYLESS, _good(self.world.now_ms)
            error: int = ErrorCode.INVALID_RECORD
        else:
            what = self.rng.choice(list(MISTAKES))
            error, make = MISTAKES[what]
            batch = make(self.world.now_ms)
        if error == ErrorCode.INVALID_TIMESTAMP and part[0] == FORMATTED:
            self.later(1.0)  # the broker's own time is taken there
            return

        def answered(answer: ProduceResponse | None) -> None:
            given = -1 if answer is None else answer.responses[0].partition_responses[0].error_code
            self.note(f"{what} for {part}: {given}")
            if given == error:
                self.refused += 1
            else:
                self.forget(part)
                if given != -1 and given not in RETRIABLE:
                    self.world.violate(f"{self.name}: {part} answers {given}, {what} is {error}")
            self.later(self.rng.random() * PAUSE_MS)

        topic = ProduceRequestTopic(part[0], bytes(16), [ProduceRequestPartition(part[1], batch)])
        request = ProduceRequest(None, -1, 200, [topic])
        self.ask(known[0], request, VERSION, ProduceResponse, answered)


class MisproducerCrew(Crew):
    """One of them, where a seed draws "formats"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.misproducers = setting.hire(Misproducer, "misproducer", int(self.plan.on["formats"]))
        self.clients = [*self.misproducers]

    def counts(self) -> dict[str, int]:
        return {"bad batches": sum(each.refused for each in self.misproducers)}

    def check(self) -> None:
        """No replica has a record of theirs."""
        for truth in self.truth.partitions.values():
            for node, mirror in truth.mirrors.items():
                if any(entry is not None and entry[1].endswith(BAD) for entry in mirror.entries):
                    self.world.violate(f"{truth.name}: broker {node} has stored what was refused")
