"""Groups that go from one protocol to the other, and back."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerWorld
from tests.support.mixed_groups import ClassicConsumer, settle_mixed


def test_an_upgrade_keeps_what_the_classic_member_has() -> None:
    world = ConsumerWorld()
    classic = ClassicConsumer(world)
    assert classic.owned == {"t": [0, 1]}
    new = world.consumer("m1")
    assert world.describe().group_state == "Reconciling"
    assert world.assigned() == {classic.member_id: {"t": [0, 1]}, "m1": {}}
    assert world.shard().groups == {}
    settle_mixed([new], [classic])
    assert sorted(classic.owned["t"] + new.owned["t"]) == [0, 1]


def test_a_downgrade_comes_when_the_last_new_member_goes() -> None:
    world = ConsumerWorld()
    classic = ClassicConsumer(world)
    new = world.consumer("m1")
    settle_mixed([new], [classic])
    new.leave()
    assert world.shard().consumer_groups == {}
    group = world.group()
    assert list(group.members) == [classic.member_id]
    settle_mixed([], [classic])
    assert classic.owned == {"t": [0, 1]}
    assert group.state.value == "Stable"
    assert world.rebuilt().group().state.value == "Stable"


def test_a_session_that_is_over_downgrades_too() -> None:
    world = ConsumerWorld()
    classic = ClassicConsumer(world, session_ms=60_000)
    new = world.consumer("m1")
    settle_mixed([new], [classic])
    world.advance(45_000)
    assert list(world.group().members) == [classic.member_id]


@pytest.mark.parametrize(
    ("policy", "upgrades", "downgrades"),
    [("bidirectional", True, True), ("upgrade", True, False), ("downgrade", False, True),
     ("disabled", False, False)],
)  # fmt: skip
def test_the_policy_says_which_way_a_group_may_go(
    policy: str, upgrades: bool, downgrades: bool
) -> None:
    world = ConsumerWorld({"group.consumer.migration.policy": policy})
    classic = ClassicConsumer(world)
    answer = world.beat()
    assert answer.error_code == (0 if upgrades else ErrorCode.GROUP_ID_NOT_FOUND)
    if not upgrades:
        assert "online upgrade is disabled" in (answer.error_message or "")
        assert list(world.group().members) == [classic.member_id]
        return
    world.beat(epoch=-1)
    assert bool(world.shard().groups) == downgrades


def test_a_group_that_is_not_of_consumers_stays_classic() -> None:
    world = ConsumerWorld()
    member_id = world.new_id(protocol_type="connect")
    world.join(member_id, protocol_type="connect")
    answer = world.beat()
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "embedded protocol" in (answer.error_message or "")


def test_bytes_that_are_no_consumers_stop_an_upgrade() -> None:
    world = ConsumerWorld()
    world.stable(1)
    answer = world.beat()
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "malformed" in (answer.error_message or "")


def test_a_group_that_is_too_large_stays_as_it_is() -> None:
    world = ConsumerWorld({"group.consumer.max.size": "1"})
    protocols = ClassicConsumer(world).protocols
    assert world.join(world.new_id(protocols=protocols), protocols=protocols).waits
    assert world.beat().error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_upgrade_in_the_middle_of_a_rebalance_frees_who_waits() -> None:
    world = ConsumerWorld()
    classic = ClassicConsumer(world)
    newcomer = world.join(world.new_id(protocols=classic.protocols), protocols=classic.protocols)
    assert newcomer.waits
    world.consumer("m1")
    assert newcomer.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_classic_static_member_in_place_of_the_last_new_one_downgrades() -> None:
    world = ConsumerWorld()
    classic = ClassicConsumer(world)
    new = world.consumer("m1", instance="i")
    settle_mixed([new], [classic])
    had = new.owned
    back = ClassicConsumer(world, instance="i")
    assert back.owned == had
    group = world.group()
    assert set(group.members) == {classic.member_id, back.member_id}
    assert group.state.value == "Stable"
