"""Ranges of offsets in a commit's metadata, for clients that cannot send tagged fields.

With `coop.metadata.carrier` a metadata text that begins with `ic1;` commits these ranges and no
position, and a group's ranges are told in such a text:

    ic1;45-47,50;b=43;i=1;rel=60-69;ren=70-79;x=anything      of a commit
    ic1;45-47,50;n=2                                          of an answer; t=1: cut

b is where a group begins that has committed nothing, i=1 says that aborted records are not given to
this consumer, rel and ren give leases back and keep them; what x says is not kept.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812 -- a class
from typing import TYPE_CHECKING, Final

from mockbroker.coop.commit_tags import commit_fields, write_offset_ranges
from mockbroker.coop.numbers import Tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_BEGINS: Final = "ic1;"
_CUT: Final = ";t=1"
NO_COMMIT: Final[Mapping[int, bytes]] = {Tag.COMMIT_RANGES: b""}
"""The fields of a commit that nobody can read: it is refused."""


def read_text(metadata: str | None) -> Mapping[int, bytes] | None:
    """The tagged fields that the text stands for; None: it is ordinary metadata."""
    if metadata is None or not metadata.startswith(_BEGINS):
        return None
    text = metadata.removeprefix(_BEGINS).rstrip("\0")  # confluent-kafka's ends with one
    ranges, *others = text.split(";x=", maxsplit=1)[0].split(";")
    said = dict(one.partition("=")[::2] for one in others)
    try:
        fields = commit_fields(
            _read_ranges(ranges),
            int(said.pop("b")) if "b" in said else None,
            read_committed=said.pop("i", "0") == "1",
        )
        for name, tag in (("rel", Tag.RELEASE_RANGES), ("ren", Tag.RENEW_RANGES)):
            if name in said:
                fields[tag] = write_offset_ranges(_read_ranges(said.pop(name)))
    except (ValueError, OverflowError, StructError):
        return NO_COMMIT
    return NO_COMMIT if said else fields


def write_commits(
    ranges: Sequence[tuple[int, int]],
    max_bytes: int,
    *,
    beginning: int | None = None,
    read_committed: bool = False,
) -> Iterator[tuple[str, Sequence[tuple[int, int]]]]:
    """Texts that commit all of these ranges, and which of them each has; one where there is none.

    `beginning`: where a group begins that has committed nothing.
    """
    tail = f";b={beginning}" if beginning is not None else ""
    tail += ";i=1" if read_committed else ""
    parts: list[str] = []
    begun, size = 0, len(_BEGINS) + len(tail)
    for at, (first, last) in enumerate(ranges):
        part = _range_text(first, last)
        if parts and size + len(part) + 1 > max_bytes:
            yield _BEGINS + ",".join(parts) + tail, ranges[begun:at]
            parts, begun, size = [], at, len(_BEGINS) + len(tail)
        parts.append(part)
        size += len(part) + 1
    yield _BEGINS + ",".join(parts) + tail, ranges[begun:]


def read_answer(metadata: str | None) -> list[tuple[int, int]] | None:
    """The ranges that an answer's text tells of; None: it is what a client wrote.

    confluent-kafka reads on behind the end of a text; nothing behind the count is looked at.
    """
    if metadata is None or not metadata.startswith(_BEGINS):
        return []
    ranges, counted, _ = metadata.removeprefix(_BEGINS).partition(";n=")
    return list(_read_ranges(ranges)) if counted else None


def write_text(ranges: Sequence[tuple[int, int]], max_bytes: int) -> str:
    """The text of an answer: the lowest ranges, as many as there is room for."""
    tail = f";n={len(ranges)}"
    parts: list[str] = []
    size = len(_BEGINS) + len(tail) + len(_CUT)
    for first, last in ranges:
        part = _range_text(first, last)
        size += len(part) + 1
        if size > max_bytes:
            tail += _CUT
            break
        parts.append(part)
    return _BEGINS + ",".join(parts) + tail


def _range_text(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else str(first)


def _read_ranges(text: str) -> Iterable[tuple[int, int]]:
    found = []
    for one in text.split(",") if text else ():
        first, dash, last = one.partition("-")
        found.append((int(first), int(last if dash else first)))
    return found
