"""What was committed to `__consumer_offsets` is what may be told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from mockbroker.coordinator.group.classic_group import group_metadata_record
from mockbroker.coordinator.group.offset_store import offset_commit_record, offset_tombstone
from mockbroker.coordinator.records import CoordinatorRecord, encode_record
from mockbroker_protocol.messages.coordinator_records import GroupMetadataValue, OffsetCommitValue
from simulation.cluster.offset_history import OffsetHistory
from simulation.cluster.truth import Truth

KEY = "g", "t", 1


class Log:
    """Records of a group, which a high watermark has passed."""

    def __init__(self) -> None:
        self.committed: list[tuple[int, bytes]] = []
        self.beyond: list[tuple[int, bytes]] = []
        partition = SimpleNamespace(committed=self.committed, in_sync_beyond=lambda: self.beyond)
        truth = SimpleNamespace(find=lambda *_: partition)
        self.history = OffsetHistory(cast("Truth", truth), 0)

    def add(self, record: CoordinatorRecord) -> None:
        key, value = encode_record(record)
        self.committed.append((0, key + b"=" + (value or b"")))

    def commit(self, *offsets: int) -> None:
        for offset in offsets:
            self.add(offset_commit_record(*KEY, OffsetCommitValue(offset)))


def test_any_replicated_offset_may_be_told_but_none_from_before_what_is_known() -> None:
    log = Log()
    log.commit(61, 3)
    history = log.history
    assert history.tell(KEY, None, 0) is None
    assert history.tell(KEY, 61, 0) is None
    known = history.known(KEY)
    assert history.tell(KEY, 3, known) is None
    assert "after 61" in str(history.tell(KEY, None, known))
    assert "not replicated" in str(history.tell(KEY, 4, 0))


def test_no_more_is_known_than_a_high_watermark_has_passed() -> None:
    log = Log()
    log.commit(5, 6)
    log.add(offset_commit_record("g", "t", 2, OffsetCommitValue(9)))
    log.commit(7)
    history = log.history
    assert history.known(KEY, 4) == 0
    assert history.acknowledge(KEY, 7) is None
    for high_watermark, offset in ((0, None), (1, 5), (2, 6), (3, 6), (4, 7), (9, 7)):
        known = history.known(KEY, high_watermark)
        assert history.tell(KEY, offset, known) is None
        assert offset is None or "after" in str(history.tell(KEY, None, known))
    assert "after 7" in str(history.tell(KEY, 6, history.known(KEY)))


def test_what_is_acknowledged_is_replicated_and_known() -> None:
    log = Log()
    log.commit(5)
    assert log.history.acknowledge(KEY, 5) is None
    assert "after 5" in str(log.history.tell(KEY, None, log.history.known(KEY)))
    assert "before it was replicated" in str(log.history.acknowledge(KEY, 6))


def test_what_all_in_sync_have_may_be_acknowledged_by_who_leads_no_more() -> None:
    log = Log()
    log.commit(5, 6)
    log.beyond.append(log.committed.pop())
    assert log.history.acknowledge(KEY, 6) is None
    assert "before it was replicated" in str(log.history.acknowledge(KEY, 7))
    assert "not replicated" in str(log.history.tell(KEY, 6, 0))


def test_an_offset_that_was_deleted_is_none() -> None:
    log = Log()
    log.commit(5)
    assert log.history.tell(KEY, 5, 0) is None
    log.add(offset_tombstone(*KEY))
    assert log.history.tell(KEY, None, log.history.known(KEY)) is None


def test_a_group_ends_with_its_tombstone() -> None:
    log = Log()
    log.add(group_metadata_record("g", GroupMetadataValue(protocol=None, leader=None)))
    assert log.history.incarnation("g") == 0
    log.add(group_metadata_record("g", None))
    assert log.history.incarnation("g") == 1
    assert log.history.incarnation("other") == 0
