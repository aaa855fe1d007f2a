"""Random members join, sync, heartbeat, leave and vanish; the group's promises hold throughout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from tests.support.group_state import durable_group
from tests.support.groups import Answer, Groups

if TYPE_CHECKING:
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker_protocol.messages.group_membership import JoinGroupResponse, SyncGroupResponse

PROTOCOLS = st.lists(
    st.sampled_from([("range", b"1"), ("range", b"2"), ("sticky", b"1"), ("other", b"1")]),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one[0],
)
INSTANCES = st.sampled_from(["i", "j"])
SESSIONS = st.sampled_from([6_000, 30_000, 200_000])
REBALANCES = st.sampled_from([5_000, 60_000])
SETTLED = (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)


class Membership(RuleBasedStateMachine):
    """Members are known by the ids that the coordinator gave; old ones are used on."""

    ids: Bundle[str] = Bundle("ids")
    pending: Bundle[str] = Bundle("pending")

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups()
        self.generation_id = 0
        self.joins: list[Answer[JoinGroupResponse]] = []
        self.syncs: list[Answer[SyncGroupResponse]] = []

    @initialize(delay_ms=st.sampled_from([0, 3_000]), max_size=st.sampled_from([2, 5, 100]))
    def configure(self, delay_ms: int, max_size: int) -> None:
        self.groups = Groups(
            {"group.initial.rebalance.delay.ms": str(delay_ms), "group.max.size": str(max_size)}
        )

    @property
    def group(self) -> ClassicGroup | None:
        return self.groups.shard().groups.get("g")

    # -- what members do -------------------------------------------------------------------

    @rule(target=pending, session_ms=SESSIONS)
    def ask_for_an_id(self, session_ms: int) -> MultipleResults[str] | str:
        response = self.groups.join(session_ms=session_ms, protocols=[("range", b"1")]).value
        if response.error_code != ErrorCode.MEMBER_ID_REQUIRED:
            return multiple()
        return response.member_id

    @rule(
        target=ids,
        member_id=consumes(pending),
        protocols=PROTOCOLS,
        session_ms=SESSIONS,
        rebalance_ms=REBALANCES,
    )
    def come_in(
        self,
        member_id: str,
        protocols: list[tuple[str, bytes]],
        session_ms: int,
        rebalance_ms: int,
    ) -> str:
        self._join(member_id, None, protocols, session_ms, rebalance_ms)
        return member_id

    @rule(protocols=PROTOCOLS, session_ms=SESSIONS)
    def come_in_with_an_old_version(
        self, protocols: list[tuple[str, bytes]], session_ms: int
    ) -> None:
        self.joins.append(self.groups.join(protocols=protocols, session_ms=session_ms, version=3))

    @rule(instance=INSTANCES, protocols=PROTOCOLS, session_ms=SESSIONS, rebalance_ms=REBALANCES)
    def come_in_static(
        self,
        instance: str,
        protocols: list[tuple[str, bytes]],
        session_ms: int,
        rebalance_ms: int,
    ) -> None:
        self._join("", instance, protocols, session_ms, rebalance_ms)

    @rule(member_id=ids, protocols=PROTOCOLS, session_ms=SESSIONS, rebalance_ms=REBALANCES)
    def join_again(
        self,
        member_id: str,
        protocols: list[tuple[str, bytes]],
        session_ms: int,
        rebalance_ms: int,
    ) -> None:
        self._join(member_id, None, protocols, session_ms, rebalance_ms)

    def _join(
        self,
        member_id: str,
        instance: str | None,
        protocols: list[tuple[str, bytes]],
        session_ms: int,
        rebalance_ms: int,
    ) -> None:
        self.joins.append(
            self.groups.join(
                member_id,
                instance=instance,
                protocols=protocols,
                session_ms=session_ms,
                rebalance_ms=rebalance_ms,
            )
        )

    @precondition(lambda self: self.group is not None and self.group.members)
    @rule(data=st.data(), lag=st.sampled_from([0, 0, 0, 1]))
    def sync(self, data: st.DataObject, lag: int) -> None:
        group = self.group
        assert group is not None
        member_id = data.draw(st.sampled_from(list(group.members)))
        assignments = {one: one.encode() for one in group.members}
        self.syncs.append(self.groups.sync(member_id, group.generation_id - lag, assignments))

    @precondition(lambda self: self.group is not None and self.group.members)
    @rule(data=st.data())
    def heartbeat_and_commit(self, data: st.DataObject) -> None:
        group = self.group
        assert group is not None
        member_id = data.draw(st.sampled_from(list(group.members)))
        answer = self.groups.heartbeat(member_id, group.generation_id)
        preparing = group.state is GroupState.PREPARING_REBALANCE
        assert answer == (ErrorCode.REBALANCE_IN_PROGRESS if preparing else 0)
        self.groups.commit(7, member_id=member_id, generation_id=group.generation_id)

    @rule(member_id=ids)
    def leave(self, member_id: str) -> None:
        self.groups.leave((member_id, None))

    @rule(instance=INSTANCES)
    def remove_static(self, instance: str) -> None:
        self.groups.leave(("", instance))

    @rule(milliseconds=st.sampled_from([1, 999, 3_000, 6_000, 61_000, 300_000]))
    def wait(self, milliseconds: int) -> None:
        self.groups.advance(milliseconds)

    @rule(fails=st.booleans())
    def the_log_fails_or_heals(self, fails: bool) -> None:
        error = ErrorCode.NOT_ENOUGH_REPLICAS if fails else ErrorCode.NONE
        self.groups.fail_with = error

    @precondition(lambda self: self.group is not None and self.group.state in SETTLED)
    @rule()
    def a_rebalance_is_forced(self) -> None:
        self.groups.rebalance()

    # -- what holds ------------------------------------------------------------------------

    @invariant()
    def there_is_one_leader(self) -> None:
        if self.group is not None and self.group.members:
            assert self.group.leader_id in self.group.members

    @invariant()
    def the_generation_never_goes_back(self) -> None:
        group = self.group
        if group is None:
            self.generation_id = 0  # expired; another group of that name may follow
        else:
            assert group.generation_id >= self.generation_id
            self.generation_id = group.generation_id

    @invariant()
    def every_member_of_a_generation_speaks_its_protocol(self) -> None:
        group = self.group
        if group is not None and group.state in (
            GroupState.COMPLETING_REBALANCE,
            GroupState.STABLE,
        ):
            assert group.members
            for member in group.members.values():
                assert group.protocol_name in [name for name, _ in member.protocols]

    @invariant()
    def no_parked_answer_is_forgotten(self) -> None:
        members = [] if self.group is None else list(self.group.members.values())
        joins = {id(member.parked_join) for member in members}
        syncs = {id(member.parked_sync) for member in members}
        assert all(id(answer) in joins for answer in self.joins if answer.waits)
        assert all(id(answer) in syncs for answer in self.syncs if answer.waits)

    @invariant()
    def the_counts_are_right(self) -> None:
        group = self.group
        if group is None:
            return
        members = group.members.values()
        assert group.awaiting_joins == sum(one.parked_join is not None for one in members)
        counts: dict[str, int] = {}
        for member in members:
            for name, _ in member.protocols:
                counts[name] = counts.get(name, 0) + 1
        assert group.protocol_counts == counts
        assert set(group.pending_syncs) <= set(group.members)
        assert not set(group.pending_joins) & set(group.members)
        static = {one.group_instance_id: one.member_id for one in members if one.is_static}
        assert group.static_members == static

    @invariant()
    def something_is_scheduled_for_each_state_that_passes(self) -> None:
        group = self.group
        if group is None:
            return
        if group.state is GroupState.PREPARING_REBALANCE:
            assert group.join_task is not None
            assert group.join_task.pending
        elif group.state is GroupState.COMPLETING_REBALANCE:
            assert group.sync_task is not None
            assert group.sync_task.pending

    @invariant()
    def a_settled_group_is_what_its_log_says(self) -> None:
        group = self.group
        settled = (GroupState.STABLE, GroupState.EMPTY)
        if group is None or group.state not in settled or self.groups.fail_with:
            return
        rebuilt = self.groups.rebuilt()
        if group.state is GroupState.EMPTY and rebuilt.group().generation_id < group.generation_id:
            return  # it became empty while its log failed
        expected = durable_group(self.groups.shard(), group)
        assert durable_group(rebuilt.shard(), rebuilt.group()) == expected

    def teardown(self) -> None:
        """When all have gone silent, everyone is answered and the group empties."""
        self.groups.fail_with = ErrorCode.NONE
        self.groups.advance(1_000_000)
        assert not any(answer.waits for answer in self.joins)
        assert not any(answer.waits for answer in self.syncs)
        assert self.group is None or self.group.state is GroupState.EMPTY
        super().teardown()


TestMembership = Membership.TestCase
TestMembership.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
