"""Kafka's own cases of its hash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.murmur2 import murmur2, murmur2_each


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        # org.apache.kafka.common.utils.UtilsTest.testMurmur2
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_are_hashed_as_by_kafka(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.lists(st.binary(max_size=9) | st.binary(min_size=254, max_size=260), max_size=40))
def test_many_keys_are_hashed_as_one_by_one(keys: list[bytes]) -> None:
    assert murmur2_each(keys) == [murmur2(key) for key in keys]


@pytest.mark.parametrize("size", range(20))
def test_keys_of_one_size_do_not_touch_each_other(size: int) -> None:
    keys = [bytes((255 - at if at % 2 else at,)) * size for at in range(64)]
    assert murmur2_each(keys) == [murmur2(key) for key in keys]
