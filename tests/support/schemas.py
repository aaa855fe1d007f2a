"""Declared messages that use every feature of the schema; their layout is nobody's real API."""

from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    Records,
    V,
    boolean,
    field,
    float64,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uint16,
    uint32,
    uuid,
)


@struct
class Pair:
    """Fixed-width all through."""

    first: int32
    second: Annotated[int64, V(since=1, ignorable=True)] = -1


@struct
class Inner:
    name: str
    count: Annotated[int32, V(since=1)] = 7
    note: Annotated[str | None, V(nullable=2, tag=0, tagged=2)] = None


@message(api_key=900, versions=(0, 4), flexible=2)
class Everything:
    small: int8
    medium: int16
    number: int32
    large: int64
    flag: boolean
    ratio: float64
    port: uint16
    mask: uint32
    text: str
    maybe_text: Annotated[str | None, V(nullable=1)]
    topic_id: Annotated[uuid, V(since=1)] = ZERO_UUID
    blob: bytes = b""
    maybe_blob: Annotated[bytes | None, V(nullable=0)] = None
    numbers: list[int32] = field(default_factory=list)
    maybe_numbers: Annotated[list[int64] | None, V(nullable=1)] = field(default_factory=list)
    texts: list[str] = []  # noqa: RUF012  # fresh per instance: that is what is tested
    topic_ids: Annotated[list[uuid], V(since=1)] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    inners: list[Inner] = field(default_factory=list)
    maybe_inners: Annotated[list[Inner] | None, V(nullable=0)] = None
    pair: Pair = field(default_factory=lambda: Pair(0))
    maybe_inner: Annotated[Inner | None, V(since=2, nullable=2, ignorable=True)] = None
    batch: Annotated[Records | None, V(nullable=0)] = None
    old: Annotated[int16, V(until=1, ignorable=True)] = -1
    moved: Annotated[str, V(since=1, tag=3, tagged=3)] = ""
    tagged_number: Annotated[int64, V(tag=1, tagged=2)] = -1
    tagged_struct: Annotated[Inner, V(tag=0, tagged=2)] = field(default_factory=lambda: Inner(""))
    tagged_nullable: Annotated[Pair | None, V(nullable=3, tag=2, tagged=3)] = None
    tagged_absent: Annotated[Inner | None, V(tag=200, tagged=4)] = None
    tagged_list: Annotated[list[Pair], V(tag=4, tagged=4)] = field(default_factory=list)


def everything(**fields: object) -> Everything:
    """An instance with zeros where the class has no default."""
    made = Everything(0, 0, 0, 0, flag=False, ratio=0.0, port=0, mask=0, text="", maybe_text="")
    for name, value in fields.items():
        setattr(made, name, value)
    return made
