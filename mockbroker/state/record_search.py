"""Records of a topic by key, by what their value holds, by time: a page at a time.

Called by the admin API. A page ends when it is full, or when enough records were looked at: a topic
of a million records is searched in parts, between which clients are served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.state.reading import read_page

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.reading import Record

MAX_LOOKED_AT: Final = 5000
_AT_ONCE: Final = 1000


class Wanted(NamedTuple):
    """What a record must be; None: anything. `contains` is looked for in key, value and headers."""

    key: bytes | None = None
    contains: bytes | None = None
    since_ms: int | None = None

    def fits(self, record: Record) -> bool:
        """Whether a record is meant."""
        if self.key is not None and record.key != self.key:
            return False
        if self.since_ms is not None and record.timestamp < self.since_ms:
            return False
        if self.contains is None:
            return True
        parts = [record.key, record.value]
        parts += [data for header in record.headers for data in (header[0].encode(), header[1])]
        return any(self.contains in part for part in parts if part is not None)


class Found(NamedTuple):
    """Records that fit, how many were looked at, and where to go on; None at the end."""

    records: list[Record]
    looked_at: int
    next_partition: int | None
    next_offset: int | None


def search(
    cluster: Cluster, topic: str, wanted: Wanted, partition: int, offset: int, *, limit: int
) -> Found:
    """At most `limit` records of a topic that exists, from a position on."""
    found: list[Record] = []
    looked_at = 0
    index: int | None = partition
    at: int | None = offset
    while index is not None and at is not None and looked_at < MAX_LOOKED_AT:
        page = read_page(cluster, topic, index, at, limit=_AT_ONCE)
        index, at = page.next_partition, page.next_offset
        for record in page.records:
            looked_at += 1
            if not wanted.fits(record):
                continue
            if len(found) == limit:
                return Found(found, looked_at, record.partition, record.offset)
            found.append(record)
    return Found(found, looked_at, index, at)
