"""Confluent's framing of keys and values: a zero byte, the id of a schema in four bytes, the rest.

Pure; called by `load` and `dump`. What schema an id means is given, or `registered` asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

if TYPE_CHECKING:
    from pyspark.sql import Column

ANY_SCHEMA: Final = -1
_PREFIX_BYTES: Final = 5


def prefix(schema_id: int) -> bytes:
    """What stands before the bytes of a schema."""
    return b"\0" + schema_id.to_bytes(4, "big")


def framed(encoded: Column, schema_id: int) -> Column:
    """The bytes behind the id of their schema; null stays null."""
    return F.concat(F.unhex(F.lit(prefix(schema_id).hex())), encoded)


def id_of(framed_bytes: Column) -> Column:
    """The id that stands before the bytes; null where they have no such prefix."""
    head = F.hex(F.call_function("substring", framed_bytes, F.lit(1), F.lit(_PREFIX_BYTES)))
    found = F.conv(head, 16, 10).cast("long")
    return F.when((F.length(head) == 2 * _PREFIX_BYTES) & (found < 1 << 31), found)


def unframed(framed_bytes: Column, schema_id: int) -> Column:
    """The bytes less their prefix; null where they have none, or that of another schema."""
    wanted = prefix(schema_id) if schema_id != ANY_SCHEMA else b"\0"
    head = F.hex(F.call_function("substring", framed_bytes, F.lit(1), F.lit(len(wanted))))
    fits = (head == F.lit(wanted.hex().upper())) & (F.length(framed_bytes) >= _PREFIX_BYTES)
    rest = F.call_function("substring", framed_bytes, F.lit(_PREFIX_BYTES + 1))
    return F.when(fits, rest)
