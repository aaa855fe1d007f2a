"""Classic groups whose members share partitions, over the core's verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import tags
from mockbroker.coop.assignor import PROTOCOL_NAME
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Identity
from mockbroker.coop.user_data import write_assignment, write_subscription
from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolTopicPartition,
)
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.plan import encode
from tests.support.cluster_core import ClusterCore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.coop.assignor import Assignment
    from tests.support.core import Core, CoreClient

SUBSCRIPTION_VERSION = 1


def subscription(user_data: bytes | None, *topics: str) -> bytes:
    """A consumer's metadata with an assignor's own bytes."""
    message = ConsumerProtocolSubscription(topics=list(topics or ("t",)), user_data=user_data)
    return b"\x00\x01" + b"".join(encode(message, SUBSCRIPTION_VERSION))


def assignment(assigned: Assignment) -> bytes:
    """What the leader gives one member."""
    named = [ConsumerProtocolTopicPartition(topic, list(of)) for topic, of in assigned.items()]
    message = ConsumerProtocolAssignment(named, write_assignment(assigned))
    return b"\x00\x01" + b"".join(encode(message, 1))


class SharingGroup:
    """Members of one group, each with a connection; `flags` None is another assignor's member."""

    def __init__(
        self,
        core: Core,
        *flags: int | None,
        name: str = "g",
        nodes: Sequence[int] = (),
        session_timeout_ms: int = 10_000,
    ) -> None:
        """`nodes`: with which broker of several each member is connected."""
        self.core = core
        self.name = name
        self.generation = 0
        self.session_timeout_ms = session_timeout_ms
        self.flags = list(flags)
        if nodes:
            assert isinstance(core, ClusterCore)
            self.clients: list[CoreClient] = [core.client(node=node) for node in nodes]
        else:
            self.clients = [core.client() for _ in flags]
        self.members = [self.first(at) for at in range(len(flags))]
        self.caps: dict[int, bytes] = {}
        self.rejoin()

    def _join(self, at: int, member_id: str) -> JoinGroupRequest:
        flags = self.flags[at]
        user_data = None if flags is None else write_subscription(flags, {})
        request = JoinGroupRequest(
            group_id=self.name,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(PROTOCOL_NAME, subscription(user_data))],
        )
        tags.tag(request, {Tag.JOIN_CAPS: b"\x07"})
        return request

    def first(self, at: int) -> str:
        """What the coordinator calls a new member."""
        return self.clients[at].call(self._join(at, ""), 9, JoinGroupResponse).member_id

    def rejoin(self, *ats: int) -> None:
        """The next generation, of all members unless some are named; nobody has synced yet."""
        joining = ats or tuple(range(len(self.members)))
        for at in joining:
            self.clients[at].send(self._join(at, self.members[at]), 9)
        for wait_ms in (500, 60_000):  # until it is replicated; until the others are given up
            if not all(self.clients[at].answered for at in joining):
                self.core.advance(wait_ms)
        for at in joining:
            answer = self.clients[at].receive(JoinGroupResponse)
            assert answer.error_code == 0
            self.generation = answer.generation_id
            self.leader = self.members.index(answer.leader)
            self.caps = tags.tagged_fields(answer)

    def sync(self, *assigned: Assignment | None) -> None:
        """The leader gives these, in the order of the members."""
        given = [
            SyncGroupRequestAssignment(member, b"" if each is None else assignment(each))
            for member, each in zip(self.members, assigned, strict=False)
        ]
        for at in sorted(range(len(assigned)), key=lambda at: at == self.leader):
            request = SyncGroupRequest(
                group_id=self.name,
                generation_id=self.generation,
                member_id=self.members[at],
                protocol_type="consumer",
                protocol_name=PROTOCOL_NAME,
                assignments=given if at == self.leader else [],
            )
            self.clients[at].send(request, 5)
        if not all(self.clients[at].answered for at in range(len(assigned))):
            self.core.advance(500)
        for at in range(len(assigned)):
            assert self.clients[at].receive(SyncGroupResponse).error_code == 0

    def identity(self, at: int, generation: int | None = None) -> dict[int, bytes]:
        """The tagged field with which a member names itself."""
        said = Identity(
            self.name,
            self.members[at],
            self.generation if generation is None else generation,
            None,
        )
        return {Tag.GROUP_IDENTITY: tags.write_identity(said)}
