"""Where records lie, held against the codec that reads all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records.record_codec import Record, decode_records, encode_records
from mockbroker_protocol.records.record_places import locate_records
from tests.protocol.records.test_record_codec import BASE, records


@given(records)
def test_records_are_located_one_by_one(batch: list[Record]) -> None:
    data = b"ab" + encode_records(batch, 0, BASE)
    edges, deltas, keys = locate_records(data, 2, len(data), len(batch))
    assert (deltas, keys) == ([one.offset for one in batch], [one.key for one in batch])
    assert (edges[0], edges[-1], len(edges)) == (2, len(data), len(batch) + 1)
    for start, stop, one in zip(edges, edges[1:], batch, strict=False):
        assert list(decode_records(data, start, stop, 1, 0, BASE)) == [one]


@given(records.filter(len), st.data())
def test_records_that_are_cut_are_not_located(batch: list[Record], data: st.DataObject) -> None:
    whole = encode_records(batch, 0, BASE)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ProtocolError):
        locate_records(whole[:cut], 0, cut, len(batch))
