"""Members of KIP-848 share their topics, by names or by an expression."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.messages.consumer_group import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from simulation.cluster.consumer_members import ConsumerMember
from tests.support.simulated_groups import SimulatedGroup


def member_of(group: SimulatedGroup, number: int = 0) -> ConsumerMember:
    member = group.member(number)
    assert isinstance(member, ConsumerMember)
    return member


def test_what_one_leaves_another_gets() -> None:
    group = SimulatedGroup("consumer", 2)
    group.settle()
    owner = member_of(group, 0 if group.member(0).owned else 1)
    other = next(one for one in group.group.members if one is not owner)
    epoch = owner.epoch
    owner.stop()
    assert group.world.run_until(lambda: not owner.busy, 1_000)
    owner.lose_identity()
    assert group.world.run_until(lambda: bool(other.owned), 60_000)
    assert member_of(group, group.group.members.index(other)).epoch > epoch
    assert not group.world.violations


def test_an_expression_means_topics_that_may_go_by_their_ids() -> None:
    group = SimulatedGroup("consumer", 1)
    world, member = group.world, member_of(group)
    member.names, member.regex, member.version = None, "[tx].*", 1
    world.operate(lambda: world.cluster.controller.create_topics([NewTopic("x0", 1)]))
    group.settle()
    x0 = world.cluster.metadata.topics["x0"].id
    assert set(member.owned) == {("t0", 0), (x0.hex(), 0)}


def test_an_epoch_that_goes_back_is_noticed() -> None:
    group = SimulatedGroup("consumer", 1)
    group.settle()
    group.world.run_until(lambda: not member_of(group).busy, 100)
    send = member_of(group)._request
    member = member_of(group)

    def pretend(epoch: int) -> object:
        request = send(epoch)
        member.epoch = 1_000
        return request

    member._request = pretend  # type: ignore[method-assign, assignment]
    group.world.run_until(lambda: bool(group.world.violations), 5_000)
    assert "went back from epoch 1000" in group.world.violations[0]


@pytest.mark.parametrize("told", [None, []])
def test_what_is_taken_before_it_was_given_up_is_noticed(told: list[Any] | None) -> None:
    group = SimulatedGroup("consumer", 1)
    group.settle()
    member = member_of(group)
    assert member.coordinator is not None
    asked = group.book.ask(member.coordinator)
    request = ConsumerGroupHeartbeatRequest("g", member.member_id, topic_partitions=told)
    for assignment in (None, Assignment([])):
        answer = ConsumerGroupHeartbeatResponse(
            member_id=member.member_id, member_epoch=member.epoch, assignment=assignment
        )
        assert not group.world.violations
        member._check_revocation(asked, [*member.owned], request, answer)
    assert len(group.world.violations) == (told is None)
    assert all("waits for [] alone" in one for one in group.world.violations)


def test_who_leaves_for_a_while_and_is_gone_is_noticed() -> None:
    group = SimulatedGroup("consumer", 1)
    group.settle()
    member = member_of(group)
    assert member.coordinator is not None
    asked, until_ms = group.book.ask(member.coordinator), group.world.now_ms + 500
    member._check_place(asked, member.member_id, until_ms)
    member._check_place(asked, "nobody", group.world.now_ms)
    assert not group.world.violations
    member._check_place(asked, "nobody", until_ms)
    assert "left for a while, and is none of its group" in group.world.violations[0]
