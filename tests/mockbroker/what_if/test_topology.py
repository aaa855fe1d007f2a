"""Who leads, follows and reads what; and what is refused."""

from __future__ import annotations

import pytest

from mockbroker.what_if.errors import WhatIfError
from mockbroker.what_if.topology import (
    Topology,
    brokers_of,
    listed_parts,
    part_of,
    topology_from,
)


def test_every_partition_has_one_leader_and_its_followers_elsewhere() -> None:
    topology = Topology(brokers=5, partitions=33, replication=3, topics=2)
    placed = [
        nodes
        for broker in brokers_of(topology)
        for led in part_of(topology, broker).topics.values()
        for nodes in led
    ]
    assert len(placed) == 33
    assert all(len(set(nodes)) == 3 and set(nodes) <= set(range(1, 6)) for nodes in placed)


def test_each_group_reads_every_partition_once() -> None:
    topology = Topology(brokers=3, partitions=30, consumers=7, groups=2)
    read = [
        reader
        for broker in brokers_of(topology)
        for reader, keys in part_of(topology, broker).readers.items()
        for _ in keys
    ]
    assert len(read) == 60
    assert {name for name in read if name.startswith("consumer-0")} == {
        f"consumer-0-{member}" for member in range(4)
    }


def test_listed_replicas_are_taken_as_they_are() -> None:
    topology = Topology(
        replicas=[("a", 0, [4, 5]), ("a", 7, [9, 4]), ("b", 0, [4, 9])], consumers=1
    )
    assert brokers_of(topology) == [4, 9]
    part = listed_parts(topology)[4]
    assert part.topics == {"a": [[4, 5]], "b": [[4, 9]]}
    assert part.readers == {"consumer-0-0": [("a", 0), ("b", 0)]}
    assert part_of(topology, 9).topics == {"a": [[9, 4]]}


def test_a_smaller_one_has_fewer_partitions() -> None:
    assert Topology(partitions=100).resized(0.25).partitions == 25
    listed = Topology(replicas=[("a", at, [1]) for at in range(4)])
    assert len(listed.resized(0.5).replicas) == 2


def test_values_make_it_again() -> None:
    topology = Topology(brokers=4, replicas=[("a", 0, [1, 2])])
    assert topology_from(topology.values()).replicas[0] == ("a", 0, [1, 2])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"brokers": 0}, "brokers: must be more than 0"),
        ({"brokers": "many"}, "brokers: 'many' is no number"),
        ({"partitions": 1.5}, "partitions: 1.5 is no whole number"),
        ({"replication": 4}, "replication: 4, of 3 brokers"),
        ({"change_rate": -1}, "change_rate: must not be negative"),
        ({"batch_bytes": 5}, "batch_bytes: must be from"),
        ({"fetch_max_bytes": 1}, "fetch_max_bytes: must be from"),
        ({"speed": 1}, "speed: no such value"),
        ({"replicas": [["a", 0, []]]}, "replicas: "),
        ({"replicas": [["a", 0, [1, 1]]]}, "replicas: "),
        ({"replicas": 5}, "replicas: not a list"),
    ],
)
def test_what_cannot_be_is_refused_by_name(values: dict[str, object], told: str) -> None:
    with pytest.raises(WhatIfError, match=f"^{told}"):
        topology_from(values)
