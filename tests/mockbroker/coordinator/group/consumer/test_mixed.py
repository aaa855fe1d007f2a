"""Classic members of a consumer group."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.consumer.classic_bytes import parse_assignment
from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import Consumer, ConsumerWorld, classic_subscription
from tests.support.mixed_groups import ClassicConsumer, settle_mixed

READS_T = [("range", classic_subscription("t"))]


def mixed(**options: str) -> tuple[ConsumerWorld, Consumer, ClassicConsumer]:
    world = ConsumerWorld(
        {name.replace("_", "."): text for name, text in options.items()}, (("t", 4),)
    )
    new = world.consumer("m1")
    classic = ClassicConsumer(world)
    settle_mixed([new], [classic])
    return world, new, classic


def test_a_classic_member_comes_into_a_consumer_group() -> None:
    world, _, classic = mixed()
    assert len(world.assigned()["m1"]["t"]) == len(classic.owned["t"]) == 2
    described = {one.member_id: one.member_type for one in world.describe().members}
    assert described == {"m1": 1, classic.member_id: 0}


def test_its_answer_names_no_leader_and_its_own_protocol() -> None:
    world, _, _ = mixed()
    member_id = world.new_id(protocols=READS_T)
    answer = world.join(member_id, protocols=READS_T).value
    assert (answer.leader, answer.members) == ("", [])
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    # Below v4 nobody asks for an id.
    assert world.join(protocols=READS_T, version=3).value.error_code == 0


def test_version_0_has_as_much_time_as_its_session() -> None:
    world, _, _ = mixed()
    joined = world.join(protocols=READS_T, version=0).value
    world.advance(1)
    synced = world.sync(joined.member_id, joined.generation_id).value
    assert synced.error_code == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": [("other", b"")]}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": [("range", b"")], "version": 3}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"member_id": "x", "instance": "i", "protocols": READS_T}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, object], error: ErrorCode) -> None:
    world, _, _ = mixed()
    assert world.join(**options).value.error_code == error  # type: ignore[arg-type]


def test_a_full_group_and_one_that_must_not_mix_are_closed() -> None:
    world, _, _ = mixed(group_consumer_max_size="2")
    answer = world.join(protocols=READS_T)
    assert answer.value.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    world = ConsumerWorld({"group.consumer.migration.policy": "disabled"})
    world.beat()
    answer = world.join(protocols=READS_T)
    assert answer.value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_requests_of_strangers_and_of_other_generations_are_refused() -> None:
    world, _, classic = mixed()
    assert world.heartbeat("x", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("m1", 2) == ErrorCode.UNKNOWN_MEMBER_ID  # it is not classic
    assert world.heartbeat(classic.member_id, 99) == ErrorCode.ILLEGAL_GENERATION
    assert world.sync("x", 1).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    stale = world.sync(classic.member_id, 99).value
    assert stale.error_code == ErrorCode.ILLEGAL_GENERATION
    heartbeat = classic.member_id, classic.generation_id
    for answer in (
        world.sync(*heartbeat, protocol_type="connect"),
        world.sync(*heartbeat, protocol_name="other"),
    ):
        assert answer.value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_static_classic_member_is_replaced_and_its_old_id_fenced() -> None:
    world, _, _ = mixed()
    first = ClassicConsumer(world, instance="i")
    second = ClassicConsumer(world, instance="i")
    assert first.member_id != second.member_id
    error = world.heartbeat(first.member_id, first.generation_id, instance="i")
    assert error == ErrorCode.FENCED_INSTANCE_ID
    joined = world.join(first.member_id, instance="i", protocols=READS_T).value
    assert joined.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.leave((first.member_id, "i"), ("", "i"), ("x", None)) == [
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert second.member_id not in world.assigned()


def test_an_admin_removes_members_of_either_protocol() -> None:
    world, _, classic = mixed()
    ClassicConsumer(world)
    assert world.leave(("m1", None), (classic.member_id, None)) == [0, 0]
    assert len(world.group().members) == 1


def test_one_that_is_behind_is_told_to_join_again_and_fenced_if_it_does_not() -> None:
    world, first, classic = mixed()
    second = world.consumer("m2")
    heartbeat = classic.member_id, classic.generation_id
    assert world.heartbeat(*heartbeat) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.sync(*heartbeat).value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(6):
        world.advance(9_000)
        world.settle(first, second)
        assert world.heartbeat(*heartbeat) == ErrorCode.REBALANCE_IN_PROGRESS
    assert classic.member_id in world.consumers().members
    world.advance(6_000)
    assert classic.member_id not in world.consumers().members


def test_one_that_joins_and_does_not_sync_is_fenced() -> None:
    world, _, _ = mixed()
    member_id = world.new_id(protocols=READS_T)
    generation_id = world.join(member_id, protocols=READS_T, rebalance_ms=5_000).value.generation_id
    world.advance(4_999)
    assert world.heartbeat(member_id, generation_id) == 0
    world.advance(1)
    assert member_id not in world.consumers().members


def test_its_session_is_its_own() -> None:
    world, _, classic = mixed()
    world.advance(9_999)
    assert classic.member_id in world.consumers().members
    world.advance(1)
    assert classic.member_id not in world.consumers().members


def test_an_assignment_is_in_the_members_own_version() -> None:
    world, _, classic = mixed()
    answer = world.sync(classic.member_id, classic.generation_id).value
    assert answer.assignment[:2] == b"\x00\x01"
    assert parse_assignment(answer.assignment)[0].topic == "t"


def test_a_consumer_group_without_members_becomes_classic() -> None:
    world = ConsumerWorld()
    world.consumer("m1").leave()
    classic = ClassicConsumer(world)
    assert classic.owned == {"t": [0, 1]}
    assert world.shard().consumer_groups == {}
    assert world.rebuilt().group().state.value == "Stable"
