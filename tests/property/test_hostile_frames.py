"""Whatever bytes a client sends, only its own connection suffers."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker_protocol.primitives import MAX_STRING_BYTES
from tests.support.hostile import HostileRun, frame, long_names, mutate, seeds

SEEDS = list(seeds())


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_random_bytes(data: bytes) -> None:
    run = HostileRun()
    run.send(data)
    run.check()


@given(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=64))
def test_random_frame_lengths(size: int, data: bytes) -> None:
    run = HostileRun()
    run.send(struct.pack(">i", size) + data)
    run.check()


@given(st.integers(0, 100), st.integers(-1, 30), st.binary(max_size=120))
@settings(max_examples=500)
def test_random_bodies_of_any_api(api_key: int, version: int, body: bytes) -> None:
    run = HostileRun()
    run.send(frame(struct.pack(">hhih", api_key, version, 1, -1) + body))
    run.check()


@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6),
    st.integers(0, 12),
)
@settings(max_examples=1500)
def test_real_requests_with_wrong_bytes(
    data: bytes, edits: list[tuple[int, int]], cut: int
) -> None:
    run = HostileRun()
    run.send(frame(mutate(data, edits, cut)))
    run.check()


def test_every_served_request_with_default_fields_is_answered_or_refused() -> None:
    for data in SEEDS:
        run = HostileRun()
        run.send(frame(data))
        run.check()


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("byte", [b"x", b"\xff"])
def test_the_longest_names_are_answered_or_refused(byte: bytes, number: int) -> None:
    run = HostileRun()
    for data in long_names(byte * MAX_STRING_BYTES, number):
        run.send(frame(data))
    run.check()
