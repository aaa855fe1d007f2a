"""The parts put together: what goes by no single one of them."""

from __future__ import annotations

from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.store import RESOURCE_GROUP
from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerWorld


def test_groups_that_are_not_there_are_told_apart() -> None:
    world = ConsumerWorld()
    world.stable(1, group_id="classic")
    assert world.describe("").error_code == ErrorCode.INVALID_GROUP_ID
    missing, classic = world.describe("none"), world.describe("classic")
    assert missing.error_code == classic.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert missing.error_message == "Group none not found."
    assert classic.error_message == "Group classic is not a consumer group."


def test_another_node_owns_the_group() -> None:
    world = ConsumerWorld()
    world.beat()
    world.service.runtime.unload(world.service.runtime.partition_for("g"))
    assert world.beat(epoch=2).error_code == ErrorCode.NOT_COORDINATOR
    assert world.describe().error_code == ErrorCode.NOT_COORDINATOR


def test_only_groups_that_read_a_topic_look_at_it() -> None:
    world = ConsumerWorld(topics=(("t", 1), ("u", 1)))
    world.beat()
    world.beat(epoch=2)
    world.beat(group_id="other", topics=["u"])
    world.beat(epoch=2, group_id="other", topics=["u"])
    world.grow("u", 2)
    assert world.consumers().metadata_deadline_ms is not None
    assert world.consumers("other").metadata_deadline_ms is None


def test_lists_and_deletions_know_both_kinds() -> None:
    world = ConsumerWorld()
    one = world.consumer("m1")
    (listed,) = world.service.list_groups([], ["Consumer"])
    assert (listed.group_type, listed.group_state, listed.protocol_type) == (
        "consumer",
        "Stable",
        "consumer",
    )
    assert list(world.service.list_groups(["empty"], [])) == []
    assert list(world.service.list_groups([], ["classic"])) == []
    described = world.service.describe_group("g", 6)
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described.error_message == "Group g is not a classic group."
    errors: list[ErrorCode] = []
    world.service.delete_group("g", errors.append)
    one.leave()
    world.service.delete_group("g", errors.append)
    assert errors == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE]
    assert not world.shard().has_groups
    assert not world.rebuilt().shard().has_groups


def test_a_group_may_have_configs_of_its_own() -> None:
    world = ConsumerWorld({"mockbroker.group.settling.heartbeat.interval.ms": "0"})
    own = {"consumer.heartbeat.interval.ms": "7000", "consumer.session.timeout.ms": "50000"}
    world.metadata.apply(ConfigsChanged(RESOURCE_GROUP, "g", own))
    assert world.beat().heartbeat_interval_ms == 7000
    assert world.beat(group_id="other").heartbeat_interval_ms == 5000
    world.advance(45_000)
    assert world.describe("other").group_state == "Empty"
    assert world.describe().group_state == "Stable"
    world.advance(5_000)
    assert world.describe().group_state == "Empty"


def test_members_that_were_loaded_have_a_whole_session_and_no_more() -> None:
    world = ConsumerWorld()
    world.consumer("m1")
    session_ms = world.config.int("group.consumer.session.timeout.ms")
    world.service = world.reload()
    world.timer.advance(0)
    world.advance(session_ms - 1)
    assert list(world.consumers().members) == ["m1"]
    world.advance(1)
    assert not world.consumers().members
