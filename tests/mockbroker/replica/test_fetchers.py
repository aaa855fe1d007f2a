"""Each followed partition is in the fetcher of its leader, and in no other."""

from __future__ import annotations

import pytest

from tests.support.cluster_core import ClusterCore


@pytest.fixture
def core() -> ClusterCore:
    return ClusterCore(topics={"t": 3})


def followed(core: ClusterCore, node: int) -> dict[int, int]:
    """How many partitions a broker follows of each leader."""
    fetchers = core.peers.running[node].fetchers
    return {leader: len(each) for leader, each in fetchers._by_leader.items()}


def test_each_leader_has_a_fetcher(core: ClusterCore) -> None:
    core.deliver()
    assert followed(core, 1) == {2: 1, 3: 1}


def test_a_moved_leader_is_followed_by_all(core: ClusterCore) -> None:
    (index,) = [at for at in range(3) if core.state("t", at).leader == 2]
    core.controls.move_leader("t", index, 3)
    core.deliver()
    assert followed(core, 1) == {3: 2}
    assert followed(core, 2) == {1: 1, 3: 2}


def test_a_held_partition_is_in_no_fetcher(core: ClusterCore) -> None:
    (index,) = [at for at in range(3) if core.state("t", at).leader == 2]
    core.deliver()
    core.controls.hold_follower("t", index, 1)
    core.deliver()
    assert followed(core, 1) == {3: 1}
    core.controls.release_follower("t", index, 1)
    core.deliver()
    assert followed(core, 1) == {3: 1, 2: 1}


def test_a_deleted_topic_is_followed_no_more(core: ClusterCore) -> None:
    from mockbroker.metadata.topic_requests import TopicReference

    core.deliver()
    core.cluster.controller.delete_topics([TopicReference("t")])
    core.deliver()
    assert followed(core, 1) == {}


def test_a_hold_ends_with_the_replica(core: ClusterCore) -> None:
    (index,) = [at for at in range(3) if core.state("t", at).leader == 2]
    core.deliver()
    core.controls.hold_follower("t", index, 1)
    for target in ([2, 3], [2, 3, 1]):
        core.peers.control.reassign("t", index, target)
        core.deliver()
    assert followed(core, 1) == {3: 1, 2: 1}
    assert core.state("t", index).isr == [2, 3, 1]
