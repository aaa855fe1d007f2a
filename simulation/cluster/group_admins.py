"""Admins of the cluster simulation's groups: they look, and take away what they can.

DescribeGroups, ConsumerGroupDescribe and ListGroups must answer; DeleteGroups, OffsetDelete and the
removal of a static member by its instance id may be refused for a reason. What becomes of offsets
is seen in `__consumer_offsets`, like everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from mockbroker_protocol.messages.group_membership import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from simulation.cluster.group_members import GroupMember, Identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.cluster.group_members import Setting

PAUSE_MS = 300.0


class GroupAdmin(GroupMember):
    """Has nothing and never joins; once calm it only looks."""

    may_be_static = False
    expected = frozenset(
        (
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.NON_EMPTY_GROUP,
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_MEMBER_ID,
        )
    )

    def __init__(self, setting: Setting, name: str, rng: Random, instances: list[str]) -> None:
        super().__init__(setting, name, rng)
        self._instances = instances
        self._looks = 0

    @property
    def is_in(self) -> bool:
        return True

    def calm_down(self) -> None:
        super().calm_down()
        self._looks = 0

    @property
    def settled(self) -> bool:
        return self._looks >= 3

    def identity(self) -> Identity:
        return Identity("", None, -1)

    def leave(self, node: int) -> None:
        self._remove_member(node)

    def act(self, node: int) -> None:
        looks: tuple[Callable[[int], None], ...] = (self._describe, self._describe_new, self._list)
        acts = (self._delete_group, self._delete_offsets, self._remove_member)
        self.rng.choice(looks if self.calm else (*looks, *acts))(node)

    def _done(self, what: str, error: int) -> None:
        if error:
            self.refused(what, error)
            return
        self.note(what)
        self._looks += 1
        self.later(self.rng.random() * PAUSE_MS)

    # -- looking ---------------------------------------------------------------------------

    def _describe(self, node: int) -> None:
        def answered(answer: DescribeGroupsResponse | None) -> None:
            self._done("describes", -1 if answer is None else _seen(answer.groups[0].error_code))

        request = DescribeGroupsRequest([self.book.name])
        self.ask(node, request, self.rng.randrange(7), DescribeGroupsResponse, answered)

    def _describe_new(self, node: int) -> None:
        def answered(answer: ConsumerGroupDescribeResponse | None) -> None:
            self._done("describes", -1 if answer is None else _seen(answer.groups[0].error_code))

        request = ConsumerGroupDescribeRequest([self.book.name])
        self.ask(node, request, self.rng.randrange(2), ConsumerGroupDescribeResponse, answered)

    def _list(self, node: int) -> None:
        def answered(answer: ListGroupsResponse | None) -> None:
            self._done("lists", -1 if answer is None else answer.error_code)

        self.ask(node, ListGroupsRequest(), self.rng.randrange(6), ListGroupsResponse, answered)

    # -- taking away -----------------------------------------------------------------------

    def _delete_group(self, node: int) -> None:
        def answered(answer: DeleteGroupsResponse | None) -> None:
            self._done("deletes", -1 if answer is None else answer.results[0].error_code)

        request = DeleteGroupsRequest([self.book.name])
        self.ask(node, request, self.rng.randrange(4), DeleteGroupsResponse, answered)

    def _delete_offsets(self, node: int) -> None:
        topic, index = self.rng.choice(self.parts)

        def answered(answer: OffsetDeleteResponse | None) -> None:
            error = -1 if answer is None else answer.error_code
            if answer is not None and not error:
                error = answer.topics[0].partitions[0].error_code
            self._done(f"deletes {topic}-{index}", error)

        partition = OffsetDeleteRequestPartition(index)
        request = OffsetDeleteRequest(
            self.book.name, [OffsetDeleteRequestTopic(topic, [partition])]
        )
        self.ask(node, request, 0, OffsetDeleteResponse, answered)

    def _remove_member(self, node: int) -> None:
        if not self._instances:
            self.later()
            return
        instance_id = self.rng.choice(self._instances)
        self.book.removes(instance_id)

        def answered(answer: LeaveGroupResponse | None) -> None:
            error = -1 if answer is None else answer.error_code
            if answer is not None and not error:
                error = answer.members[0].error_code
            self._done(f"removes {instance_id}", error)

        request = LeaveGroupRequest(
            group_id=self.book.name, members=[MemberIdentity("", instance_id)]
        )
        self.ask(node, request, self.rng.randrange(3, 6), LeaveGroupResponse, answered)


def _seen(error: int) -> int:
    """A group that is not there, or of the other protocol, was looked at too."""
    return 0 if error == ErrorCode.GROUP_ID_NOT_FOUND else error
