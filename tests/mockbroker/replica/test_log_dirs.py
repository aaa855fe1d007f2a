"""Where replicas are said to lie."""

from __future__ import annotations

from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker.replica.log_dirs import LogDirs
from tests.support.core import Core


def _dirs(core: Core) -> LogDirs:
    return core.broker.services.replicas.log_dirs


def test_log_dirs_come_before_log_dir() -> None:
    assert _dirs(Core()).paths == ("/tmp/kafka-logs",)
    assert _dirs(Core(config={"log.dir": "/x"})).paths == ("/x",)
    assert _dirs(Core(config={"log.dir": "/x", "log.dirs": "/a,/b,/a"})).paths == ("/a", "/b")


def test_what_was_deleted_makes_room() -> None:
    core = Core(topics={"t": 1, "u": 1}, config={"log.dirs": "/a,/b"})
    assert [len(found) for found in _dirs(core).contents().values()] == [1, 1]
    core.cluster.controller.delete_topics([TopicReference("t")])
    core.cluster.controller.create_topics([NewTopic("v", 1)])
    found = _dirs(core).contents()
    assert [[each.topic for each in parts] for parts in found.values()] == [["v"], ["u"]]


def test_all_cordoned_is_as_none() -> None:
    core = Core(topics={"t": 2}, config={"log.dirs": "/a,/b", "cordoned.log.dirs": "*"})
    assert [len(found) for found in _dirs(core).contents().values()] == [1, 1]
