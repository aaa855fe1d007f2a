"""A broker that is not heard of is fenced, and unfenced when it is heard of again."""

from __future__ import annotations

import pytest

from mockbroker.clock import Clock, Timer
from mockbroker.cluster.links.heartbeats import BrokerSessions, Heartbeat
from mockbroker.cluster.links.link import CONTROLLER, Links
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.metadata.replication_control import ReplicationControl
from mockbroker.metadata.store import MetadataStore


class Watched:
    def __init__(self) -> None:
        self.clock = Clock()
        self.timer = Timer()
        self.store = MetadataStore("cluster", BrokerConfig({}))
        self.store.apply(BrokerChanged(BrokerInfo(1)))
        control = ReplicationControl(self.store)
        self.sessions = BrokerSessions(self.clock, self.timer, control, 9000.0)
        self.links = Links(self.clock, self.timer)
        self.link = self.links.get(1, CONTROLLER)
        self.heartbeat = Heartbeat(
            self.clock, self.timer, self.link, 2000, lambda: self.sessions.heard(1)
        )
        self.heartbeat.beat()
        self.links.run()

    def fenced(self) -> bool:
        return self.store.brokers[1].fenced

    def until(self, end_ms: float) -> None:
        while (deadline := self.timer.next_deadline()) is not None and deadline <= end_ms:
            self.clock.now_ms = deadline
            self.timer.advance(deadline)
            self.links.run()
        self.clock.now_ms = end_ms


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_broker_that_beats_is_never_fenced(watched: Watched) -> None:
    watched.until(60_000.0)
    assert not watched.fenced()


def test_silence_is_noticed_after_the_session_time_out(watched: Watched) -> None:
    watched.until(4_500.0)
    watched.link.sever()
    watched.until(12_999.0)
    assert not watched.fenced()
    watched.until(13_000.0)
    assert watched.fenced()
    watched.link.restore()
    watched.links.run()
    assert not watched.fenced()


def test_a_broker_that_stopped_beating_is_fenced_for_good(watched: Watched) -> None:
    watched.heartbeat.stop()
    watched.until(9_000.0)
    assert watched.fenced()
    watched.until(100_000.0)
    assert watched.fenced()
    assert len(watched.timer) == 0


def test_one_that_is_kept_out_stays_out_whatever_it_says(watched: Watched) -> None:
    watched.sessions.keep_out(1)
    watched.until(20_000.0)
    assert watched.fenced()
    watched.sessions.let_in(1)
    watched.until(22_000.0)
    assert not watched.fenced()


def test_one_that_nobody_kept_out_is_still_watched_after_it_was_let_in(watched: Watched) -> None:
    watched.link.sever()
    watched.sessions.let_in(1)
    watched.until(9_000.0)
    assert watched.fenced()


def test_the_end_of_a_session_fences_at_once(watched: Watched) -> None:
    watched.sessions.end(1)
    assert watched.fenced()
