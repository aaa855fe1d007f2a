"""Partitions that several members have; how they come to them is shown in `coop.test_krange`."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.group_records import assignment_record
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.group.consumer.sharing import Sharing, shared_partitions, unshared

ONE, TWO = b"1" * 16, b"2" * 16


def having(*members: ConsumerMember) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for member in members:
        record = assignment_record("g", member)
        group.replay(record.key, record.value)
    return group


def test_what_several_have() -> None:
    targets: dict[str, dict[bytes, tuple[int, ...]]] = {
        "a": {ONE: (0, 1)},
        "b": {ONE: (1,), TWO: (1,)},
    }
    shared = shared_partitions(targets.values())
    assert shared == {(ONE, 1)}
    assert unshared(targets, shared) == {"a": {ONE: (0,)}, "b": {ONE: (), TWO: (1,)}}
    assert unshared(targets, frozenset()) is targets


def test_a_shared_partition_is_free_once_nobody_has_it_from_before() -> None:
    old = ConsumerMember("old", epoch=3, assigned={ONE: {0: 3}})
    new = ConsumerMember("new", epoch=4, assigned={ONE: {0: 4}})
    shared = frozenset({(ONE, 0)})
    assert not Sharing(having(old, new), ["me"], 4, shared).is_free(ONE, 0)
    assert Sharing(having(old, new), ["old"], 4, shared).is_free(ONE, 0)
    assert Sharing(having(new), ["me"], 4, shared).is_free(ONE, 0)
    # One that is not shared any more is free once nobody has it.
    assert not Sharing(having(new), ["me"], 4, frozenset()).is_free(ONE, 0)
    leaving = ConsumerMember("old", epoch=4, pending_revocation={ONE: {0: 4}})
    assert not Sharing(having(leaving), ["me"], 4, shared).is_free(ONE, 0)


def test_who_else_has_a_partition_is_counted() -> None:
    one = ConsumerMember("one", epoch=3, assigned={ONE: {0: 3}})
    two = ConsumerMember("two", epoch=4, assigned={ONE: {0: 4}})
    group = having(one, two)
    sharing = Sharing(group, ["me"], 5, frozenset({(TWO, 0)}))
    assert (sharing.counts(ONE, 0), sharing.counts(TWO, 0), sharing.counts(TWO, 1)) == (
        True,
        True,
        False,
    )
    for member_id in ("one", "two"):
        gone = assignment_record("g", ConsumerMember(member_id, epoch=5))
        group.replay(gone.key, gone.value)
        assert not group.co_holders
        assert bool(group.partition_epochs) == (member_id == "one")
