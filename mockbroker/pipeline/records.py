"""What a record is to every job: its columns, their types, and the hash of its content.

Pure: schemas are values, functions take columns to columns. `WRITE_SCHEMA` is what Spark's
Kafka sink takes. The content hash is 128 bits of xxHash64 under two seeds: equal content gives an
equal hash on any machine and in any version, and null differs from empty. It is no protection
against an adversary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HEADERS_TYPE: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
WRITE_SCHEMA: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("headers", HEADERS_TYPE),
        StructField("partition", IntegerType()),
        StructField("timestamp", TimestampType()),
    ]
)

_SEEDS: Final = (0x6D6F636B, 0x62726F6B)


def no_headers() -> Column:
    """An empty list of headers."""
    return F.array().cast(HEADERS_TYPE)


def size_bytes() -> Column:
    """Bytes of key, value and headers of a record, as the summary counts them."""
    counted = F.aggregate(
        F.col("headers"),
        F.lit(0).cast("long"),
        lambda total, header: (
            total
            + F.length(header["key"])
            + F.coalesce(F.length(header["value"]), F.lit(0)).cast("long")
        ),
    )
    # Most records have none, and a loop over a list is interpreted, not compiled.
    headers = F.when(F.size("headers") > 0, counted).otherwise(F.lit(0).cast("long"))
    return (
        F.coalesce(F.length("key"), F.lit(0)).cast("long")
        + F.coalesce(F.length("value"), F.lit(0)).cast("long")
        + headers
    )


def content_hash(*columns: str) -> Column:
    """struct(high, low) over these columns, which may be null."""
    flags = [F.col(name).isNull() for name in columns]
    values = [F.col(name) for name in columns]
    high, low = (F.xxhash64(F.lit(seed), *flags, *values) for seed in _SEEDS)
    return F.struct(high.alias("high"), low.alias("low"))


def with_normal_headers(records: DataFrame) -> DataFrame:
    """No headers and null headers are one thing in Kafka: make them one here."""
    return records.withColumn("headers", F.coalesce(F.col("headers"), no_headers()))


def fingerprint(records: DataFrame, *columns: str) -> DataFrame:
    """One row (rows, high, low): equal for equal multisets of rows, in any order."""
    hashed = records.select(content_hash(*columns).alias("hash"))
    return hashed.agg(
        F.count("*").alias("rows"),
        F.coalesce(F.sum(F.col("hash.high").cast("decimal(38,0)")), F.lit(0)).alias("high"),
        F.coalesce(F.sum(F.col("hash.low").cast("decimal(38,0)")), F.lit(0)).alias("low"),
    )
