"""The content hash: what is equal, what differs, and that it is the same for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.records import (
    WRITE_SCHEMA,
    content_hash,
    fingerprint,
    size_bytes,
    with_normal_headers,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None, None, None]


def records(spark: SparkSession, *rows: Row) -> DataFrame:
    return spark.createDataFrame(list(rows), WRITE_SCHEMA)


def row(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None = None
) -> Row:
    return (key, value, headers, None, None)


def test_different_content_has_different_hashes(spark: SparkSession) -> None:
    different = [
        row(None, b"a"),
        row(b"", b"a"),
        row(b"a", None),
        row(b"a", b""),
        row(b"ab", b"c"),
        row(b"a", b"bc"),
        row(b"a", b"", [("h", b"1")]),
        row(b"a", b"", [("h", b"")]),
        row(b"a", b"", [("h", b"1"), ("h", b"1")]),
    ]
    hashed = records(spark, *different).select(content_hash("key", "value", "headers"))
    assert hashed.distinct().count() == len(different)


def test_no_headers_are_null_headers(spark: SparkSession) -> None:
    found = with_normal_headers(records(spark, row(b"k", b"v"), row(b"k", b"v", [])))
    assert found.select(content_hash("key", "value", "headers")).distinct().count() == 1


def test_the_hash_is_pinned(spark: SparkSession) -> None:
    (found,) = records(spark, row(b"k", b"v")).select(content_hash("key", "value")).collect()
    assert tuple(found[0]) == PINNED


def test_a_fingerprint_knows_no_order_but_counts(spark: SparkSession) -> None:
    one, two = row(b"k", b"1"), row(b"k", b"2")
    prints = [
        fingerprint(records(spark, *rows), "key", "value").collect()[0]
        for rows in ((one, two), (two, one), (one, one, two), (one, one))
    ]
    assert prints[0] == prints[1]
    assert len({tuple(found) for found in prints}) == 3


def test_bytes_are_those_of_key_value_and_headers(spark: SparkSession) -> None:
    rows = records(spark, row(b"kk", b"vvv", [("h", b"123"), ("i", None)]), row(None, None))
    assert [found[0] for found in rows.select(size_bytes()).collect()] == [10, 0]


PINNED = (-6786825532619409600, 6329712035877162815)
