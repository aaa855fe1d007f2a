"""A group as an assignor sees it."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.assignment import GroupSpec, MemberSpec


def test_members_stand_in_the_order_of_javas_hash_tables() -> None:
    member = MemberSpec(frozenset(), {})
    # Buckets by the low bits of the hash: "q" (113) and "a" (97) share one, the older comes first.
    ids = ["q", "b", "p", "a"]
    spec = GroupSpec(dict.fromkeys(ids, member), {}, {}, is_homogeneous=True)
    assert spec.member_ids == ["p", "q", "a", "b"]
