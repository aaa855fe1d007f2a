"""What a broker checks in a batch, and what it stores of it: each promise of Produce by itself.

Every group of steps has a topic of its own, and ends with a fetch of what is in it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mockbroker_protocol.messages.transactions import InitProducerIdRequest
from mockbroker_protocol.records.batch import build_batch, pack_header, read_batch_header
from mockbroker_protocol.records.compression import compress
from mockbroker_protocol.records.crc import crc32c
from mockbroker_protocol.records.legacy import build_message_set
from mockbroker_protocol.records.record_codec import Record, encode_records
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.record_steps import EPOCH_MS, Target, fetch, offsets_ready, produce
from tests.differential.steps import ask
from tests.differential.topic_steps import create, settled, topic
from tests.support.batches import stamped_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.differential.steps import Known, Step

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
CODECS = {"uncompressed": 0, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
FAR_AHEAD_MS = 4_000_000_000_000
"""The year 2096: later than any clock plus what a topic allows."""
RECORD_ERRORS = (7, 8, 13)
"""Below version 8 the answer has no errors per record (KIP-467)."""


def rows(count: int = 3, *, size: int = 10, key: bytes | None = b"k") -> list[Record]:
    return [Record(n, EPOCH_MS + n, key, b"v" * size, [("h", b"x")]) for n in range(count)]


def remade(batch: bytes, body: bytes | None = None, **fields: int) -> bytes:
    """The batch with these header fields, or other record bytes, and a checksum that fits."""
    header = read_batch_header(batch)
    body = batch[61:] if body is None else body
    for name, value in {"batch_length": 49 + len(body), **fields}.items():
        setattr(header, name, value)
    packed = pack_header(header)
    checksum = crc32c(body, crc32c(packed[21:]))
    return packed[:17] + struct.pack(">I", checksum) + packed[21:] + body


def packed(codec: int, payload: bytes, count: int = 3) -> bytes:
    """A batch of `count` records that says it is compressed and holds `payload`."""
    return remade(build_batch(rows(count)), payload, attributes=codec)


def encoded(records: Sequence[Record]) -> bytes:
    return encode_records(records, 0, EPOCH_MS)


def stored(name: str) -> list[Step]:
    return ask(f"Fetch what is in {name}", 12, fetch([(Target(name), 0)]))


def header_steps() -> list[Step]:
    good = build_batch(rows())
    wrong_checksum = bytearray(good)
    wrong_checksum[20] ^= 1
    bad = {
        "from offset 1": remade(good, base_offset=1),
        "from a negative offset": remade(good, base_offset=-1),
        "a checksum of another": bytes(wrong_checksum),
        "magic 3": good[:16] + b"\3" + good[17:],
        "no records": remade(good, b"", record_count=0, last_offset_delta=-1),
        "a count of none": remade(good, record_count=0),
        "a count below 0": remade(good, record_count=-1),
        "a last delta below 0": remade(good, last_offset_delta=-1),
        "a count above the last delta": remade(good, record_count=4),
        "a last delta above the count": remade(good, last_offset_delta=5),
        "fewer records than it says": remade(good, record_count=4, last_offset_delta=3),
        "more records than it says": remade(good, record_count=2, last_offset_delta=1),
        "a control batch": remade(good, attributes=0x20),
        "a control batch of a transaction": remade(good, attributes=0x30),
        "a producer without sequence": remade(good, producer_id=5, producer_epoch=0),
        "codec 5": remade(good, attributes=5),
        "codec 7": remade(good, attributes=7),
        "a length below any message": remade(good, batch_length=10),
        "a negative length": remade(good, batch_length=-1),
        "garbage behind it": good + b"\0" * 20,
        "a short piece of garbage behind it": good + b"\0" * 13,
        "magic 9 behind it": good + good[:16] + b"\x09" + good[17:],
        "a message of magic 1 behind it": good + build_message_set(rows(1), 1),
        "a length that cuts": remade(good, batch_length=len(good) - 13),
        "a length below a header": remade(good, batch_length=40),
    }
    odd = {
        "an epoch of a leader": remade(good, partition_leader_epoch=77),
        "a sequence without producer": remade(good, base_sequence=5),
        "an epoch without producer": remade(good, producer_epoch=5),
        "attributes that nobody knows": remade(good, attributes=0x4080),
        "the delete horizon's bit": remade(good, attributes=0x40),
        "a wrong max timestamp": remade(good, max_timestamp=EPOCH_MS - 5),
        "no max timestamp": remade(good, max_timestamp=-1),
        "the bit of LogAppendTime": remade(good, attributes=8),
        "trailing bytes": good + b"tail",
        "half a batch behind it": good + good[:-1],
    }
    cases = [("Produce", bad), ("Produce all the same", odd)]
    steps = [
        step
        for title, batches in cases
        for what, data in batches.items()
        for step in ask(f"{title} {what}", (3, 13), produce(Target("headers"), data))
    ]
    return [*steps, *stored("headers")]


def body_steps() -> list[Step]:
    """Record bytes that are wrong, plain and compressed."""
    good = encoded(rows())
    swapped = encoded([Record(2, EPOCH_MS, b"k", b"v"), Record(0, EPOCH_MS, b"k", b"w")])
    gap = encoded([Record(0, EPOCH_MS, b"k", b"v"), Record(5, EPOCH_MS, b"k", b"w")])
    bodies = {
        "a byte too many": (good + b"\0", 3),
        "a byte too few": (good[:-1], 3),
        "a length below 0": (b"\1" + good[1:], 3),
        "a length beyond the batch": (b"\x7e" + good[1:], 3),
        "offsets with a gap": (gap, 2),
        "offsets in disorder": (swapped, 2),
        "record attributes": (good[:1] + b"\x55" + good[2:], 3),
        "a null header key": (bytes((18, 0, 0, 0, 2, 107, 2, 118, 2, 1, 1))[:11], 1),
        "a header count below 0": (bytes((16, 0, 0, 0, 2, 107, 2, 118, 1)), 1),
        "a key length of -3": (bytes((14, 0, 0, 0, 5, 2, 118, 0)), 1),
        "a key beyond the record": (bytes((14, 0, 0, 0, 60, 2, 118, 0)), 1),
    }
    steps = []
    for what, (body, count) in bodies.items():
        plain = remade(build_batch(rows(count)), body)
        gzipped = packed(GZIP, compress(GZIP, body), count)
        steps += ask(f"Produce {what}", (8, 13), produce(Target("bodies"), plain))
        if what != "a length beyond the batch":  # Kafka stores that, and its consumers fail
            steps += ask(f"Produce gzip, {what}", (8, 13), produce(Target("bodies"), gzipped))
    for codec_name, codec in list(CODECS.items())[1:]:
        whole = compress(codec, good)
        payloads = {
            "garbage": b"garbage in a batch that says it is compressed",
            "nothing": b"",
            "a cut payload": whole[:-3],
            "fewer records than it says": compress(codec, encoded(rows(2))),
            "more records than it says": compress(codec, encoded(rows(4))),
        }
        for what, payload in payloads.items():
            request = produce(Target("bodies"), packed(codec, payload))
            steps += ask(f"Produce {codec_name}, {what}", (8, 13), request)
    return [*steps, *stored("bodies")]


def timestamp_steps() -> list[Step]:
    """message.timestamp.type, .before.max.ms and .after.max.ms, with the records named."""
    early, late = EPOCH_MS, FAR_AHEAD_MS

    def at(*times: int, stamp: int | None = None, compression: int = 0) -> bytes:
        records = [Record(n, t, b"k", b"v") for n, t in enumerate(times)]
        return stamped_batch(records, stamp, compression=compression)

    batches = {
        "in the past": at(early, early + 1),
        "one in the future": at(early, late, early + 1, late + 1),
        "without timestamps": at(-1, -1),
        "one without a timestamp": at(early, -1),
        "below 0": at(-5),
        "gzip, one in the future": at(early, late, compression=GZIP),
        "gzip, without timestamps": at(-1, -1, compression=GZIP),
        "stamped by the client": at(early, stamp=early),
        "stamped by the client, gzip": at(early, early + 1, stamp=early, compression=GZIP),
        "stamped in the future": at(early, stamp=late),
        "stamped with nothing": at(early, stamp=-1),
    }
    steps = []
    for name in ("timely-past", "timely-future", "timely-both", "timely-stamped", "timely-any"):
        for what, data in batches.items():
            steps += ask(f"Produce {what} to {name}", RECORD_ERRORS, produce(Target(name), data))
        steps += stored(name)
    return steps


def compacted_steps() -> list[Step]:
    """Records without a key, alone and beside timestamps that are wrong too."""
    name = "compact-keys"

    def keyed(*keys: bytes | None, late: Sequence[int] = (), **options: Any) -> bytes:
        records = [
            Record(n, FAR_AHEAD_MS if n in late else EPOCH_MS, key, b"v")
            for n, key in enumerate(keys)
        ]
        return build_batch(records, **options)

    batches = {
        "keys": keyed(b"a", b"b"),
        "an empty key": keyed(b""),
        "no key": keyed(None),
        "two of four without a key": keyed(b"a", None, b"b", None),
        "zstd, one without a key": keyed(b"a", None, compression=ZSTD),
        "no key and too late": keyed(None, b"a", late=(0,)),
        "no key, another too late": keyed(None, b"a", late=(1,)),
        "gzip, no key, another too late": keyed(None, b"a", late=(1,), compression=GZIP),
    }
    steps = []
    for what, data in batches.items():
        steps += ask(f"Produce {what} to a compacted topic", RECORD_ERRORS, produce(
            Target(name), data))  # fmt: skip
    return [*steps, *stored(name)]


def codec_steps() -> list[Step]:
    """compression.type: each codec into each, with and without a level; then what is stored."""
    steps = []
    for target in STORED_AS:
        for source, codec in CODECS.items():
            data = build_batch(rows(4, size=50), compression=codec)
            steps += ask(f"Produce {source} to {target}", 9, produce(Target(target), data))
        prose = build_batch([Record(n, EPOCH_MS, b"k", line) for n, line in enumerate(PROSE)])
        steps += ask(f"Produce prose to {target}", 9, produce(Target(target), prose))
        negative = build_batch([Record(0, -7, b"k", b"v")])
        steps += ask(f"Produce a time below 0 to {target}", 9, produce(Target(target), negative))
        gap = remade(build_batch(rows(2)), encoded([rows(1)[0], Record(5, EPOCH_MS, b"k", b"w")]))
        steps += ask(f"Produce a gap to {target}", 9, produce(Target(target), gap))
        steps += ask(
            f"Produce a wrong max timestamp to {target}",
            9,
            produce(
                Target(target), remade(build_batch(rows(2), compression=GZIP), max_timestamp=5)
            ),
        )
        steps += stored(target)
    return steps


PROSE = [b"%d times %d is %d; " % (n, n % 7, n * (n % 7)) * 3 for n in range(200)]
STORED_AS = {
    "stored-as-none": {"compression_type": "uncompressed"},
    "stored-as-gzip": {"compression_type": "gzip"},
    "stored-as-gzip-1": {"compression_type": "gzip", "compression_gzip_level": "1"},
    "stored-as-snappy": {"compression_type": "snappy"},
    "stored-as-lz4": {"compression_type": "lz4"},
    "stored-as-hc-1": {"compression_type": "lz4", "compression_lz4_level": "1"},
    "stored-as-hc-17": {"compression_type": "lz4", "compression_lz4_level": "17"},
    "stored-as-zstd": {"compression_type": "zstd"},
    "stored-as-zstd-fast": {"compression_type": "zstd", "compression_zstd_level": "-100"},
    "stored-as-sent": {"compression_type": "producer"},
    "stored-as-zstd-stamped": {
        "compression_type": "zstd", "message_timestamp_type": "LogAppendTime",
    },
}  # fmt: skip


def size_steps() -> list[Step]:
    """max.message.bytes, max.decompressed.message.bytes and segment.bytes, at their limits."""
    exact = build_batch(rows(1, size=415))
    over = build_batch(rows(1, size=500 - len(exact) + 415 + 1))
    fits = build_batch(rows(1, size=500 - len(exact) + 415))
    long_key = build_batch([Record(0, EPOCH_MS, b"k" * 300, b"v")], compression=GZIP)
    swelling = build_batch(rows(1, size=2000), compression=GZIP)
    # A record of 300 bytes; its length, which is not counted, takes two more.
    body = len(encoded(rows(1, size=200))) - 2
    steps = [
        *ask("Produce a long key, gzip", (8, 13), produce(Target("inflated-gzip"), long_key)),
        *ask("Produce as much as goes in", (8, 13), produce(Target("sized"), fits)),
        *ask("Produce one byte more", (8, 13), produce(Target("sized"), over)),
        *ask("Produce what swells to too much", (8, 13), produce(Target("sized"), swelling)),
        *ask("Produce more than a segment", (8, 13), produce(
            Target("segmented"), build_batch(rows(2, size=600_000)))),
        *ask("Produce more than a segment, gzip", (8, 13), produce(
            Target("segmented"), build_batch(rows(2, size=600_000), compression=GZIP))),
    ]  # fmt: skip
    for name, codec in CODECS.items():
        for extra in (0, 1, 5000):
            size = 200 + 300 - body + extra
            data = build_batch(rows(1, size=size), compression=codec)
            what = f"{extra} bytes too many" if extra else "all that is allowed"
            request = produce(Target(f"inflated-{name}"), data)
            steps += ask(f"Produce {name}, decompressed {what}", (8, 13), request)
            several = build_batch(rows(40, size=40 + extra), compression=codec)
            request = produce(Target(f"inflated-{name}"), several)
            steps += ask(f"Produce {name}, 40 records of {40 + extra}", (8, 13), request)
    return [
        *steps,
        *stored("sized"),
        *(step for name in CODECS for step in stored(f"inflated-{name}")),
        *stored("segmented"),
    ]


def sequence_steps() -> list[Step]:
    """Idempotence: the last five batches, wraps, epochs, what DeleteRecords leaves."""

    def learn(known: Known, answer: Any) -> None:
        known["sequenced"] = answer.producer_id

    def at(
        sequence: int, *, epoch: int = 0, count: int = 1, name: str = "sequenced", other: int = 0
    ) -> Any:
        def build(known: Known) -> object:
            data = build_batch(
                rows(count),
                producer_id=known["sequenced"] + other,
                producer_epoch=epoch,
                base_sequence=sequence,
            )
            return produce(Target(name), data)(known)

        return build

    largest = 0x7FFFFFFF
    turns: list[tuple[str, Any]] = [
        *((f"at {n}", at(n)) for n in range(7)),
        *((f"again at {n}", at(n)) for n in range(7)),
        ("as one what came as two", at(5, count=2)),
        ("a part of the last", at(6, count=3)),
        ("three at 7", at(7, count=3)),
        ("three at 7 again", at(7, count=3)),
        ("two of the three again", at(8, count=2)),
        ("in epoch 2", at(0, epoch=2)),
        ("in epoch 2 again", at(0, epoch=2)),
        ("in epoch 1", at(0, epoch=1)),
        ("in epoch 0 again", at(9)),
        ("of a stranger in the middle", at(1000, other=100_000)),
        ("of the stranger, a gap", at(1002, other=100_000)),
        ("of one near the end", at(largest - 1, other=100_001, count=2)),
        ("after the wrap", at(0, other=100_001)),
        ("after the wrap, again", at(0, other=100_001)),
        ("across the wrap", at(largest - 1, other=100_002, count=4)),
        ("across the wrap, again", at(largest - 1, other=100_002, count=4)),
        ("behind the wrap", at(2, other=100_002)),
        ("of one in no epoch", at(0, epoch=-1, other=100_003)),
        ("of one in no epoch, again", at(0, epoch=-1, other=100_003)),
        ("of one in no epoch, a gap", at(5, epoch=-1, other=100_003)),
        ("to a stamped topic", at(0, name="sequenced-stamped")),
        ("to a stamped topic again", at(0, name="sequenced-stamped")),
    ]
    init = InitProducerIdRequest(None, 60_000, -1, -1)
    purge = DeleteRecordsRequest(
        [DeleteRecordsTopic("sequenced", [DeleteRecordsPartition(0, -1)])], 5000
    )
    steps = ask(
        "InitProducerId for sequences",
        4,
        init,
        learn=learn,
        until=lambda answer: answer.error_code == 0,
    )
    for what, request in turns:
        steps += ask(f"Produce {what}", 9, request)
    return [
        *steps,
        *stored("sequenced"),
        *ask("DeleteRecords under a producer", 2, purge),
        *ask("Produce on after its records have gone", 9, at(1, epoch=2)),
        *ask("Produce at a gap after its records have gone", 9, at(7, epoch=2)),
    ]


def request_steps() -> list[Step]:
    """Requests of several partitions and odd shapes."""
    good, bad = build_batch(rows(1)), build_batch(rows(1))[:-1]
    first, second = Target("shaped"), Target("shaped-compact")
    keyless = build_batch(rows(2, key=None))

    def several(*parts: tuple[Target, bytes], acks: int = -1, timeout_ms: int = 5000) -> Any:
        def build(known: Known) -> ProduceRequest:
            topics: dict[str, ProduceRequestTopic] = {}
            for target, data in parts:
                named = ProduceRequestTopic(target.name, target.id(known), [])
                asked = topics.setdefault(target.name, named)
                asked.partition_data.append(ProduceRequestPartition(target.index, data))
            return ProduceRequest(None, acks, timeout_ms, list(topics.values()))

        return build

    transactional = build_batch(
        rows(1), producer_id=9, producer_epoch=0, base_sequence=0, transactional=True
    )
    no_producer = build_batch(rows(1), transactional=True)
    magic_3 = good[:16] + b"\3" + good[17:]
    nowhere = Target("", topic_id=ZERO_UUID)
    return [
        *ask("Produce to several", (3, 9), several((first, good), (second, good))),
        *ask("Produce good and bad", (3, 8), several(
            (first, good), (Target("shaped", 1), bad), (second, keyless))),
        *ask("Produce good and bad without answer", 9, several(
            (first, good), (second, keyless), acks=0)),
        *ask("Produce after that: the connection is closed", 9, several((first, good))),
        *ask("Produce magic 3 beside good ones", (3, 9), several(
            (first, good), (Target("shaped", 1), magic_3), (second, good))),
        *ask("Produce magic 3 behind a transaction", (3, 9), several(
            (first, transactional), (second, magic_3))),
        *ask("Produce with acks 5", (3, 9), several((first, good), (second, bad), acks=5)),
        *ask("Produce with acks -2", 9, several((first, good), acks=-2)),
        *ask("Produce without time", (3, 13), several((first, good), timeout_ms=0)),
        *ask("Produce with less than no time", 9, several((first, good), timeout_ms=-1)),
        *ask("Produce to no topic id", 13, several((nowhere, good))),
        *ask("Produce to min.insync.replicas=2 of one", (3, 13), several(
            (Target("shaped-insync"), good))),
        *ask("Produce to min.insync.replicas=2, acks 1", 9, several(
            (Target("shaped-insync"), good), acks=1)),
        *ask("Produce of a transaction without its id", (3, 9), several(
            (first, transactional), (second, good))),
        *ask("Produce of a transaction of nobody", 9, several((first, no_producer))),
        *stored("shaped"),
        *stored("shaped-insync"),
    ]  # fmt: skip


def produce_promise_steps() -> list[Step]:
    topics = {
        "headers": {},
        "bodies": {},
        "timely-past": {"message_timestamp_before_max_ms": "1000"},
        "timely-future": {"message_timestamp_after_max_ms": str((1 << 63) - 1)},
        "timely-both": {
            "message_timestamp_before_max_ms": "0", "message_timestamp_after_max_ms": "0",
        },
        "timely-stamped": {"message_timestamp_type": "LogAppendTime"},
        "timely-any": {},
        "compact-keys": {"cleanup_policy": "compact,delete"},
        **STORED_AS,
        "sized": {"max_message_bytes": "500", "compression_type": "uncompressed"},
        "segmented": {"max_message_bytes": "4000000", "segment_bytes": "1048576"},
        **{f"inflated-{name}": {"max_decompressed_message_bytes": "300"} for name in CODECS},
        "sequenced": {},
        "sequenced-stamped": {"message_timestamp_type": "LogAppendTime"},
        "shaped": {},
        "shaped-compact": {"cleanup_policy": "compact"},
        "shaped-insync": {"min_insync_replicas": "2"},
    }  # fmt: skip
    made = [topic(name, 2, 1, **configs) for name, configs in topics.items()]
    return [
        *ask("CreateTopics for promises", 7, create(*made)),
        *settled(*topics),
        *(step for name in topics for step in offsets_ready(name, 2)),
        *header_steps(),
        *body_steps(),
        *timestamp_steps(),
        *compacted_steps(),
        *codec_steps(),
        *size_steps(),
        *sequence_steps(),
        *request_steps(),
    ]
