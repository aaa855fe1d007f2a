"""Message sets of magic 0 and 1 as old producers sent them, and what is read back of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.legacy import build_message_set
from mockbroker_protocol.records.record_codec import Record
from tests.differential.record_steps import Target, fetch, offsets_ready, produce
from tests.differential.steps import ask
from tests.differential.topic_steps import create, settled, topic

if TYPE_CHECKING:
    from tests.differential.steps import Step

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3}
VERSIONS = (0, 1, 2)
TIME_MS = 1_700_000_000_000
ROWS = [
    Record(0, TIME_MS, b"key", b"value"),
    Record(1, TIME_MS + 7, None, b"v" * 300),
    Record(2, TIME_MS - 5, b"key", None),
    Record(3, TIME_MS + 7, b"", b""),
]
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "stamped": {"message_timestamp_type": "LogAppendTime"},
    "recoded": {"compression_type": "snappy"},
    "unpacked": {"compression_type": "uncompressed"},
    "keyed": {"cleanup_policy": "compact"},
    "narrow": {"max_message_bytes": "200"},
    "strict": {"message_timestamp_before_max_ms": "1000"},
    "faulty": {},
}


def faults() -> dict[str, bytes]:
    old, older = build_message_set(ROWS, 1), build_message_set(ROWS, 0)
    packed = build_message_set(ROWS, 1, compression_codec=CODECS["gzip"])
    corrupt, unreadable = bytearray(old), bytearray(packed)
    corrupt[-1] ^= 0xFF
    unreadable[17] = (unreadable[17] & ~7) | CODECS["snappy"]
    # Not no bytes at all: see docs/limits.md.
    return {
        "a wrong checksum": bytes(corrupt),
        "half a message": old[: len(old) // 5],
        "half of the last": old[:-3],
        "two magics": old + older,
        "a batch behind it": old + build_batch(ROWS),
        "a wrapper behind it": old + packed,
        "two wrappers": packed + packed,
        "a codec that it is not": bytes(unreadable),
        "a batch": build_batch(ROWS),
    }


def old_produce_steps() -> list[Step]:
    names = list(TOPICS)
    steps = [
        *ask("CreateTopics", 5, create(*(topic(name, 1, 1, **TOPICS[name]) for name in names))),
        *settled(*names),
        *(step for name in names for step in offsets_ready(name, 1)),
    ]
    for name in names[:-1]:
        for magic in (0, 1):
            for codec, number in CODECS.items():
                data = build_message_set(ROWS, magic, compression_codec=number)
                steps += ask(f"Produce magic {magic} as {codec} to {name}", VERSIONS,
                             produce(Target(name), data))  # fmt: skip
        steps += ask(f"Produce without acks to {name}", 2, produce(
            Target(name), build_message_set(ROWS[:1], 1), acks=0))  # fmt: skip
    for what, data in faults().items():
        steps += ask(f"Produce {what}", VERSIONS, produce(Target("faulty"), data))
    for name in names:
        steps += ask(f"Fetch {name}", (4, 12), fetch([(Target(name), 0)]))
    return steps
