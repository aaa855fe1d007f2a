"""Members of a classic group that know nothing of sharing, over the core's verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.consumer.classic_bytes import assignment_bytes
from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.plan import encode
from tests.support.keyed_log import keyed

if TYPE_CHECKING:
    from tests.support.core import Core, CoreClient

FETCH_VERSION = 11
COMMIT_VERSION = 5
"""Neither has tagged fields."""


class PlainGroup:
    """Group g of topic t, whose leader gives t-0 to its first member and nothing to the others."""

    def __init__(self, core: Core, *client_ids: str, assignor: str = "range") -> None:
        self.core = core
        self.assignor = assignor
        self.clients: list[CoreClient] = [core.client(one) for one in client_ids]
        self.members = [self._send_join(at, "") for at in range(len(client_ids))]
        self.generation = 0
        self.rejoin()

    def _join(self, member_id: str) -> JoinGroupRequest:
        subscription = b"\0\1" + b"".join(encode(ConsumerProtocolSubscription(topics=["t"]), 1))
        return JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(self.assignor, subscription)],
        )

    def _send_join(self, at: int, member_id: str) -> str:
        return self.clients[at].call(self._join(member_id), 5, JoinGroupResponse).member_id

    def rejoin(self) -> None:
        """The next generation of all members, and what they are given."""
        for client, member in zip(self.clients, self.members, strict=True):
            client.send(self._join(member), 5)
        if not all(client.answered for client in self.clients):
            self.core.advance(60_000)
        answers = [client.receive(JoinGroupResponse) for client in self.clients]
        assert [one.error_code for one in answers] == [0] * len(answers)
        leader = self.members.index(answers[0].leader)
        self.generation = answers[0].generation_id
        given = [
            SyncGroupRequestAssignment(member, assignment_bytes([("t", [0])] if not at else [], 1))
            for at, member in enumerate(self.members)
        ]
        for at in sorted(range(len(self.members)), key=lambda at: at == leader):
            request = SyncGroupRequest(
                "g", self.generation, self.members[at], assignments=given if at == leader else []
            )
            self.clients[at].send(request, 3)
        synced = [client.receive(SyncGroupResponse) for client in self.clients]
        assert [one.error_code for one in synced] == [0] * len(synced)
        self.assigned = [bytes(one.assignment) for one in synced]

    def fetch(
        self, at: int, offset: int, *, version: int = FETCH_VERSION
    ) -> FetchResponsePartition:
        """What a member is given of t-0 from an offset on."""
        return plain_fetch(self.clients[at], offset, version=version)

    def commit(
        self, at: int, offset: int, metadata: str | None = None
    ) -> OffsetCommitResponsePartition:
        """A member's plain commit of t-0."""
        part = OffsetCommitRequestPartition(0, offset, -1, metadata)
        request = OffsetCommitRequest(
            "g",
            self.generation,
            self.members[at],
            topics=[OffsetCommitRequestTopic("t", partitions=[part])],
        )
        answer = self.clients[at].call(request, COMMIT_VERSION, OffsetCommitResponse)
        return answer.topics[0].partitions[0]


def plain_fetch(
    client: CoreClient, offset: int, *, version: int = FETCH_VERSION
) -> FetchResponsePartition:
    """A fetch of t-0 without a word of the extension."""
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        session_epoch=-1,
        topics=[
            FetchRequestTopic(
                "t",
                partitions=[
                    FetchRequestPartition(0, fetch_offset=offset, partition_max_bytes=9999)
                ],
            )
        ],
    )
    (topic,) = client.call(request, version, FetchResponse).responses
    (part,) = topic.partitions
    return part


def put(client: CoreClient, *keys: str | None) -> None:
    """Append one batch with these keys to t-0."""
    part = ProduceRequestPartition(index=0, records=keyed(0, *keys))
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequestTopic("t", partition_data=[part])]
    )
    (topic,) = client.call(request, 9, ProduceResponse).responses
    assert topic.partition_responses[0].error_code == 0
