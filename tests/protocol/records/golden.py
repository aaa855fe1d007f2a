"""Reads tests/golden/records.txt: what Apache Kafka's own classes wrote; its head says how."""

from __future__ import annotations

from pathlib import Path

from mockbroker_protocol.records.record_codec import Record

BASE = 1_700_000_000_000
APPEND_TIME = BASE + 99
_FILE = Path(__file__).parents[2] / "golden" / "records.txt"


def lines(kind: str) -> list[list[str]]:
    """The words of each line of this kind, the kind itself left out."""
    split = [line.split() for line in _FILE.read_text("utf-8").splitlines()]
    return [words[1:] for words in split if words[0] == kind]


def data(word: str) -> bytes:
    return b"" if word == "empty" else bytes.fromhex(word)


def golden_records() -> list[Record]:
    """The records of each `set` line."""
    return [
        Record(
            40 + i,
            BASE + 7 * i,
            None if i % 3 == 0 else b"key-%d" % i,
            None if i % 4 == 3 else b"value" * (i + 1),
            [("h", b"x"), ("empty", None)] if i % 2 else [],
        )
        for i in range(5)
    ]


def golden_sets(*magics: int) -> list[tuple[int, int, int, bytes]]:
    """(magic, codec, timestamp type, bytes) of each `set` line of these magics."""
    return [
        (int(magic), int(codec), int(kind), data(word))
        for magic, codec, kind, word in lines("set")
        if int(magic) in magics
    ]
