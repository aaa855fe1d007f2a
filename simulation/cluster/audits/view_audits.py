"""What a test sees of a cluster at rest, held against its logs and coordinators.

Topics are read whole and page by page, groups are told with what they have committed and how far
they are behind, transactions as their coordinators have them, and a report is made of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.state import groups, reading, report, transactions
from mockbroker.state.partitions import leading_partition
from mockbroker_protocol.records.batch import iterate_records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.cluster.cluster import Cluster

LINES = 20
LATEST = 200
"""Requests that a report is made of: the bytes of each are decoded."""
PAGES = (1, 7, 100)


def wrong_views(cluster: Cluster, rng: Random) -> Iterator[str]:
    """What is told otherwise than it is."""
    topic = rng.choice(sorted(cluster.metadata.topics))
    yield from _wrong_topic(cluster, topic, rng)
    for group_id in groups.group_ids(cluster):
        yield from _wrong_group(cluster, group_id)
    for transactional_id in transactions.transactional_ids(cluster):
        found = transactions.transaction(cluster, transactional_id)
        known = [
            (known.producer_id, known.producer_epoch, list(known.partitions))
            for _, known in transactions.every_transaction(cluster)
            if known.transactional_id == transactional_id
        ]
        told = None if found is None else (found.producer_id, found.producer_epoch)
        if [told] != [one[:2] for one in known]:
            yield f"{transactional_id} is told as {found}, and is {known}"
    if not report.report(cluster, cluster.journal.cursor() - LATEST, LINES):
        yield "there is nothing to report"


def _wrong_topic(cluster: Cluster, topic: str, rng: Random) -> Iterator[str]:
    wanted: list[tuple[int, int, bytes | None]] = []
    for index in range(len(cluster.metadata.topics[topic].partitions)):
        partition = leading_partition(cluster, topic, index)
        log = None if partition is None else partition.log
        for header, batch in () if log is None else log.iterate_batches(log.log_start_offset):
            if not header.is_control:
                wanted += [
                    (index, one.offset, one.value)
                    for one in iterate_records(batch, 0, header)
                    if log is not None and log.log_start_offset <= one.offset < log.high_watermark
                ]
    whole = [(one.partition, one.offset, one.value) for one in _read(cluster, topic)]
    if whole != wanted:
        yield f"{topic} is read as {len(whole)} records of {len(wanted)}"
    found: list[tuple[int, int, bytes | None]] = []
    place: tuple[int, int] | None = (0, 0)
    limit = rng.choice(PAGES)
    while place is not None:
        page = reading.read_page(cluster, topic, *place, limit=limit)
        found += [(one.partition, one.offset, one.value) for one in page.records]
        at, offset = page[1:]
        place = None if at is None or offset is None else (at, offset)
    if found != wanted:
        yield f"{topic} is read as {len(found)} records of {len(wanted)}, {limit} a page"
    committed = {(one.partition, one.offset) for one in _read(cluster, topic, "read_committed")}
    if not committed.issubset((at, offset) for at, offset, _ in wanted):
        yield f"{topic} has {len(committed)} committed records, and {len(wanted)} in all"


def _read(
    cluster: Cluster, topic: str, isolation: str = reading.READ_UNCOMMITTED
) -> list[reading.Record]:
    return reading.TopicReader(topic, isolation=isolation).read(cluster)


def _wrong_group(cluster: Cluster, group_id: str) -> Iterator[str]:
    told = groups.describe_group(cluster, group_id)
    committed = groups.committed_offsets(cluster, group_id)
    if told.group_id != group_id or (told.state == groups.DEAD and committed):
        yield f"{group_id} is told as {told}"
    behind = groups.lag(cluster, group_id)
    for (topic, index), offset in committed.items():
        partition = leading_partition(cluster, topic, index)
        end = 0 if partition is None else partition.high_watermark
        if behind.get((topic, index)) != max(0, end - offset):
            yield f"{group_id} is {behind} behind, with {offset} of {end} in {topic}-{index}"
