"""What open scopes keep: once a log, before it changes, and nothing without a scope."""

from __future__ import annotations

from mockbroker.metadata.topic_requests import TopicReference
from mockbroker.replica.kept_logs import KeptLogs
from mockbroker.replica.partition import Partition
from mockbroker.state.writing import NewRecord, put
from tests.support.core import Core


class Topics:
    """All topics, but for those that came later."""

    def __init__(self, *later: bytes) -> None:
        self.later = later

    def existed(self, topic_id: bytes, /) -> bool:
        return topic_id not in self.later


def partition_of(core: Core, index: int = 0) -> Partition:
    found = core.broker.services.replicas.partition("t", index)
    assert found is not None
    return found


def kept_logs(core: Core) -> KeptLogs:
    kept = core.cluster.nodes[0].kept_logs
    assert core.broker.services.replicas.kept_logs is kept
    return kept


def write(core: Core, index: int = 0) -> None:
    put(core.cluster, "t", [NewRecord(b"x", partition=index)])


def test_a_log_is_kept_before_its_first_change_and_once() -> None:
    core = Core(topics={"t": 3})
    write(core)
    scope = kept_logs(core).begin(Topics())
    assert not scope.checkpoints
    write(core)
    (checkpoint,) = scope.checkpoints.values()
    write(core)
    assert list(scope.checkpoints) == [(partition_of(core).topic_id, 0)]
    assert checkpoint.restored(None).log_end_offset == 1


def test_each_scope_keeps_by_itself() -> None:
    core = Core(topics={"t": 2})
    kept = kept_logs(core)
    outer = kept.begin(Topics())
    write(core)
    inner = kept.begin(Topics())
    write(core)
    write(core, 1)
    ends = [
        [checkpoint.restored(None).log_end_offset for checkpoint in scope.checkpoints.values()]
        for scope in (inner, outer)
    ]
    assert ends == [[1, 0], [0, 0]]
    kept.end(inner)
    assert kept.scopes == [outer]


def test_a_scope_that_starts_anew_keeps_what_changes_then() -> None:
    core = Core(topics={"t": 1})
    kept = kept_logs(core)
    scope = kept.begin(Topics())
    write(core)
    kept.start_anew(scope)
    assert not scope.checkpoints
    write(core)
    assert [one.restored(None).log_end_offset for one in scope.checkpoints.values()] == [1]


def test_of_a_topic_of_the_scope_nothing_is_kept() -> None:
    core = Core(topics={"t": 1})
    scope = kept_logs(core).begin(Topics(partition_of(core).topic_id))
    write(core)
    assert not scope.checkpoints


def test_a_log_that_goes_is_kept() -> None:
    core = Core(topics={"t": 1})
    write(core)
    scope = kept_logs(core).begin(Topics())
    core.cluster.controller.delete_topics([TopicReference("t")])
    assert [one.restored(None).log_end_offset for one in scope.checkpoints.values()] == [1]


def test_without_a_scope_an_append_asks_once_and_a_partition_that_goes_is_forgotten() -> None:
    core = Core(topics={"t": 1})
    write(core)
    partition = partition_of(core)
    assert partition.writable_log is partition.log
    kept = kept_logs(core)
    assert list(kept._asked) == [partition]
    core.cluster.controller.delete_topics([TopicReference("t")])
    assert not kept._asked
