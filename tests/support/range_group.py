"""A group that commits single offsets of partition t-0, over the wire, and what its logs get."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop import ic_records, tags
from mockbroker.coop.commit_tags import commit_fields, read_offset_ranges
from mockbroker.coop.ic_records import IndividualCommitKey
from mockbroker.coop.numbers import Tag
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.records import decode_record
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from tests.support.keyed_log import keyed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.node.broker import Broker
    from tests.support.core import CoreClient

ON = {"coop.extension.enable": "true", "offsets.topic.num.partitions": "1"}
COMMIT_VERSION, FETCH_VERSION = 9, 8


class Committed(NamedTuple):
    """An answer to a commit: its code, the draft's, the stable offset and the count of ranges."""

    error: int
    draft: int | None = None
    stable: int | None = None
    ranges: int | None = None


class Standing(NamedTuple):
    """An answer to a fetch of offsets."""

    stable: int
    ranges: list[tuple[int, int]]
    pending: list[tuple[int, int]]
    error: int = 0


def fill(client: CoreClient, count: int, topic: str = "t") -> None:
    """Append so many records, as few batches."""
    for size in (*[50_000] * (count // 50_000), count % 50_000):
        part = ProduceRequestPartition(index=0, records=keyed(0, *["k"] * size))
        asked = ProduceRequest(
            acks=1, timeout_ms=1000, topic_data=[ProduceRequestTopic(topic, partition_data=[part])]
        )
        answer = client.call(asked, 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0


class RangeGroup:
    """Requests of one group about t-0; `member` and `generation` are of who commits."""

    def __init__(self, client: CoreClient, group_id: str = "g") -> None:
        self.client = client
        self.group_id = group_id
        self.member = ""
        self.generation = -1

    def commit(
        self,
        *ranges: tuple[int, int],
        initial: int | None = None,
        read_committed: bool = False,
        plain: int = -1,
    ) -> Committed:
        """Commit ranges; without any, agree on a beginning or ask."""
        fields = commit_fields(ranges, initial, read_committed=read_committed)
        return self._send(plain, fields)

    def plain(self, offset: int) -> Committed:
        """Commit a position."""
        return self._send(offset, None)

    def asking(self, offset: int, fields: Mapping[int, bytes] | None) -> OffsetCommitRequest:
        """A commit of t-0 as a message."""
        part = OffsetCommitRequestPartition(0, offset, -1, "note")
        if fields is not None:
            tags.tag(part, fields)
        topic = OffsetCommitRequestTopic("t", partitions=[part])
        return OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member,
            topics=[topic],
        )

    def _send(self, offset: int, fields: Mapping[int, bytes] | None) -> Committed:
        answer = self.client.call(self.asking(offset, fields), COMMIT_VERSION, OffsetCommitResponse)
        return told(answer.topics[0].partitions[0])

    def fetch(self, wants: int = 2, *, require_stable: bool = False) -> Standing:
        """How the group stands, as it is told."""
        group = OffsetFetchRequestGroup(self.group_id, topics=[OffsetFetchRequestTopics("t")])
        assert group.topics is not None
        group.topics[0].partition_indexes = [0]
        if wants:
            tags.tag(group, {Tag.WANT_RANGES: bytes((wants,))})
        asked = OffsetFetchRequest(groups=[group], require_stable=require_stable)
        answer = self.client.call(asked, FETCH_VERSION, OffsetFetchResponse)
        (one,) = answer.groups[0].topics[0].partitions
        fields = tags.tagged_fields(one)
        return Standing(
            one.committed_offset,
            read_offset_ranges(fields.get(Tag.COMMITTED_RANGES, b"\x01")),
            read_offset_ranges(fields.get(Tag.PENDING_RANGES, b"\x01")),
            one.error_code,
        )


def told(one: OffsetCommitResponsePartition) -> Committed:
    """An answer's partition, with what its tagged fields say."""
    fields = tags.tagged_fields(one)

    def number(tag: Tag, size: int) -> int | None:
        return int.from_bytes(fields[tag][:size], "big", signed=True) if tag in fields else None

    return Committed(
        one.error_code,
        number(Tag.EXT_ERROR, 2),
        number(Tag.STABLE_OFFSET, 8),
        number(Tag.RANGE_COUNT, 4),
    )


class Ops:
    """What the logs of a broker got: P(position), T(range) and +(range), since it was asked."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._seen = {GROUP_METADATA_TOPIC: 0, INDIVIDUAL_COMMITS_TOPIC: 0}

    def take(self) -> list[str]:
        """First those of the primary topic."""
        return [*self._positions(), *self._ranges()]

    def _new(self, topic: str) -> Sequence[tuple[bytes | None, bytes | None]]:
        services = self._broker.services
        entries = list(InternalLog(topic, services.replicas, services.clock).read(0))
        new = entries[self._seen[topic] :]
        self._seen[topic] = len(entries)
        return [(each[2], each[3]) for each in new if len(each) == 4]  # no markers

    def _positions(self) -> list[str]:
        decoded = [decode_record(*each) for each in self._new(GROUP_METADATA_TOPIC)]
        return [
            f"P({one.value.offset})" if isinstance(one.value, OffsetCommitValue) else "P()"
            for one in decoded
            if one is not None and isinstance(one.key, OffsetCommitKey)
        ]

    def _ranges(self) -> list[str]:
        found = []
        for each in self._new(INDIVIDUAL_COMMITS_TOPIC):
            one = ic_records.decode(*each)
            assert one is not None
            assert isinstance(one.key, IndividualCommitKey)
            kind = "T" if one.value is None else "+"
            found.append(f"{kind}({one.key.first}-{one.key.last})")
        return found
