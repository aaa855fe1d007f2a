"""A byte is flipped where it is said, and a batch gets a false checksum in the copy alone."""

from __future__ import annotations

import pytest

from mockbroker.faults.mangling import corrupt, poison
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.records.batch import read_batch_header, verify_crc
from tests.support.fetch_world import batch


@pytest.mark.parametrize(("position", "index"), [(0, 0), (2, 2), (9, 3), (-1, 3), (-9, 0)])
def test_one_byte_is_flipped(position: int, index: int) -> None:
    data = bytearray(4)
    corrupt(data, position)
    assert [at for at, byte in enumerate(data) if byte == 0xFF] == [index]


def test_nothing_has_no_byte_to_flip() -> None:
    data = bytearray()
    corrupt(data, 0)
    assert data == b""


def response(*records: object) -> FetchResponse:
    data = [
        FetchResponsePartition(index, 0, 9, 9, 0, None, -1, one)  # type: ignore[arg-type]
        for index, one in enumerate(records)
    ]
    return FetchResponse(0, 0, 0, [FetchResponseTopic("t", partitions=data)])


def test_the_first_batch_is_poisoned_and_the_log_s_bytes_stay() -> None:
    kept = batch(10)
    answer = response([kept[:20], kept[20:], batch(5)], kept)
    assert poison(answer, lambda _ref, index: index == 0)
    first, second = answer.responses[0].partitions
    assert isinstance(first.records, bytes)
    assert not verify_crc(first.records, 0, read_batch_header(first.records, 0))
    assert verify_crc(first.records, len(kept), read_batch_header(first.records, len(kept)))
    assert second.records is kept


def test_without_records_there_is_nothing_to_poison() -> None:
    assert not poison(response(b"", None), lambda _ref, _index: True)
