"""Records read out of the logs."""

from __future__ import annotations

import json

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.log.results import AppendOrigin
from mockbroker.state import reading
from mockbroker.state.partitions import leading_partition
from mockbroker.state.reading import READ_COMMITTED, TopicReader
from mockbroker.state.writing import NewRecord, delete_records, delete_topic, put
from mockbroker_protocol.records.batch import GZIP, build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.inside import make_cluster


def append_transactional(cluster: Cluster, producer_id: int, value: bytes, sequence: int) -> None:
    partition = leading_partition(cluster, "orders", 0)
    assert partition is not None
    batch = build_batch(
        [Record(0, 1, None, value)],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )
    assert partition.append_batch(bytearray(batch), AppendOrigin.CLIENT).error == 0


def end(cluster: Cluster, producer_id: int, *, commit: bool) -> None:
    partition = leading_partition(cluster, "orders", 0)
    assert partition is not None
    assert partition.append_end_of_transaction(producer_id, 0, 0, commit=commit).error == 0


def values(cluster: Cluster, isolation: str) -> list[bytes]:
    return [one.value for one in TopicReader("orders", isolation=isolation).read(cluster)]


def test_a_record_is_as_it_was_put() -> None:
    cluster = make_cluster({"orders": 2})
    headers = [("a", b"1"), ("a", b"2"), ("b", None)]
    put(cluster, "orders", [NewRecord(b"one", b"k", headers, 7, 1)])
    (record,) = TopicReader("orders").read(cluster)
    assert record.header("a") == b"2"
    assert record.header("c") is None
    assert record == ("orders", 1, 0, 7, b"k", b"one", headers)


def test_decoders_see_bytes_only() -> None:
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b'{"id": 1}', b"k"), NewRecord(None)])
    reader = TopicReader("orders", decode=json.loads, decode_key=bytes.decode)
    assert [(one.key, one.value) for one in reader.read(cluster)] == [
        ("k", {"id": 1}),
        (None, None),
    ]


def test_a_partition_or_a_condition_narrows_it() -> None:
    cluster = make_cluster({"orders": 2})
    put(cluster, "orders", [NewRecord(b"%d" % at) for at in range(6)])
    assert [one.value for one in TopicReader("orders", partition=1).read(cluster)] == [
        b"1",
        b"3",
        b"5",
    ]
    late = TopicReader("orders", where=lambda record: record.offset > 1)
    assert [one.value for one in late.read(cluster)] == [b"4", b"5"]


def test_compressed_batches_are_read() -> None:
    cluster = make_cluster({"orders": 1})
    partition = leading_partition(cluster, "orders", 0)
    assert partition is not None
    batch = build_batch([Record(at, 1, None, b"x") for at in range(3)], compression=GZIP)
    partition.append_batch(bytearray(batch), AppendOrigin.CLIENT)
    assert [one.offset for one in TopicReader("orders").read(cluster)] == [0, 1, 2]


def test_a_reader_goes_on_where_it_was() -> None:
    cluster = make_cluster({"orders": 1})
    decoded: list[bytes] = []

    def decode(data: bytes) -> bytes:
        decoded.append(data)
        return data

    reader = TopicReader("orders", decode=decode)
    for value in (b"one", b"two"):
        put(cluster, "orders", [NewRecord(value)])
        reader.read(cluster)
    assert decoded == [b"one", b"two"]
    assert [one.value for one in reader.read(cluster)] == [b"one", b"two"]


def test_a_topic_made_anew_is_read_from_its_start() -> None:
    cluster = make_cluster({"orders": 1})
    reader = TopicReader("orders")
    put(cluster, "orders", [NewRecord(b"old"), NewRecord(b"old")])
    assert len(reader.read(cluster)) == 2
    delete_topic(cluster, "orders")
    assert reader.read(cluster) == []
    put(cluster, "orders", [NewRecord(b"new")])
    assert [one.value for one in reader.read(cluster)] == [b"new"]


def test_deleted_records_are_not_read() -> None:
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"old")])
    delete_records(cluster, "orders")
    put(cluster, "orders", [NewRecord(b"new")])
    assert [one.value for one in TopicReader("orders").read(cluster)] == [b"new"]


def test_read_committed_leaves_out_what_is_open_or_aborted() -> None:
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"plain")])
    append_transactional(cluster, 1, b"aborted", 0)
    append_transactional(cluster, 2, b"committed", 0)
    assert values(cluster, READ_COMMITTED) == [b"plain"]
    end(cluster, 1, commit=False)
    assert values(cluster, READ_COMMITTED) == [b"plain"]
    end(cluster, 2, commit=True)
    assert values(cluster, READ_COMMITTED) == [b"plain", b"committed"]
    assert values(cluster, "read_uncommitted") == [b"plain", b"aborted", b"committed"]


def test_a_marker_behind_the_last_stable_offset_counts() -> None:
    cluster = make_cluster({"orders": 1})
    append_transactional(cluster, 1, b"aborted", 0)
    append_transactional(cluster, 2, b"open", 0)
    end(cluster, 1, commit=False)
    assert values(cluster, READ_COMMITTED) == []
    append_transactional(cluster, 1, b"committed later", 1)
    end(cluster, 1, commit=True)
    end(cluster, 2, commit=True)
    assert values(cluster, READ_COMMITTED) == [b"open", b"committed later"]


def test_an_isolation_is_checked() -> None:
    with pytest.raises(ValueError, match="isolation: 'serializable'; allowed: read_uncommitted"):
        TopicReader("orders", isolation="serializable")


def test_a_page_ends_behind_the_record_that_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PAGE_BYTES", 10)
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"x" * 4, key=b"k", headers=[("h", b"v")])] * 3)
    page = reading.read_page(cluster, "orders", 0, 0, limit=1000)
    assert ([one.offset for one in page.records], page.next_offset) == ([0, 1], 2)
    rest = reading.read_page(cluster, "orders", 0, 2, limit=1000)
    assert ([one.offset for one in rest.records], rest.next_offset) == ([2], None)
