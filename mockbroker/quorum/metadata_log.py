"""The log of `__cluster_metadata-0`: batches of metadata and control records (Kafka: KafkaRaftLog).

`MetadataQuorum` owns it and appends; the raft Fetch reads it. Each append is one batch or several
of at most `MAX_RECORDS_PER_BATCH`, in the epoch of the leader. The high watermark is not decided
here: it may trail the log end for as long as the quorum likes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.offsets import FetchIsolation
from mockbroker.log.unified_log import UnifiedLog
from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC
from mockbroker.quorum.record_codec import encode_control_record, encode_metadata_record
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker_protocol.primitives import Buffer

MAX_RECORDS_PER_BATCH: Final = 10_000
"""Kafka: QuorumController.MAX_RECORDS_PER_BATCH."""


class MetadataLog(UnifiedLog):
    """The batches, from offset 0 on: nothing is ever cut off at the front."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(CLUSTER_METADATA_TOPIC, 0)

    def append(self, records: Sequence[object], epoch: int, now_wall_ms: int) -> int:
        """Write metadata records; returns the offset of the first."""
        first = self.log_end_offset
        for start in range(0, len(records), MAX_RECORDS_PER_BATCH):
            values = map(encode_metadata_record, records[start : start + MAX_RECORDS_PER_BATCH])
            self._append_batch(
                [(None, value) for value in values], epoch, now_wall_ms, control=False
            )
        return first

    def append_control(self, records: Sequence[object], epoch: int, now_wall_ms: int) -> int:
        """Write control records as one batch; returns the offset of the first."""
        first = self.log_end_offset
        self._append_batch(
            [encode_control_record(record) for record in records], epoch, now_wall_ms, control=True
        )
        return first

    def _append_batch(
        self,
        pairs: Sequence[tuple[bytes | None, bytes]],
        epoch: int,
        now_wall_ms: int,
        *,
        control: bool,
    ) -> None:
        base = self.log_end_offset
        batch = build_batch(
            [Record(base + at, now_wall_ms, key, value) for at, (key, value) in enumerate(pairs)],
            control=control,
            partition_leader_epoch=epoch,
        )
        appended = self.append_as_follower(batch, now_wall_ms)
        assert appended.error is ErrorCode.NONE, appended.error

    def read_uncommitted(self, offset: int, max_bytes: int) -> list[Buffer]:
        """The batches from `offset` on, committed or not; the first one whole, however large."""
        found = self.read(offset, max_bytes, FetchIsolation.LOG_END, min_one=True)
        assert found.error is ErrorCode.NONE, found.error
        return found.chunks if found.size_bytes else []

    def diverging_epoch(self, offset: int, epoch: int) -> tuple[int, int] | None:
        """(epoch, end offset) where a replica's log leaves ours; None when it does not.

        Kafka: RaftLog.validateOffsetAndEpoch, and KafkaRaftLog.endOffsetForEpoch for an epoch
        before the first.
        """
        if offset == 0 and epoch == 0:
            return None
        ends = self.end_offset_for_epoch(epoch)
        if ends is None or ends[0] < 0:
            ends = (self.latest_epoch, self.log_end_offset)
        if ends[0] == epoch and offset <= ends[1]:
            return None
        return ends
