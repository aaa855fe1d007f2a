"""What every assignor promises, on random groups that change."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.coordinator.group.consumer.assignment import Assignments, GroupSpec, MemberSpec
from mockbroker.coordinator.group.consumer.assignors import ASSIGNOR_NAMES, assign


def spec_of(
    members: dict[str, tuple[frozenset[bytes], dict[bytes, tuple[int, ...]]]],
    counts: dict[bytes, int],
) -> GroupSpec:
    owners = {
        (topic_id, index): member_id
        for member_id, (_, assigned) in members.items()
        for topic_id, indexes in assigned.items()
        for index in indexes
    }
    return GroupSpec(
        {one: MemberSpec(*two) for one, two in members.items()},
        counts,
        owners,
        is_homogeneous=len({topics for topics, _ in members.values()}) == 1,
    )


def sizes(assignments: Assignments) -> list[int]:
    return [sum(map(len, topics.values())) for topics in assignments.values()]


@pytest.mark.parametrize("name", ASSIGNOR_NAMES)
@pytest.mark.parametrize("seed", range(30))
def test_each_partition_goes_to_one_subscriber(name: str, seed: int) -> None:
    random = Random(seed)
    counts = {bytes([number]) * 16: random.randint(1, 20) for number in range(4)}
    members: dict[str, tuple[frozenset[bytes], dict[bytes, tuple[int, ...]]]] = {
        f"m{number}": (frozenset(random.sample(list(counts), random.randint(1, 4))), {})
        for number in range(random.randint(1, 9))
    }
    given = assign(name, spec_of(members, counts))
    taken = [
        (topic_id, index)
        for member_id, topics in given.items()
        for topic_id, indexes in topics.items()
        for index in indexes
        if topic_id in members[member_id][0]
    ]
    read = {topic_id for topics, _ in members.values() for topic_id in topics}
    assert sorted(taken) == sorted(
        (topic_id, index) for topic_id in read for index in range(counts[topic_id])
    )


@pytest.mark.parametrize("seed", range(30))
def test_uniform_is_balanced_and_moves_no_more_than_it_must(seed: int) -> None:
    random = Random(seed)
    topics = frozenset(bytes([number]) * 16 for number in range(3))
    counts = {topic_id: random.randint(1, 20) for topic_id in topics}
    total = sum(counts.values())
    members: dict[str, tuple[frozenset[bytes], dict[bytes, tuple[int, ...]]]] = {}
    for number in range(8):
        members[f"m{number}"] = topics, {}
        given = assign("uniform", spec_of(members, counts))
        assert max(sizes(given)) - min(sizes(given)) <= 1
        moved = sum(
            index not in given[member_id].get(topic_id, ())
            for member_id, (_, assigned) in members.items()
            for topic_id, indexes in assigned.items()
            for index in indexes
        )
        # The newcomer's share is all that moves.
        assert moved <= -(-total // len(members)) + len(members)
        members = {one: (topics, given.get(one, {})) for one in members}
    assert assign("uniform", spec_of(members, counts)) == {
        one: assigned for one, (_, assigned) in members.items()
    }


def test_nobody_gets_nothing() -> None:
    assert assign("uniform", spec_of({}, {})) == {}
