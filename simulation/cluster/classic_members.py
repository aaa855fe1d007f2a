"""Members that come by JoinGroup: eager and cooperative ones, static and dynamic, v0 to v9.

The leader assigns by `classic_assignor`. An eager member gives up all before it joins; a
cooperative one keeps what it has, and joins once more when it had to give something up.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from mockbroker_protocol.versions import (
    JOIN_GROUP_KNOWN_MEMBER_ID,
    LEAVE_GROUP_MEMBERS,
    SYNC_GROUP_PROTOCOL,
)
from simulation.cluster.classic_assignor import (
    COOPERATIVE,
    EAGER,
    assign,
    assignment_bytes,
    read_assignment,
    subscription_bytes,
)
from simulation.cluster.group_members import INSTANCE, GroupMember, Identity

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.group_book import Asked
    from simulation.cluster.group_members import Setting

CONSUMER = "consumer"
OWN = "sticky"
"""What some know beside what all do, and would rather have."""
DAWDLE_MS = (30.0, 200.0)
ENFORCES, LEADER_ENFORCES = 0.1, 0.4
FIRST_STATIC_JOIN = 5
HEARTBEAT_VERSIONS = range(3, 5)
SYNC_VERSIONS = range(3, 6)
LEAVE_VERSIONS = range(6)
NO_GENERATION = -1
ANOTHER = 1 << 20
"""A generation that there never is."""
UUID_BEHIND = -37
"""Where a member id ends that has a hyphen and a UUID behind it."""
THROWN_OUT = frozenset(
    (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    )
)


class ClassicMember(GroupMember):
    """Joins, syncs, beats."""

    expected = THROWN_OUT | {
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    }

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        super().__init__(setting, name, rng)
        eager = rng.choice(([EAGER], [EAGER, COOPERATIVE]))
        self.protocols = [COOPERATIVE] if self.group.cooperative else eager
        self.version = rng.randrange(FIRST_STATIC_JOIN if self.instance_id else 0, 10)
        self._dawdles = setting.plan.on["dawdlers"] and rng.random() < 0.7
        """Whether it takes its time to assign, as a leader."""
        if self._dawdles and self.group.protocol == "eager" and rng.random() < 0.6:
            self.protocols = [OWN, *self.protocols]
        if setting.plan.on["dawdlers"]:
            self.expected |= {ErrorCode.INCONSISTENT_GROUP_PROTOCOL}
        self.member_id = ""
        self.generation = NO_GENERATION
        self.protocol = self.protocols[0]
        self._offered = self.protocols
        """Those that it last joined with: it may have given up one since."""
        self._members: list[JoinGroupResponseMember] | None = None
        """Whom to assign to, as the leader; None: it follows."""
        self._joined = self._synced = False
        self._is_back = False
        """Whether the group knows it from before, by its instance id."""
        self._hasty = setting.hasty
        self._request = JoinGroupRequest()
        self._subscription = b""
        """What it last joined with."""
        self._stable_in = NO_GENERATION
        """The generation in which it was given its part, so that the group was stable in it."""
        self._led = False
        """Whether it was the leader of that."""

    @property
    def is_in(self) -> bool:
        return self._synced

    def identity(self) -> Identity:
        return Identity(self.member_id, self.instance_id, self.generation)

    def lose_identity(self) -> None:
        super().lose_identity()
        self.member_id, self.generation = "", NO_GENERATION
        self._joined = self._synced = False
        self._stable_in = NO_GENERATION
        self._is_back = self.instance_id is not None

    def calm_down(self) -> None:
        """It does without its own protocol: a coordinator knows of members that it has loaded the
        protocol in force alone, and lets nobody in who lacks that (ClassicGroup.supportsProtocols).
        """
        super().calm_down()
        self.protocols = [name for name in self.protocols if name != OWN]

    def act(self, node: int) -> None:
        if self.protocol not in self.protocols:
            self.lose_identity()
            self.protocol = self.protocols[0]
        if not self._joined:
            self._join(node)
        elif not self._synced:
            self._sync(node)
        elif self._enforces():
            self._joined = self._synced = False
            self._join(node, as_before=self._says_the_same())
        elif self.rng.random() < 0.5 or not self.work(node):
            self._beat(node)

    def failed(self, what: str, error: int) -> None:
        if error == ErrorCode.ILLEGAL_GENERATION:
            # Its member id may still be valid (AbstractCoordinator.resetStateOnResponseError): a
            # leader that is known joins to rebalance, a static one that is not to stay as it was.
            member_id = self.member_id
            self.lose_identity()
            self.member_id = member_id
        elif error in THROWN_OUT:
            self.lose_identity()
        elif error == ErrorCode.REBALANCE_IN_PROGRESS:
            self._joined = self._synced = False
        super().failed(what, error)

    # -- joining ---------------------------------------------------------------------------

    def _enforces(self) -> bool:
        """Whether it joins once more of its own accord (KIP-568)."""
        if self.restarts is None or self.calm or not self.group.is_classic:
            return False
        return self.restarts.random() < (LEADER_ENFORCES if self._led else ENFORCES)

    def _says_the_same(self) -> bool:
        """Whether it brings the subscription of before; a cooperative one says what it has now."""
        assert self.restarts is not None
        return not self.group.cooperative and self.restarts.random() < 0.7

    def _join(self, node: int, *, as_before: bool = False) -> None:
        if not self.group.cooperative:
            self.give_up(list(self.owned))
        subscription = self._subscription
        if not as_before:
            subscription = subscription_bytes(self.topics, self.owned, self.generation)
        request = JoinGroupRequest(
            group_id=self.book.name,
            session_timeout_ms=self.group.session_timeout_ms,
            rebalance_timeout_ms=self.group.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=CONSUMER,
            protocols=[JoinGroupRequestProtocol(name, subscription) for name in self.protocols],
        )
        self._request = request
        self._offered = self.protocols
        moves_on = self._must_move_on(subscription)
        self._subscription = subscription
        self.note(f"joins at {node} as {self.member_id[-6:]}")
        asked = self.book.ask(node)
        self.book.joins(asked.time, self.member_id)

        def answered(answer: JoinGroupResponse | None) -> None:
            error = -1 if answer is None else answer.error_code
            if answer is None or error:
                if answer is not None and error == ErrorCode.MEMBER_ID_REQUIRED:
                    if self.version < JOIN_GROUP_KNOWN_MEMBER_ID or not answer.member_id:
                        self.world.violate(f"{self.name}: v{self.version} is told 79 and no id")
                    self.member_id = answer.member_id
                self.failed("join", error)
                return
            stays = answer.generation_id == self.generation and self.book.is_current(asked)
            if moves_on and stays and not self._may_have_lost:
                self.world.violate(
                    f"{self.name}: joins {self.generation} once more, {moves_on}, and nobody "
                    "rebalances"
                )
            self._is_let_in(asked, answer)

        self.ask(node, request, self.version, JoinGroupResponse, answered)
        if self._hasty is not None and not self.calm:
            self._hasty.joins(node, request, self.version)

    def _must_move_on(self, subscription: bytes) -> str:
        """Why its group goes on to another generation as it joins; empty: it need not."""
        if not self.group.is_classic or not self.member_id or self._stable_in != self.generation:
            return ""
        if subscription != self._subscription:
            return "with another subscription"
        return "as the leader" if self._led else ""

    @property
    def _may_have_lost(self) -> bool:
        """Whether an election may have taken generations back."""
        return self.truth.may_have_lost(GROUP_METADATA_TOPIC, self.book.index)

    def _is_let_in(self, asked: Asked, answer: JoinGroupResponse) -> None:
        if not answer.member_id:
            self.world.violate(f"{self.name}: is let in, and is told no id of its own")
        if self.group.is_classic:
            members = {one.member_id: _instance_of(one) for one in answer.members}
            self.book.joined(asked, answer.member_id, answer.generation_id, members)
        named = self.member_id or self.instance_id or self.version < JOIN_GROUP_KNOWN_MEMBER_ID
        if not named:
            self.world.violate(f"{self.name}: v{self.version} is let in without an id (KIP-394)")
        if answer.protocol_name and answer.protocol_name not in self._offered:
            self.world.violate(f"{self.name}: {answer.protocol_name} is none of {self._offered}")
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.protocol = answer.protocol_name or self.protocols[0]
        leads = answer.leader == self.member_id and not answer.skip_assignment
        self._members = answer.members if leads else None
        self._joined, self._synced = True, False
        self.note(f"joined {self.generation}{', leads' if leads else ''}")
        slow = leads and self._dawdles and not self.calm and self.rng.random() < 0.6
        self.later(self.rng.choice(DAWDLE_MS) if slow else 1.0)

    def _sync(self, node: int) -> None:
        version = self.rng.choice(SYNC_VERSIONS)
        request = SyncGroupRequest(
            group_id=self.book.name,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        if version >= SYNC_GROUP_PROTOCOL:
            request.protocol_type, request.protocol_name = CONSUMER, self.protocol
        if self._members:
            dealt = assign(self.protocol, self._members, self.parts)
            self.book.deals(self.generation, dealt.values())
            request.assignments = [
                SyncGroupRequestAssignment(member_id, assignment_bytes(parts))
                for member_id, parts in dealt.items()
                if parts or member_id == self.member_id  # who is not named has nothing
            ]
        asked, leads = self.book.ask(node), self._members is not None

        def answered(answer: SyncGroupResponse | None) -> None:
            if answer is None or answer.error_code:
                self.failed("sync", -1 if answer is None else answer.error_code)
                return
            parts = read_assignment(answer.assignment)
            self.note(f"is given {parts} in {self.generation} by {node}")
            self._stable_in, self._led = self.generation, leads
            if self.group.is_classic:
                self.book.given(self.generation, self.name, parts)
                self.book.assigned(asked, self.generation, self.name, parts)
            # A cooperative member that gives something up joins again, so that others get it. So
            # does a static one that is back: the group did not rebalance, and what it was to give
            # up when it fell is nobody's (Consumer.enforceRebalance, KIP-568).
            enforces = self._is_back and self.protocol == COOPERATIVE
            self._joined = self._synced = not enforces and set(parts).issuperset(self.owned)
            self._is_back = False
            self.assign(asked, parts, anew=self.group.is_classic)
            self.later(1.0)

        self.ask(node, request, version, SyncGroupResponse, answered)
        if self._hasty is not None and not self.calm and self.group.is_classic:
            joined, other = copy(self._request), subscription_bytes(self.topics, [], ANOTHER)
            joined.member_id = self.member_id
            self._hasty.syncs(node, joined, other, self.version)

    # -- staying and going -----------------------------------------------------------------

    def _beat(self, node: int) -> None:
        version = self.rng.choice(HEARTBEAT_VERSIONS)
        request = HeartbeatRequest(
            self.book.name, self.generation, self.member_id, self.instance_id
        )
        asked, owned, generation = self.book.ask(node), list(self.owned), self.generation
        member_id, until_ms = self.member_id, self.world.now_ms + self.group.session_timeout_ms

        def answered(answer: HeartbeatResponse | None) -> None:
            if answer is None or answer.error_code:
                self.failed("heartbeat", -1 if answer is None else answer.error_code)
                return
            self.book.lasts(asked, member_id, until_ms)
            if self.instance_id is not None and self.group.is_classic:
                self.book.stays(asked, self.instance_id, generation, until_ms)
            self.book.confirmed(asked, self.name, owned)
            self.pause()

        self.ask(node, request, version, HeartbeatResponse, answered)

    def leave(self, node: int) -> None:
        version = self.rng.choice(LEAVE_VERSIONS)
        if self.instance_id is not None and self.rng.random() < 0.7:
            self.note("goes and says nothing")
            self.lose_identity()
            self.later(self.rng.choice((20.0, 400.0)))
            return
        request = LeaveGroupRequest(group_id=self.book.name)
        if self.instance_id is not None:
            self.book.removes(self.instance_id)
        if version >= LEAVE_GROUP_MEMBERS:
            request.members = [MemberIdentity(self.member_id, self.instance_id)]
        else:
            request.member_id = self.member_id

        def answered(answer: LeaveGroupResponse | None) -> None:
            self.note(f"left: {-1 if answer is None else answer.error_code}")
            self.lose_identity()
            self.later(self.rng.choice((20.0, 400.0)))

        self.ask(node, request, version, LeaveGroupResponse, answered)


def _instance_of(member: JoinGroupResponseMember) -> str | None:
    """Below v5 a leader is not told of instances; the ids of their members begin with them."""
    is_static = member.member_id.startswith(INSTANCE)
    return member.group_instance_id or (member.member_id[:UUID_BEHIND] if is_static else None)
