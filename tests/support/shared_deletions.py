"""What is taken away while a group shares its partition: the group's offsets, and records."""

from __future__ import annotations

from mockbroker.coop.commit_tags import commit_fields
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from tests.support.shared_world import PASSING, TRIES, World


class DeletingWorld(World):
    """See the module."""

    def delete_offsets(self) -> None:
        """All leave, the group's offsets are deleted, and who comes back agrees on a beginning."""
        count = self.leave_all()
        part = OffsetDeleteRequestPartition(0)
        client = self.core.client(node=self._coordinator)
        client.send(OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("t", [part])]), 0)
        self.core.advance(50)
        answer = client.receive(OffsetDeleteResponse)
        assert answer.error_code == ErrorCode.NONE
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        self.model.sets(0, keeps=False)
        self.come_back(count)
        begun = self._send_commit(0, commit_fields([], 0, read_committed=True))
        assert begun[:3] == (ErrorCode.NONE, None, self.model.stable)

    def delete_records(self, offset: int) -> None:
        """Nobody is given what lay before it; who stood there goes on behind."""
        self.revive()
        offset = min(offset, self.model.end)
        assert self._deleted_before(offset) in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
        self.model.delete_before(offset)
        for member in self.members:
            if 0 <= member.position < offset:
                member.position = offset

    def _deleted_before(self, offset: int) -> int:
        part = DeleteRecordsPartition(0, offset)
        for _ in range(TRIES):
            client = self.core.client(node=self._leader)
            client.send(DeleteRecordsRequest([DeleteRecordsTopic("t", [part])], 5_000), 2)
            self.core.advance(6_000)
            (one,) = client.receive(DeleteRecordsResponse).topics[0].partitions
            if one.error_code not in PASSING:
                return one.error_code
        raise AssertionError("nobody deletes the records")
