"""What those that share partitions say in the metadata of offsets, where they cannot send fields.

Written and read here from what `docs/cooperative-consumption.md` says of `coop.metadata.carrier`,
not by the broker's own code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OffsetRanges = list[tuple[int, int]]
TOLD: Final = re.compile(r"ic1;(?P<ranges>[0-9,-]*);n=(?P<count>[0-9]+)(?P<cut>;t=1)?")


def written(ranges: Iterable[tuple[int, int]]) -> str:
    """Ranges of offsets as text."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def text_of_commit(
    ranges: Sequence[tuple[int, int]] = (),
    *,
    begins: int | None = None,
    read_committed: bool = False,
    releases: Sequence[tuple[int, int]] = (),
    renews: Sequence[tuple[int, int]] = (),
) -> str:
    """A commit of ranges, or of changes of leases."""
    parts = [f"ic1;{written(ranges)}"]
    parts += [] if begins is None else [f"b={begins}"]
    parts += ["i=1"] if read_committed else []
    parts += [f"rel={written(releases)}"] if releases else []
    parts += [f"ren={written(renews)}"] if renews else []
    return ";".join((*parts, "x=of a simulation"))


def wrong_in(text: str | None, ranges: OffsetRanges) -> str | None:
    """What is wrong with the text that tells of these ranges; None: nothing."""
    if not text:
        return f"tells nothing of {ranges}" if ranges else None
    told = TOLD.fullmatch(text)
    if told is None:
        return f"{text!r} cannot be read"
    parts = [one for one in told["ranges"].split(",") if one]
    if int(told["count"]) != len(ranges) or (len(parts) < len(ranges)) != bool(told["cut"]):
        return f"{text!r} does not count {ranges}"
    if written(ranges[: len(parts)]) != told["ranges"]:
        return f"{text!r} does not tell {ranges}"
    return None
