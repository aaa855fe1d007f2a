"""Those who watch a log are told of its changes, those who wait are found by their keys."""

from __future__ import annotations

from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.hosted_log import HostedLog
from mockbroker_protocol.messages.fetch import FetchRequestPartition
from tests.mockbroker.replica.watcher import Watcher
from tests.support.core import Core


def test_watchers_are_told_in_the_order_in_which_they_came_until_they_leave() -> None:
    log = HostedLog(Core().broker.services.replicas, "t0", bytes(16), 0)
    watchers = [Watcher(key) for key in ("a", "b", None, "a")]
    for watcher in watchers:
        log.watch(watcher)
        log.watch(watcher)
    assert log.wait_keys() == ["a", "b"]
    for gone in (1, 0, 3):
        log.unwatch(watchers[gone])
        log.unwatch(watchers[gone])
    assert log.wait_keys() == []
    log.mark_watchers()
    log.mark_rolled(7)
    assert [(watcher.marks, watcher.left) for watcher in watchers[1:3]] == [(0, []), (1, [7])]
    log.unwatch(watchers[2])
    assert not log.is_watched
    log.watch(watchers[1])
    assert log.wait_keys() == ["b"]


def test_a_reader_outside_of_a_session_waits_under_no_key_and_never_polled() -> None:
    entry = FetchEntry(FetchTopic("t0", bytes(16)), FetchRequestPartition())
    entry.mark()
    entry.mark_rolled(0)
    assert (entry.wait_key(), entry.polled_ms()) == (None, 0.0)
