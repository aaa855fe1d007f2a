"""The payloads of the tagged fields, byte for byte."""

from __future__ import annotations

import pytest

from mockbroker.coop import tags
from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop.numbers import DraftError
from mockbroker_protocol.errors import ProtocolError

HALF = bytes.fromhex("020000000000000000000000003fffffff")


def test_ranges() -> None:
    assert tags.read_ranges(HALF) == [KeyRange(0, 1073741823)]
    assert tags.write_ranges([KeyRange(0, 1073741823)]) == HALF
    assert tags.read_ranges(b"\x01") == tags.read_ranges(b"\x00") == []
    assert tags.read_ranges(HALF + b"more") == [KeyRange(0, 1073741823)]


@pytest.mark.parametrize("cut", range(len(HALF)))
def test_ranges_that_are_cut(cut: int) -> None:
    with pytest.raises(ProtocolError):
        tags.read_ranges(HALF[:cut])


def test_keys() -> None:
    assert tags.read_keys(bytes.fromhex("03026100")) == [b"a", None]
    assert tags.read_keys(bytes.fromhex("0201")) == [b""]
    with pytest.raises(ProtocolError):
        tags.read_keys(bytes.fromhex("02036100")[:3])


def test_what_is_sent() -> None:
    assert tags.hello().hex() == "00010000001f"
    assert tags.offset(13).hex() == "000000000000000d"
    assert tags.error(DraftError.TOPIC_RANGE_FETCH_NOT_ALLOWED).hex() == "005900"
    assert tags.stats(1, 2, 3, 4).hex() == "00000001000000020000000300000004"


def test_what_a_client_reads() -> None:
    assert tags.read_stages(tags.hello()) == 31
    assert tags.read_offset(tags.offset(13)) == 13
    assert tags.read_error(tags.error(DraftError.TOPIC_RANGE_FETCH_NOT_ALLOWED)) == 89
    assert tags.read_error(None) == 0
    for read, cut in (
        (tags.read_stages, tags.hello()[:5]),
        (tags.read_offset, tags.offset(13)[:7]),
        (tags.read_error, b"\x00"),
    ):
        with pytest.raises(ProtocolError):
            read(cut)


def test_who_speaks_the_extension() -> None:
    assert tags.is_spoken({16_000: b""})
    assert tags.is_spoken({1: b"", 16_031: b""})
    assert not tags.is_spoken({15_999: b"", 16_032: b""})
    assert not tags.is_spoken(None)


def test_an_identity() -> None:
    data = bytes.fromhex("0267036d310000000300")
    identity = tags.Identity("g", "m1", 3, None)
    assert tags.read_identity(data) == identity
    assert tags.write_identity(identity) == data
    assert tags.read_identity(tags.write_identity(identity._replace(instance="i"))).instance == "i"
    for cut in range(len(data)):
        with pytest.raises(ProtocolError):
            tags.read_identity(data[:cut])


def test_flags() -> None:
    assert tags.read_flags(b"\x05more") == 5
    with pytest.raises(ProtocolError):
        tags.read_flags(b"")


def test_ranges_of_partitions() -> None:
    parts = {0: [KeyRange(0, 5), KeyRange(7, 9)], 3: [KeyRange(1, 2)]}
    data = tags.write_partition_ranges(parts)
    assert data[:6] == bytes.fromhex("030000000003")
    assert tags.read_partition_ranges(data) == parts
    assert tags.read_partition_ranges(b"\x01") == {}
    with pytest.raises(ProtocolError):
        tags.read_partition_ranges(data[:3])


def test_what_a_cooperative_fetch_says() -> None:
    asked = tags.Cooperative(10, 30_000)
    data = tags.write_cooperative(asked)
    assert data.hex() == "0000000a00007530"
    assert tags.read_cooperative(data) == asked
    for bad in (data[:7], bytes.fromhex("ffffffff00000000")):
        with pytest.raises(ProtocolError):
            tags.read_cooperative(bad)


def test_what_was_acquired() -> None:
    pieces = [(0, 9, 1), (20, 29, 40_000)]
    data = tags.write_acquired(pieces)
    assert len(data) == 1 + 2 * 18
    assert tags.read_acquired(data) == [(0, 9, 1), (20, 29, 32_767)]
    with pytest.raises(ProtocolError):
        tags.read_acquired(data[:-1])
    assert tags.milliseconds(30_000).hex() == "00007530"
