"""One member of a classic group (Kafka: ClassicGroupMember).

Its identity, time-outs, protocols and assignment are durable: they are in the group's record. The
session's deadline, and the answers that wait for a rebalance, are volatile and stand beside.

Invariant: at most one join and one sync of a member wait at a time; `ClassicGroup` parks and
takes them, because it counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from typing import TypeAlias

    from mockbroker.clock import TimerTask
    from mockbroker_protocol.messages.group_membership import JoinGroupResponse, SyncGroupResponse

    JoinCallback: TypeAlias = Callable[[JoinGroupResponse], None]
    SyncCallback: TypeAlias = Callable[[SyncGroupResponse], None]
    Protocols: TypeAlias = list[tuple[str, bytes]]


@dataclass(slots=True, eq=False)
class ClientIdentity:
    """Who asks: what the group keeps of a request's context. `host` as Kafka prints it.

    `describes` says which topics it may describe, while its request is handled; None: all.
    """

    api_version: int
    client_id: str
    host: str
    describes: Callable[[str], bool] | None = None


@dataclass(slots=True, eq=False)
class ClassicMember:
    """A member; `protocols` are (name, metadata) in the order of its preference."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    join_reason: str | None = None
    # A member that never was in a generation; its session is not kept by a parked join.
    is_new: bool = False
    parked_join: JoinCallback | None = None
    parked_sync: SyncCallback | None = None
    session_deadline_ms: float = 0.0
    session_task: TimerTask | None = None

    @property
    def is_static(self) -> bool:
        """Whether it has a `group.instance.id` (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the coordinator owes it an answer, so that it cannot heartbeat meanwhile.

        A new member's parked join does not count: it may have gone before it knew its id
        (ClassicGroupMember.hasSatisfiedHeartbeat).
        """
        if self.is_new:
            return False
        return self.parked_join is not None or self.parked_sync is not None

    def metadata(self, protocol_name: str) -> bytes:
        """Its metadata for a protocol that it supports."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        raise AssertionError(f"{self.member_id} does not support {protocol_name}")

    def vote(self, candidates: Container[str]) -> str:
        """The candidate that it prefers."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise AssertionError(f"{self.member_id} supports no candidate")

    def replaced_by(self, member_id: str) -> ClassicMember:
        """The same static member under a new id, with nothing parked (KIP-345)."""
        return ClassicMember(
            member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.protocols,
            self.assignment,
        )

    def cancel_session(self) -> None:
        """Its session no longer expires."""
        if self.session_task is not None:
            self.session_task.cancel()
            self.session_task = None
