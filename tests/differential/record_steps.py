"""Records in and out: Produce, Fetch with its sessions, ListOffsets, epochs, producer ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.messages.transactions import InitProducerIdRequest
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.legacy import build_message_set
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.steps import ask
from tests.differential.topic_steps import UNKNOWN_ID, create, settled, topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tests.differential.steps import Known, Step

EPOCH_MS = 1_700_000_000_000
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
FETCH_VERSIONS = range(4, 19)
PRODUCE_VERSIONS = range(3, 14)


def records(count: int, random: Random, *, size: int = 40) -> list[Record]:
    return [
        Record(
            index,
            EPOCH_MS + random.randrange(1000) * 10,
            random.choice([None, b"key-%d" % index]),
            b"v" * random.randrange(1, size),
            [("h", b"%d" % index)] if random.random() < 0.5 else [],
        )
        for index in range(count)
    ]


class Target:
    """A topic and partition as each version of a request names it."""

    def __init__(self, name: str, index: int = 0, topic_id: bytes | None = None) -> None:
        self.name = name
        self.index = index
        self.topic_id = topic_id

    def id(self, known: Known) -> bytes:
        found: bytes = self.topic_id or known[f"id of {self.name}"]
        return found


def produce(
    target: Target, data: bytes | None, *, acks: int = -1, transactional_id: str | None = None
) -> Any:
    def build(known: Known) -> ProduceRequest:
        partitions = [ProduceRequestPartition(target.index, data)]
        topics = [ProduceRequestTopic(target.name, target.id(known), partitions)]
        return ProduceRequest(transactional_id, acks, 5000, topics)

    return build


def produce_steps(random: Random) -> list[Step]:
    plain, unknown = Target("records"), Target("nowhere", topic_id=UNKNOWN_ID)
    steps = []
    for version in PRODUCE_VERSIONS:
        data = build_batch(records(random.randrange(1, 5), random))
        steps += ask("Produce", version, produce(plain, data, acks=random.choice([1, -1])))
    for name, codec in (("gzip", GZIP), ("snappy", SNAPPY), ("lz4", LZ4), ("zstd", ZSTD)):
        data = build_batch(records(7, random), compression=codec)
        steps += ask(f"Produce {name}", (3, 6, 7, 13), produce(Target("records", 1), data))
    one = build_batch(records(1, random))
    corrupt = bytearray(one)
    corrupt[-1] ^= 0xFF
    old = build_message_set(records(2, random), 1)
    bad: dict[str, tuple[Target, bytes]] = {
        # Not null: Apache Kafka then fails inside and never answers.
        "no bytes": (plain, b""),
        "two batches": (plain, one + one),
        "a wrong checksum": (plain, bytes(corrupt)),
        "half a batch": (plain, one[: len(one) // 2]),
        "magic 1": (plain, old),
        "an unknown topic": (unknown, one),
        "an unknown partition": (Target("records", 9), one),
        "a negative partition": (Target("records", -1), one),
        "too much": (Target("small"), build_batch(records(40, random, size=100))),
    }
    for what, (target, bad_data) in bad.items():
        steps += ask(f"Produce {what}", (3, 8, 12, 13), produce(target, bad_data))
    return [
        *steps,
        *ask("Produce without acks", (3, 9), produce(plain, one, acks=0)),
        *ask("Produce with odd acks", (3, 9), produce(plain, one, acks=2)),
        *ask("Produce to a clocked topic", (3, 9, 13), produce(Target("clocked"), one)),
        *ask("Produce a key to compact", 9, produce(Target("compact"), keyed())),
        *ask("Produce no key to compact", (3, 9), produce(Target("compact"), keyless())),
        *ask("Produce a record too old", 9, produce(Target("strict"), one)),
        *ask("Produce nothing at all", (3, 9, 13), ProduceRequest(None, -1, 5000, [])),
    ]  # fmt: skip


def keyed() -> bytes:
    return build_batch([Record(0, EPOCH_MS, b"k", b"v"), Record(1, EPOCH_MS, b"k", None)])


def keyless() -> bytes:
    return build_batch([Record(0, EPOCH_MS, b"k", b"v"), Record(1, EPOCH_MS, None, b"v")])


def idempotent_steps(random: Random) -> list[Step]:
    def learn(known: Known, answer: Any) -> None:
        known["producer id"] = answer.producer_id

    def batch(sequence: int, *, epoch: int = 0, count: int = 2) -> Any:
        rows = records(count, random)

        def build(known: Known) -> object:
            data = build_batch(
                rows, producer_id=known["producer id"], producer_epoch=epoch, base_sequence=sequence
            )
            return produce(Target("records", 2), data)(known)

        return build

    def init(
        transactional_id: str | None, producer_id: int = -1, producer_epoch: int = -1
    ) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id, 60_000, producer_id, producer_epoch)

    def is_up(answer: Any) -> bool:
        """COORDINATOR_LOAD_IN_PROGRESS: the first block of ids is being fetched."""
        return bool(answer.error_code != 14)

    steps = ask("InitProducerId", range(6), init(None), learn=learn, until=is_up)
    for sequence in (0, 2, 4, 6, 8, 10):
        steps += ask(f"Produce at {sequence}", 9, batch(sequence))
    return [
        *steps,
        *ask("Produce again at 10", (9, 13), batch(10)),
        *ask("Produce at a gap", (9, 13), batch(20)),
        *ask("Produce behind", (9, 13), batch(0)),
        *ask("Produce partly again", 9, batch(11, count=3)),
        *ask("Produce in a new epoch, not from 0", 9, batch(5, epoch=1)),
        *ask("Produce in a new epoch", 9, batch(0, epoch=1)),
        *ask("Produce in the old epoch", (9, 13), batch(12)),
        *ask("Produce in a negative epoch", 9, batch(0, epoch=-1)),
        *ask(
            "InitProducerId with an id", (3, 5), lambda known: init(None, known["producer id"], 0)
        ),
        *ask("InitProducerId with half an id", (3, 5), init(None, 5, -1)),
        *ask("InitProducerId of an empty id", (1, 5), init("")),
    ]


def fetch(
    targets: Sequence[tuple[Target, int]],
    *,
    session: tuple[str | int, int] = (0, -1),
    partition_max_bytes: int = 1 << 20,
    max_bytes: int = 1 << 20,
    leader_epoch: int = -1,
    isolation_level: int = 0,
    forget: Sequence[Target] = (),
) -> Any:
    """Targets with their offsets; a session's id is known by name or given."""

    def build(known: Known) -> FetchRequest:
        session_id, epoch = session
        topics = []
        for target, offset in targets:
            part = FetchRequestPartition(target.index, leader_epoch, offset)
            part.partition_max_bytes = partition_max_bytes
            topics.append(FetchRequestTopic(target.name, target.id(known), [part]))
        request = FetchRequest(-1, 0, 0, max_bytes, isolation_level)
        request.session_id = known[session_id] if isinstance(session_id, str) else session_id
        request.session_epoch = epoch
        request.topics = topics
        request.forgotten_topics_data = [
            FetchRequestForgottenTopic(target.name, target.id(known), [target.index])
            for target in forget
        ]
        return request

    return build


def fetch_steps(random: Random) -> list[Step]:
    first, second, third = (Target("records", index) for index in range(3))
    unknown = Target("nowhere", topic_id=UNKNOWN_ID)
    steps = [
        *ask("Fetch", FETCH_VERSIONS, fetch([(first, 0)])),
        *ask("Fetch compressed", (4, 9, 10, 12, 18), fetch([(second, 0)])),
        *ask("Fetch from within", (4, 12, 18), fetch([(first, random.randrange(1, 9))])),
        *ask("Fetch several", (4, 11, 18), fetch([(second, 7), (first, 2), (third, 0)])),
        *ask("Fetch committed", (4, 12, 18), fetch([(first, 0)], isolation_level=1)),
        *ask("Fetch by an odd isolation", (4, 18), fetch([(first, 0)], isolation_level=5)),
        *ask("Fetch little", (4, 12, 18), fetch([(first, 0)], partition_max_bytes=1)),
        *ask("Fetch little of all", (4, 12, 18), fetch([(first, 0), (second, 0)], max_bytes=1)),
        *ask("Fetch no bytes", (4, 18), fetch([(first, 0)], partition_max_bytes=0)),
        *ask("Fetch negative bytes", (4, 18), fetch([(first, 0)], partition_max_bytes=-1)),
        *ask("Fetch far ahead", (4, 12, 18), fetch([(first, 10_000)])),
        *ask("Fetch before the start", (4, 12, 18), fetch([(first, -1)])),
        *ask("Fetch an unknown topic", (4, 12, 13, 18), fetch([(unknown, 0)])),
        *ask("Fetch no topic id", (13, 18), fetch([(Target("", topic_id=ZERO_UUID), 0)])),
        *ask("Fetch an unknown partition", (4, 12, 18), fetch([(Target("records", 9), 0)])),
        *ask("Fetch of a newer leader", (9, 12, 18), fetch([(first, 0)], leader_epoch=5)),
        *ask("Fetch of this leader", (9, 18), fetch([(first, 0)], leader_epoch=0)),
        *ask("Fetch nothing", (4, 12, 18), fetch([])),
        *ask("Fetch old batches of magic 2", (4, 18), fetch([(Target("clocked"), 0)])),
    ]  # fmt: skip
    for version in (7, 12, 13, 18):
        steps += session_steps(version)
    return steps


def session_steps(version: int) -> list[Step]:
    """A fetch session from opening to closing, with what goes wrong in between."""
    name = f"session of v{version}"
    first, second = Target("records"), Target("records", 1)

    def learn(known: Known, answer: Any) -> None:
        known[name] = answer.session_id

    def turn(what: str, request: Any, **options: Any) -> list[Step]:
        return ask(f"Fetch session: {what}", version, request, **options)

    return [
        *turn("open", fetch([(first, 0), (second, 0)], session=(0, 0)), learn=learn),
        *turn("go on", fetch([(first, 3)], session=(name, 1))),
        *turn("go on unchanged", fetch([], session=(name, 2), max_bytes=1)),
        *turn("wrong epoch", fetch([], session=(name, 9))),
        *turn("forget", fetch([], session=(name, 3), forget=[second])),
        *turn("an unknown partition", fetch([(Target("records", 9), 0)], session=(name, 4))),
        *turn("beyond the end", fetch([(first, 10_000)], session=(name, 5))),
        *turn("still beyond the end", fetch([], session=(name, 6))),
        *turn("close", fetch([(first, 0)], session=(name, -1))),
        *turn("closed", fetch([], session=(name, 7))),
        *turn("never opened", fetch([], session=(7, 1))),
        *turn("open for nothing", fetch([], session=(0, 0))),
    ]


def offsets_steps(random: Random) -> list[Step]:
    def look(
        timestamp: int, index: int = 0, name: str = "records", epoch: int = -1, isolation: int = 0
    ) -> ListOffsetsRequest:
        parts = [ListOffsetsPartition(index, epoch, timestamp)]
        return ListOffsetsRequest(-1, isolation, [ListOffsetsTopic(name, parts)], 5000)

    def end_of(epoch: int, current: int = -1, index: int = 0, name: str = "records") -> object:
        parts = [OffsetForLeaderPartition(index, current, epoch)]
        return OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(name, parts)])

    steps = [
        *ask("ListOffsets latest", range(1, 12), look(-1)),
        *ask("ListOffsets earliest", range(1, 12, 2), look(-2)),
        *ask("ListOffsets of the newest record", range(6, 12), look(-3)),
        *ask("ListOffsets earliest local", (7, 8, 11), look(-4)),
        *ask("ListOffsets latest tiered", (8, 9, 11), look(-5)),
        *ask("ListOffsets earliest pending", (10, 11), look(-6)),
        *ask("ListOffsets of nonsense", (4, 11), look(-9)),
        *ask("ListOffsets of the future", (1, 11), look(EPOCH_MS * 2)),
        *ask("ListOffsets of an empty partition", (4, 11), look(0, 3)),
        *ask("ListOffsets of its newest record", 11, look(-3, 3)),
        *ask("ListOffsets committed", (2, 11), look(-1, isolation=1)),
        *ask("ListOffsets of an unknown topic", (1, 11), look(-1, name="nowhere")),
        *ask("ListOffsets of an unknown partition", (1, 11), look(-1, 9)),
        *ask("ListOffsets of a newer leader", (4, 11), look(-1, epoch=5)),
        *ask("ListOffsets of this leader", (4, 11), look(-1, epoch=0)),
        *ask("ListOffsets of a partition twice", (1, 11), ListOffsetsRequest(
            -1, 0, [ListOffsetsTopic("records", [ListOffsetsPartition(0, -1, -1)] * 2)], 5000)),
        *ask("OffsetForLeaderEpoch", range(2, 5), end_of(0)),
        *ask("OffsetForLeaderEpoch ahead", (2, 4), end_of(5)),
        *ask("OffsetForLeaderEpoch of none", (2, 4), end_of(-1)),
        *ask("OffsetForLeaderEpoch, newer leader", (2, 4), end_of(0, 5)),
        *ask("OffsetForLeaderEpoch, unknown", (2, 4), end_of(0, name="nowhere")),
        *ask("OffsetForLeaderEpoch, unknown partition", (2, 4), end_of(0, index=9)),
    ]  # fmt: skip
    for _ in range(10):
        timestamp = EPOCH_MS + random.randrange(11_000)
        index = random.randrange(3)
        steps += ask(f"ListOffsets at {timestamp}", (1, 11), look(timestamp, index))
    return steps


def record_steps(random: Random) -> list[Step]:
    topics = {
        "records": topic("records", 4),
        "small": topic("small", 1, 1, max_message_bytes="500"),
        "clocked": topic("clocked", 1, 1, message_timestamp_type="LogAppendTime"),
        "compact": topic("compact", 1, 1, cleanup_policy="compact"),
        "strict": topic("strict", 1, 1, message_timestamp_before_max_ms="1000"),
    }
    transactions = FindCoordinatorRequest("tx", 1, ["tx"])
    return [
        *ask("CreateTopics for records", 7, create(*topics.values())),
        *ask(
            "FindCoordinator of a transaction",
            3,
            transactions,
            until=lambda answer: answer.error_code == 0,
        ),
        *settled(*topics),
        *offsets_ready("records", 4),
        *(step for name in list(topics)[1:] for step in offsets_ready(name, 1)),
        *produce_steps(random),
        *idempotent_steps(random),
        *offsets_steps(random),
        *fetch_steps(random),
    ]


def offsets_ready(name: str, partitions: int) -> list[Step]:
    """Metadata is published before the partitions are: wait until they answer."""
    parts = [ListOffsetsPartition(index, -1, -1) for index in range(partitions)]
    return ask(
        f"ListOffsets once {name} is up",
        5,
        ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, parts)]),
        until=lambda answer: all(part.error_code == 0 for part in answer.topics[0].partitions),
    )
