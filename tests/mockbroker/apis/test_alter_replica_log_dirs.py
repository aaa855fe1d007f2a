"""AlterReplicaLogDirs as a client sees it."""

from __future__ import annotations

from mockbroker_protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from tests.support.core import Core

CONFIG = {"log.dirs": "/a,/b"}


def alter(core: Core, *moves: tuple[str, str, int]) -> list[tuple[str, int, int]]:
    dirs = [
        AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [index])])
        for path, topic, index in moves
    ]
    answer = core.client().call(AlterReplicaLogDirsRequest(dirs), 2, AlterReplicaLogDirsResponse)
    return [
        (topic.topic_name, part.partition_index, part.error_code)
        for topic in answer.results
        for part in topic.partitions
    ]


def where(core: Core) -> dict[str, list[tuple[str, int]]]:
    found = core.broker.services.replicas.log_dirs.contents()
    return {path: [(each.topic, each.index) for each in parts] for path, parts in found.items()}


def test_a_replica_moves_at_once() -> None:
    core = Core(topics={"t": 2}, config=CONFIG)
    assert where(core) == {"/a": [("t", 0)], "/b": [("t", 1)]}
    assert alter(core, ("/b", "t", 0)) == [("t", 0, 0)]
    assert where(core) == {"/a": [], "/b": [("t", 0), ("t", 1)]}


def test_bad_moves_are_refused_one_by_one() -> None:
    core = Core(topics={"t": 2}, config=CONFIG)
    moves = [("/nope", "t", 0), ("/a", "t", 1), ("/a", "t", 9), ("", "nope", 0)]
    assert alter(core, *moves) == [("t", 0, 57), ("t", 1, 0), ("t", 9, 3), ("nope", 0, 57)]


def test_the_last_of_two_wishes_counts() -> None:
    core = Core(topics={"t": 1}, config=CONFIG)
    assert alter(core, ("/b", "t", 0), ("/nope", "t", 0)) == [("t", 0, 57)]
    assert where(core) == {"/a": [("t", 0)], "/b": []}


def test_a_wish_for_a_replica_to_come_is_kept() -> None:
    core = Core(config=CONFIG)
    assert alter(core, ("/b", "later", 0)) == [("later", 0, 3)]
    from mockbroker.metadata.topic_requests import NewTopic

    core.cluster.controller.create_topics([NewTopic("later", 1)])
    assert where(core) == {"/a": [], "/b": [("later", 0)]}
