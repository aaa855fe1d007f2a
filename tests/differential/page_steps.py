"""Topics by pages and from a later start: DescribeTopicPartitions, DeleteRecords."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from mockbroker_protocol.messages.metadata import (
    DescribeTopicPartitionsRequest,
    PageCursor,
    TopicRequest,
)
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mockbroker_protocol.records.batch import build_batch
from tests.differential.record_steps import Target, produce, records
from tests.differential.steps import ask
from tests.differential.topic_steps import create, settled, topic

if TYPE_CHECKING:
    from tests.differential.steps import Step

UNLIMITED = 2000
HIGH_WATERMARK, EARLIEST = -1, -2


def describe_topic_partitions_steps() -> list[Step]:
    def pages(
        *names: str, limit: int = UNLIMITED, cursor: tuple[str, int] | None = None
    ) -> DescribeTopicPartitionsRequest:
        start = None if cursor is None else PageCursor(*cursor)
        return DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, start)

    three, two = "paged-three", "paged-two"
    asked = {
        "topics": pages(two, three),
        "a topic twice": pages(two, two),
        "an unknown topic": pages("nowhere", two),
        "bad names": pages("b@d", ""),
        "two partitions": pages(two, three, limit=2),
        "exactly one topic": pages(two, three, limit=3),
        "one topic to its end": pages(three, limit=3),
        "no partitions": pages(two, limit=0),
        "a negative limit": pages(two, limit=-1),
        "the cursor's rest": pages(two, three, cursor=(three, 2)),
        "a page from the middle": pages(two, three, limit=1, cursor=(three, 1)),
        "a cursor at the last topic": pages(two, three, cursor=(two, 0)),
        "a cursor past the end": pages(two, three, cursor=(three, 3)),
        "a cursor far past the end": pages(two, three, cursor=(three, 99)),
        "a cursor at an unknown topic": pages("nowhere", two, cursor=("nowhere", 1)),
        "an unlisted cursor": pages(two, cursor=("other", 0)),
        "a negative cursor": pages(two, cursor=(two, -1)),
        "a page of unknown topics": pages("a-nowhere", two, "z-nowhere", limit=2),
        "all from a cursor": pages(limit=4, cursor=(three, 1)),
        "all from a gone cursor": pages(limit=5, cursor=("paged-a-gone", 7)),
        "all from a negative cursor": pages(cursor=("paged-a-gone", -2)),
        "all past the end": pages(cursor=("zzz", 0)),
        "all": pages(),
        "the first of all": pages(limit=1),
    }
    return [
        *ask("CreateTopics to page", 7, create(topic(three, 3), topic(two, 2))),
        *settled(three, two),
        *(step for what, request in asked.items()
          for step in ask(f"DescribeTopicPartitions of {what}", 0, request)),
    ]  # fmt: skip


def delete_records_steps() -> list[Step]:
    random = Random(1)
    cut, compacted = "cut", "cut-compacted"

    def delete(*partitions: tuple[str, int, int]) -> DeleteRecordsRequest:
        topics = [
            DeleteRecordsTopic(name, [DeleteRecordsPartition(index, offset)])
            for name, index, offset in partitions
        ]
        return DeleteRecordsRequest(topics, 5000)

    def earliest(index: int) -> ListOffsetsRequest:
        parts = [ListOffsetsPartition(index, -1, EARLIEST)]
        return ListOffsetsRequest(-1, 0, [ListOffsetsTopic(cut, parts)], 5000)

    def batch() -> bytes:
        return build_batch(records(10, random))

    def is_led(answer: Any) -> bool:
        """NOT_LEADER_OR_FOLLOWER: Metadata knows of the leader before the leader does."""
        return bool(answer.responses[0].partition_responses[0].error_code != 6)

    asked = {
        "a low offset": (cut, 0, 3),
        "an offset below the start": (cut, 0, 1),
        "the start itself": (cut, 0, 3),
        "zero": (cut, 0, 0),
        "the end": (cut, 0, 20),
        "past the end": (cut, 0, 21),
        "a negative offset": (cut, 0, -2),
        "everything": (cut, 1, HIGH_WATERMARK),
        "everything of an empty partition": (cut, 2, HIGH_WATERMARK),
        "past an empty partition": (cut, 2, 1),
        "an unknown partition": (cut, 9, 0),
        "a negative partition": (cut, -1, 0),
        "an unknown topic": ("nowhere", 0, 0),
        "a bad topic": ("b@d", 0, 0),
        "no topic": ("", 0, 0),
        "a compacted topic": (compacted, 0, 1),
        "an unknown partition of a compacted topic": (compacted, 4, 1),
        "an internal topic": ("__consumer_offsets", 0, 0),
        "an unknown partition of an internal topic": ("__consumer_offsets", 900, 0),
    }
    several = DeleteRecordsRequest(
        [
            DeleteRecordsTopic(cut, [DeleteRecordsPartition(n, HIGH_WATERMARK) for n in (0, 1, 5)]),
            DeleteRecordsTopic("nowhere", [DeleteRecordsPartition(0, 0)]),
        ],
        5000,
    )
    repeated = DeleteRecordsRequest(
        [DeleteRecordsTopic(cut, [DeleteRecordsPartition(1, 4), DeleteRecordsPartition(1, 10)])],
        5000,
    )
    return [
        *ask("CreateTopics to cut", 7, create(
            topic(cut, 3), topic(compacted, 1, cleanup_policy="compact"))),
        *settled(cut, compacted),
        *(step for index in (0, 0, 1)
          for step in ask(f"Produce to cut {index}", 9, produce(Target(cut, index), batch()),
                          until=is_led)),
        *ask("DeleteRecords", range(3), delete((cut, 0, 2))),
        *ask("ListOffsets of a cut one", 7, earliest(0)),
        *(step for what, partition in asked.items()
          for step in ask(f"DeleteRecords of {what}", 2, delete(partition))),
        *ask("DeleteRecords of several", 2, several),
        *ask("DeleteRecords of one twice", 2, repeated),
        *ask("DeleteRecords of nothing", (0, 2), DeleteRecordsRequest([], 5000)),
        *ask("ListOffsets of a cut one again", 7, earliest(1)),
    ]  # fmt: skip
