"""Commits of ranges by clients that cannot send tagged fields.

What their metadata says (`metadata_carrier`), and what a plain position of a member of a
transparent group stands for (`transparent`), is put into the fields that it would be told by. An
answer has none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Shared
from mockbroker.coop.individual_commits import Place, committed_offset
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.key_filter import KeyFilter
from mockbroker.coop.metadata_carrier import NO_COMMIT, read_text
from mockbroker.coop.progress import progress_of
from mockbroker.coop.range_writer import RangeWriter
from mockbroker.coop.transparent import ranges_in
from mockbroker.log.offsets import FetchIsolation
from mockbroker_protocol.records.batch import iterate_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.apis.context import Services
    from mockbroker.coop.assignor import Ranges
    from mockbroker.coop.transparent import Owner
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitResponse,
    )
    from mockbroker_protocol.messages.transactions import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestPartition,
        TxnOffsetCommitResponse,
    )


Seen = dict[tuple[str, str, str, int], int]
"""Behind what of a partition a member's commit was looked at, as `TransparentGroups` has it."""


def carry(services: Services, client_id: str, request: OffsetCommitRequest) -> Seen | None:
    """Put into fields what a request says without them; None: it says nothing.

    What is told is looked at for once the commit has succeeded.
    """
    carries_text = extension_of(services).in_use.carrier
    owner = _owner(services, client_id, request)
    if not carries_text and owner is None:
        return None
    found = False
    seen: Seen = {}
    for topic in request.topics:
        name = topic.name or services.metadata.topic_name(topic.topic_id) or ""
        for one in topic.partitions:
            if tags.is_spoken(tags.tagged_fields(one)):
                continue
            fields: Mapping[int, bytes] | None = None
            if carries_text:
                fields = _said(services, one)
            if fields is None and owner is not None:
                ranges = ranges_in(owner, name, one.partition_index)
                if ranges:
                    place = Shared(owner.group, name, one.partition_index)
                    fields = _claimed(services, owner, place, ranges, one.committed_offset, seen)
            if fields is not None:
                tags.tag(one, fields)
                found = True
    return seen if found else None


def carry_text(services: Services, request: TxnOffsetCommitRequest) -> bool:
    """The same of a transaction's offsets, for which nobody speaks but their text."""
    found = False
    for topic in request.topics:
        for one in topic.partitions:
            fields = _said(services, one)
            if fields is not None:
                tags.tag(one, fields)
                found = True
    return found


def _said(
    services: Services, one: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition
) -> Mapping[int, bytes] | None:
    """What the metadata says; one that is too long is refused as any other."""
    text = one.committed_metadata
    if len(text or "") > services.config.int("offset.metadata.max.bytes"):
        return None
    return read_text(text)


class CarriedWriter(RangeWriter):
    """Answers have no fields: their client could not read them."""

    def __init__(self, services: Services, request: OffsetCommitRequest, seen: Seen) -> None:
        super().__init__(services, request)
        self._seen = seen

    def amend(self, response: OffsetCommitResponse | TxnOffsetCommitResponse) -> None:
        """Say it in error codes alone."""
        super().amend(response)
        failed = set()
        for topic in response.topics:
            for one in topic.partitions:
                tags.tag(one, {})
                if one.error_code:
                    failed.add((topic.name, one.partition_index))
        looked_at = extension_of(self._services).transparent.looked_at
        looked_at.update({key: end for key, end in self._seen.items() if key[2:] not in failed})


def _owner(services: Services, client_id: str, request: OffsetCommitRequest) -> Owner | None:
    """The member that commits, if it shares partitions and does not know it."""
    owner = extension_of(services).transparent.owners(request.group_id).get(client_id)
    return owner if owner is not None and owner.member == request.member_id else None


def _claimed(
    services: Services,
    owner: Owner,
    place: Shared,
    ranges: Ranges,
    position: int,
    seen: Seen,
) -> Mapping[int, bytes]:
    """A position stands for the records before it that are in the member's ranges."""
    log = services.leader_log(place.topic, place.partition)
    topic = services.metadata.topics.get(place.topic)
    shard = services.groups.service.runtime.shard_for(place.group)
    if log is None or topic is None or shard is None:
        return NO_COMMIT
    transparent = extension_of(services).transparent
    key = owner.group, owner.member, place.topic, place.partition
    begins = None
    start = progress_of(services, place, log, FetchIsolation.HIGH_WATERMARK).stable
    if committed_offset(shard, Place(*place, topic.id)) < 0:
        begins = transparent.begun.get((owner.group, place.topic, place.partition))
        start = max(start, -1 if begins is None else begins)
    start = max(start, transparent.looked_at.get(key, 0))
    wanted, null_keys = KeyFilter(ranges), topic.config.str("range.fetch.null.key.policy")
    claimed = IntervalSet()
    end = min(position, log.high_watermark)
    if start < end:
        for header, batch in log.iterate_batches(start, FetchIsolation.HIGH_WATERMARK):
            if header.base_offset >= end:
                break
            if header.is_control:
                continue
            for one in iterate_records(batch, 0, header):
                if start <= one.offset < end and wanted.matches(one.key, one.offset, null_keys):
                    claimed.add(one.offset, one.offset)
    seen[key] = max(start, end)
    return commit_fields(claimed, begins)
