"""The bytes of the tagged fields of commits: ranges of offsets, and how a partition stands."""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812 -- a class
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.handouts import LeaseChanges
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.primitives import read_uvarint, write_uvarint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RANGE: Final = Struct(">qq")
_OFFSET: Final = Struct(">q")
_COUNT: Final = Struct(">i")
_FLAG: Final = Struct(">b")
MOST_RANGES: Final = 65_536
"""In one partition of an answer: the lowest are told, the rest is given out again."""


class AskedCommit(NamedTuple):
    """What a partition of a commit asks for; `initial` None: it says of no beginning."""

    ranges: list[tuple[int, int]]
    initial: int | None
    read_committed: bool


def read_commit(fields: Mapping[int, bytes]) -> AskedCommit | None:
    """What the tagged fields of a partition ask for; None: a plain commit.

    Raises ProtocolError for a field that is cut.
    """
    packed = fields.get(Tag.COMMIT_RANGES)
    if packed is None:
        return None
    try:
        initial = fields.get(Tag.INITIAL_OFFSET)
        isolation = fields.get(Tag.ISOLATION)
        return AskedCommit(
            read_offset_ranges(packed),
            None if initial is None else _OFFSET.unpack_from(initial)[0],
            isolation is not None and bool(_FLAG.unpack_from(isolation)[0]),
        )
    except StructError as error:
        raise ProtocolError(str(error)) from None


def read_lease_changes(fields: Mapping[int, bytes]) -> LeaseChanges:
    """What the tagged fields of a partition say of what its member was handed out."""
    release, renew = fields.get(Tag.RELEASE_RANGES), fields.get(Tag.RENEW_RANGES)
    return LeaseChanges(
        () if release is None else read_offset_ranges(release),
        () if renew is None else read_offset_ranges(renew),
    )


def read_offset_ranges(data: bytes) -> list[tuple[int, int]]:
    """Packed ranges of offsets."""
    count, pos = read_uvarint(data, 0)
    end = pos + max(count - 1, 0) * _RANGE.size
    if end > len(data):
        raise ProtocolError(f"{count - 1} ranges need more than {len(data) - pos} bytes")
    return list(_RANGE.iter_unpack(data[pos:end]))


def write_offset_ranges(ranges: Iterable[tuple[int, int]]) -> bytes:
    """The same, packed."""
    packed = [_RANGE.pack(*each) for each in ranges]
    return write_uvarint(len(packed) + 1) + b"".join(packed)


def commit_fields(
    ranges: Iterable[tuple[int, int]], initial: int | None = None, *, read_committed: bool = False
) -> dict[int, bytes]:
    """The tagged fields of a partition's commit, as a client sends them."""
    fields: dict[int, bytes] = {Tag.COMMIT_RANGES: write_offset_ranges(ranges)}
    if initial is not None:
        fields[Tag.INITIAL_OFFSET] = _OFFSET.pack(initial)
    if read_committed:
        fields[Tag.ISOLATION] = _FLAG.pack(1)
    return fields


def standing_fields(stable: int, count: int) -> dict[int, bytes]:
    """How a partition stands after a commit, or at a fetch of offsets."""
    return {Tag.STABLE_OFFSET: _OFFSET.pack(stable), Tag.RANGE_COUNT: _COUNT.pack(count)}


def read_want(data: bytes | None) -> int:
    """What of ranges a fetch of offsets wants: 0 nothing, 1 ranges, 2 those pending too."""
    return _FLAG.unpack_from(data)[0] if data else 0
