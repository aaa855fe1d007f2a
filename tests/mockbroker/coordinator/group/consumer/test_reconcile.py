"""One member on its way to its target."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.member import ConsumerMember, MemberState
from mockbroker.coordinator.group.consumer.reconcile import Target, reconcile

ONE, TWO = bytes([1]) * 16, bytes([2]) * 16
BOTH = frozenset([ONE, TWO])


def step(
    member: ConsumerMember,
    target: Target,
    held: set[tuple[bytes, int]] | None = None,
    owned: dict[bytes, list[int]] | None = None,
    *,
    changed: bool = False,
) -> ConsumerMember:
    return reconcile(member, target, held or set(), owned, subscription_changed=changed)


def test_a_new_member_takes_what_is_free() -> None:
    after = step(ConsumerMember("m"), Target(2, {ONE: (0, 1)}, BOTH))
    assert (after.epoch, after.previous_epoch, after.state) == (2, 0, MemberState.STABLE)
    assert after.assigned == {ONE: {0: 2, 1: 2}}


def test_it_waits_for_what_another_has() -> None:
    after = step(ConsumerMember("m"), Target(2, {ONE: (0, 1)}, BOTH), {(ONE, 1)})
    assert after.state is MemberState.UNRELEASED_PARTITIONS
    assert after.assigned == {ONE: {0: 2}}
    again = step(after, Target(2, {ONE: (0, 1)}, BOTH), {(ONE, 0)})
    assert (again.state, again.assigned) == (MemberState.STABLE, {ONE: {0: 2, 1: 2}})


def test_it_gives_up_before_it_takes() -> None:
    member = ConsumerMember("m", epoch=2, assigned={ONE: {0: 2, 1: 2}})
    target = Target(3, {ONE: (0,), TWO: (0,)}, BOTH)
    after = step(member, target, {(ONE, 0), (ONE, 1)})
    assert (after.state, after.epoch) == (MemberState.UNREVOKED_PARTITIONS, 2)
    assert (after.assigned, after.pending_revocation) == ({ONE: {0: 2}}, {ONE: {1: 2}})
    assert step(after, target, owned={ONE: [0, 1]}) is after
    assert step(after, target) is after  # it does not say, so it has not
    done = step(after, target, {(ONE, 0), (ONE, 1)}, {ONE: [0]})
    assert (done.state, done.epoch) == (MemberState.STABLE, 3)
    assert done.assigned == {ONE: {0: 2}, TWO: {0: 3}}
    assert done.pending_revocation == {}


def test_what_it_says_that_it_has_not_needs_no_revocation() -> None:
    member = ConsumerMember("m", epoch=2, assigned={ONE: {0: 2, 1: 2}})
    after = step(member, Target(3, {ONE: (0,)}, BOTH), owned={ONE: [0]})
    assert (after.state, after.epoch) == (MemberState.STABLE, 3)


def test_what_it_is_giving_up_it_may_get_back() -> None:
    member = ConsumerMember(
        "m", epoch=2, state=MemberState.UNREVOKED_PARTITIONS, pending_revocation={ONE: {1: 2}}
    )
    after = step(member, Target(4, {ONE: (1,)}, BOTH), {(ONE, 1)}, {})
    assert after.assigned == {ONE: {1: 4}}


def test_a_topic_that_it_no_longer_reads_goes_at_once() -> None:
    member = ConsumerMember("m", epoch=2, assigned={ONE: {0: 2}, TWO: {0: 2}})
    target = Target(2, {ONE: (0,), TWO: (0,)}, frozenset([ONE]))
    after = step(member, target, changed=True)
    assert after.state is MemberState.UNREVOKED_PARTITIONS
    assert (after.assigned, after.pending_revocation) == ({ONE: {0: 2}}, {TWO: {0: 2}})
    gone = step(member, target, owned={ONE: [0]}, changed=True)
    assert (gone.state, gone.assigned) == (MemberState.STABLE, {ONE: {0: 2}})


def test_more_is_given_up_while_something_is() -> None:
    member = ConsumerMember(
        "m",
        epoch=2,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned={TWO: {0: 2}},
        pending_revocation={ONE: {0: 1}},
    )
    target = Target(3, {}, frozenset())
    after = step(member, target, owned={ONE: [0]}, changed=True)
    assert after.pending_revocation == {ONE: {0: 1}, TWO: {0: 2}}


def test_one_that_has_all_is_left_alone() -> None:
    member = ConsumerMember("m", epoch=2, assigned={ONE: {0: 2}})
    target = Target(2, {ONE: (0,)}, BOTH)
    assert step(member, target) is member
    assert step(member, target, changed=True) is member
