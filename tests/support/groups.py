"""A group coordinator on virtual time, its log kept in a list, and members that talk to it.

`Groups` makes the coordinator with real metadata and config, but without sockets, connections or
replicas: tests of `mockbroker.coordinator` see decisions, answers and records directly.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Generic, TypeVar

from mockbroker.clock import Clock, Timer
from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.group.members import ClientIdentity
from mockbroker.coordinator.group.service import GroupCoordinatorService
from mockbroker.coordinator.records import decode_record
from mockbroker.metadata.brokers import BrokerInfo, Endpoint
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.metadata.controller import Controller
from mockbroker.metadata.store import MetadataStore
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from mockbroker_protocol.plan import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.offsets import FetchedOffset
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.replica.append_entry import TransactionMarker

EPOCH_MS = 1_700_000_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000
LATEST_JOIN = 9

T = TypeVar("T")


class Answer(Generic[T]):
    """What came through one `on_complete`; a second answer is an error."""

    def __init__(self) -> None:
        self.response: T | None = None

    def __call__(self, response: T) -> None:
        assert self.response is None, "answered twice"
        self.response = response

    @property
    def waits(self) -> bool:
        return self.response is None

    @property
    def value(self) -> T:
        assert self.response is not None, "not answered yet"
        return self.response


def subscription(*topics: str) -> bytes:
    """A consumer's metadata for these topics, as clients send it."""
    body = encode(ConsumerProtocolSubscription(topics=list(topics)), 0)
    return b"\x00\x00" + b"".join(body)


class Groups:
    """The coordinator, its clock and its log. `fail_with` makes the next appends fail."""

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        topics: Sequence[tuple[str, int]] = (("t", 2),),
        seed: int = 0,
    ) -> None:
        self.clock = Clock(EPOCH_MS)
        self.timer = Timer()
        self.config = BrokerConfig(dict(config or {}))
        self.metadata = MetadataStore("cluster", self.config)
        self.metadata.apply(BrokerChanged(BrokerInfo(1, {"PLAINTEXT": Endpoint("localhost", 9)})))
        self.controller = Controller(self.metadata, self.config, Random(seed))
        self.controller.create_topics([NewTopic(name, count) for name, count in topics])
        self.log: dict[int, list[tuple[bytes, bytes | None]]] = {}
        self.fail_with = ErrorCode.NONE
        self.service = self.make_service(Random(seed))

    def make_service(self, rng: Random) -> GroupCoordinatorService:
        """Another coordinator on the same clock, log and metadata."""
        return GroupCoordinatorService(
            self.clock,
            self.timer,
            self.config,
            self.metadata,
            self.controller,
            self,
            rng,
        )

    def append(
        self,
        partition_index: int,
        records: list[tuple[bytes, bytes | None]],
        _producer_id: int = -1,
        _producer_epoch: int = -1,
    ) -> tuple[ErrorCode, int]:
        """The log is a list; see `log_port.GroupLog`."""
        if self.fail_with is not ErrorCode.NONE:
            return self.fail_with, -1
        log = self.log.setdefault(partition_index, [])
        base_offset = len(log)
        log.extend(records)
        return ErrorCode.NONE, base_offset

    def append_marker(
        self, _partition_index: int, _marker: TransactionMarker
    ) -> tuple[ErrorCode, int]:
        return self.fail_with, -1

    def advance(self, milliseconds: float) -> None:
        """Let time pass, stopping at each deadline on the way."""
        end_ms = self.clock.now_ms + milliseconds
        while True:
            deadline = self.timer.next_deadline()
            if deadline is None or deadline > end_ms:
                break
            self.clock.now_ms = max(self.clock.now_ms, deadline)
            self.timer.advance(self.clock.now_ms)
        self.clock.now_ms = end_ms
        self.timer.advance(end_ms)

    # -- what there is ---------------------------------------------------------------------

    def shard(self, group_id: str = "g") -> GroupShard:
        shard = self.service.runtime.shard_for(group_id)
        assert shard is not None
        return shard

    def group(self, group_id: str = "g") -> ClassicGroup:
        return self.shard(group_id).groups[group_id]

    def rebalance(self, group_id: str = "g") -> None:
        """Let the members of a classic group join again."""
        self.service.rebalancer.prepare(self.shard(group_id), self.group(group_id))

    def records(self, group_id: str = "g") -> list[CoordinatorRecord]:
        """The records of the group's partition."""
        log = self.log.get(self.service.runtime.partition_for(group_id), [])
        decoded = [decode_record(key, value) for key, value in log]
        return [record for record in decoded if record is not None]

    def reload(self) -> GroupCoordinatorService:
        """A coordinator that knows nothing but the log."""
        service = self.make_service(Random(99))
        for index, log in self.log.items():
            service.runtime.load(
                index, [(offset, -1, key, value) for offset, (key, value) in enumerate(log)]
            )
        return service

    def rebuilt(self) -> Groups:
        """The same log on another clock at the same time; nothing here is touched."""
        other = Groups()
        other.clock.now_ms = self.clock.now_ms
        other.log = {index: list(log) for index, log in self.log.items()}
        other.service = other.reload()
        return other

    # -- requests --------------------------------------------------------------------------

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = "g",
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = (("range", b"r"),),
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int = LATEST_JOIN,
        client_id: str = "c",
        reason: str | None = None,
    ) -> Answer[JoinGroupResponse]:
        answer: Answer[JoinGroupResponse] = Answer()
        self.service.join(
            JoinGroupRequest(
                group_id=group_id,
                session_timeout_ms=session_ms,
                rebalance_timeout_ms=rebalance_ms,
                member_id=member_id,
                group_instance_id=instance,
                protocol_type=protocol_type,
                protocols=[JoinGroupRequestProtocol(name, data) for name, data in protocols],
                reason=reason,
            ),
            ClientIdentity(version, client_id, "/127.0.0.1"),
            answer,
        )
        return answer

    def new_id(self, **options: object) -> str:
        """An id for a dynamic member, pending until it joins with it."""
        join: Callable[..., Answer[JoinGroupResponse]] = self.join
        response = join(**options).value
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return response.member_id

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        group_id: str = "g",
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Answer[SyncGroupResponse]:
        answer: Answer[SyncGroupResponse] = Answer()
        self.service.sync(
            SyncGroupRequest(
                group_id=group_id,
                generation_id=generation_id,
                member_id=member_id,
                group_instance_id=instance,
                protocol_type=protocol_type,
                protocol_name=protocol_name,
                assignments=[
                    SyncGroupRequestAssignment(member, data)
                    for member, data in (assignments or {}).items()
                ],
            ),
            answer,
        )
        return answer

    def heartbeat(
        self,
        member_id: str,
        generation_id: int,
        *,
        group_id: str = "g",
        instance: str | None = None,
    ) -> int:
        request = HeartbeatRequest(group_id, generation_id, member_id, instance)
        return self.service.heartbeat(request).error_code

    def leave(self, *identities: tuple[str, str | None], group_id: str = "g") -> list[int]:
        """LeaveGroup v3+ of (member id, instance id) pairs; the error of each."""
        answer: Answer[LeaveGroupResponse] = Answer()
        members = [MemberIdentity(member_id, instance) for member_id, instance in identities]
        self.service.leave(LeaveGroupRequest(group_id=group_id, members=members), 5, answer)
        return [member.error_code for member in answer.value.members]

    def commit(
        self,
        offset: int,
        *,
        member_id: str = "",
        generation_id: int = -1,
        group_id: str = "g",
        instance: str | None = None,
        topic: str = "t",
        partition: int = 0,
        metadata: str | None = "",
        retention_ms: int = -1,
        version: int = 9,
        topic_id: bytes = bytes(16),
    ) -> int:
        """Commit one position; its error."""
        answer: Answer[OffsetCommitResponse] = Answer()
        self.service.offsets.commit(
            OffsetCommitRequest(
                group_id=group_id,
                generation_id_or_member_epoch=generation_id,
                member_id=member_id,
                group_instance_id=instance,
                retention_time_ms=retention_ms,
                topics=[
                    OffsetCommitRequestTopic(
                        topic,
                        topic_id,
                        [OffsetCommitRequestPartition(partition, offset, 7, metadata)],
                    )
                ],
            ),
            version,
            answer,
        )
        return answer.value.topics[0].partitions[0].error_code

    def fetched(
        self, group_id: str = "g", *, require_stable: bool = False
    ) -> dict[tuple[str, int], FetchedOffset]:
        """All stored positions of a group."""
        error, topics = self.service.offsets.fetch(group_id, None, require_stable=require_stable)
        assert error is ErrorCode.NONE
        return {
            (topic.name, one.partition_index): one for topic, fetched in topics for one in fetched
        }

    def stable(
        self,
        count: int,
        *,
        group_id: str = "g",
        protocols: Sequence[tuple[str, bytes]] = (("range", b"r"),),
        session_ms: int = SESSION_MS,
    ) -> list[str]:
        """A stable group of `count` dynamic members; the leader comes first."""
        ids = [self.new_id(group_id=group_id, session_ms=session_ms) for _ in range(count)]
        answers = [
            self.join(one, group_id=group_id, protocols=protocols, session_ms=session_ms)
            for one in ids
        ]
        generation_id = answers[0].value.generation_id
        leader = answers[0].value.leader
        ids.sort(key=lambda one: one != leader)
        data = {one: f"for {index}".encode() for index, one in enumerate(ids)}
        self.sync(leader, generation_id, data, group_id=group_id)
        for one in ids[1:]:
            assert self.sync(one, generation_id, group_id=group_id).value.error_code == 0
        assert self.group(group_id).state.value == "Stable"
        return ids
